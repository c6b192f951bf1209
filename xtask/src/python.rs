//! `python`: the Python package, built and tested in a virtual environment below the target
//! directory; and its part of `test`, with the extension module that `cargo test` has built.
//!
//! Enters the checkout; leaves an environment with the package, its tests, types, style and
//! doctests checked. Packages come from the index that pip is configured for. **Invariant:**
//! nothing is installed outside of the target directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{self, Outcome, run};

/// Returns a program of the environment.
fn program(environment: &Path, name: &str) -> Command {
    let mut command = Command::new(environment.join("bin").join(name));
    command.current_dir(run::root().join("python"));
    command.env("VIRTUAL_ENV", environment);
    // no directories of compiled modules in the checkout
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Makes an environment with the tools of a list, unless it is there already.
fn environment() -> Result<PathBuf, String> {
    let dir = run::target().join("python");
    let environment = dir.join("venv");
    let list = run::root().join("python/requirements-test.txt");
    let wanted = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let stamp = dir.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(environment);
    }
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&environment);
    run("virtual environment (python3-venv)", &mut venv)?;
    let mut pip = program(&environment, "pip");
    pip.args(["install", "--quiet", "--requirement"]).arg(&list);
    run("tools of the Python package", &mut pip)?;
    fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(environment)
}

/// Builds the wheel with a profile into a directory and returns its path.
pub fn wheel(profile: &str, to: &Path, flags: &str) -> Result<PathBuf, String> {
    let environment = environment()?;
    let mut maturin = program(&environment, "maturin");
    maturin
        .args(["build", "--locked", "--profile", profile, "--out"])
        .arg(to);
    maturin.env("CARGO_TARGET_DIR", run::target());
    if !flags.is_empty() {
        maturin.env("RUSTFLAGS", flags);
    }
    let before = wheels(to)?;
    for old in before {
        fs::remove_file(&old).map_err(|e| format!("{}: {e}", old.display()))?;
    }
    run("build the wheel", &mut maturin)?;
    wheels(to)?
        .pop()
        .ok_or_else(|| format!("no wheel in {}", to.display()))
}

/// Adds the licences of everything linked to a wheel, whose files keep the time of an epoch.
pub fn add_licences(wheel: &Path, licences: &Path, epoch: u64) -> Outcome {
    let environment = environment()?;
    let dir = wheel.with_extension("unpacked");
    let failed = |e: io::Error| format!("{}: {e}", dir.display());
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(failed)?;
    }
    let mut unpack = program(&environment, "wheel");
    unpack.args(["unpack", "--dest"]).arg(&dir).arg(wheel);
    run::output(&mut unpack)?;
    let package = only_entry(&dir, |_| true)?;
    let info = only_entry(&package, |name| name.ends_with(".dist-info"))?;
    let to = info.join("licenses/third-party-licences.txt");
    fs::copy(licences, &to).map_err(|e| format!("{}: {e}", to.display()))?;
    let mut pack = program(&environment, "wheel");
    pack.env("SOURCE_DATE_EPOCH", epoch.to_string());
    pack.args(["pack", "--dest-dir"])
        .arg(wheel.parent().unwrap_or(&dir));
    run::output(pack.arg(&package))?;
    fs::remove_dir_all(&dir).map_err(failed)
}

/// Returns the path of the one entry of a directory with a name of a kind.
fn only_entry(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<PathBuf, String> {
    let failed = |e: io::Error| format!("{}: {e}", dir.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_str().is_some_and(&is_wanted) {
            found.push(entry.path());
        }
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        _ => Err(format!(
            "{}: {} entries for one",
            dir.display(),
            found.len()
        )),
    }
}

fn wheels(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.extension().is_some_and(|end| end == "whl") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Runs everything that checks the package, with the extension module that `cargo test` has built:
/// a wheel has other features, for which Cargo builds most crates once more.
pub fn test() -> Outcome {
    let environment = environment()?;
    let unpacked = run::target().join("python/unpacked");
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked).map_err(|e| format!("{}: {e}", unpacked.display()))?;
    }
    let package = unpacked.join("sinterfs");
    fs::create_dir_all(&package).map_err(|e| format!("{}: {e}", package.display()))?;
    let mut copy = Command::new("cp");
    copy.args(["--recursive", "--no-target-directory"])
        .arg(run::root().join("python/package/sinterfs"));
    run::output(copy.arg(&package))?;
    let built = run::target().join("debug/deps/lib_sinterfs.so");
    let module = package.join("_sinterfs.abi3.so");
    fs::copy(&built, &module).map_err(|e| format!("{}: {e}", built.display()))?;
    let mut maturin = program(&environment, "maturin");
    maturin.args(["pep517", "write-dist-info", "--metadata-directory"]);
    run("metadata of the Python package", maturin.arg(&unpacked))?;
    checks(&environment, Some(&unpacked), &[])
}

/// Builds and installs the package, and runs everything that checks it; arguments are pytest's.
pub fn python(more: &[String]) -> Outcome {
    let wheel = wheel("dev", &run::target().join("python/wheels"), "")?;
    let environment = environment()?;
    let mut pip = program(&environment, "pip");
    pip.args(["install", "--quiet", "--no-deps", "--force-reinstall"]);
    run("install the wheel", pip.arg(wheel))?;
    checks(&environment, None, more)
}

/// Runs tests, doctests and the checks of types and style; `package` is where the package is if it
/// is not installed.
fn checks(environment: &Path, package: Option<&Path>, more: &[String]) -> Outcome {
    let program = |name: &str| {
        let mut command = program(environment, name);
        command.envs(package.map(|package| ("PYTHONPATH", package)));
        command
    };
    let mut pytest = program("pytest");
    run("tests of the Python package", pytest.arg("-q").args(more))?;
    let mut doctest = program("pytest");
    doctest.args(["-q", "--doctest-modules", "--pyargs", "sinterfs"]);
    run("doctests", &mut doctest)?;
    let mut mypy = program("mypy");
    mypy.args(["--strict", "--cache-dir", "/dev/null", "package/sinterfs"]);
    run("mypy", &mut mypy)?;
    let mut ruff = program("ruff");
    run("ruff", ruff.args(["check", "--no-cache", "."]))?;
    let mut format = program("ruff");
    run(
        "ruff format",
        format.args(["format", "--no-cache", "--check", "."]),
    )
}

/// Installs a wheel into an environment without anything else, and builds and reads an image there.
pub fn proof(wheel: &Path, dir: &Path) -> Outcome {
    const SCRIPT: &str = "import sinterfs, sys\n\
        sinterfs.build(sys.argv[1], sys.argv[2])\n\
        image = sinterfs.Image.open(sys.argv[2])\n\
        assert image.read_bytes('glossary.md') == open(sys.argv[1] + '/glossary.md', 'rb').read()\n\
        from importlib.metadata import files\n\
        (texts,) = [f for f in files('sinterfs') if f.name == 'third-party-licences.txt']\n\
        assert 'MIT' in texts.read_text()\n\
        print(len(list(image)), 'paths of a', image.format, 'image')";
    let empty = dir.join("empty-environment");
    let mut venv = Command::new("python3");
    run::output(venv.args(["-m", "venv", "--clear"]).arg(&empty))?;
    let mut pip = program(&empty, "pip");
    run::output(
        pip.args(["install", "--quiet", "--no-index", "--no-deps"])
            .arg(wheel),
    )?;
    let image = empty.join("docs.dwarfs");
    let mut python = program(&empty, "python");
    python.args(["-c", SCRIPT]).arg(run::root().join("docs"));
    let output = run::output(python.arg(&image))?;
    println!("== the wheel in an empty environment: {}", output.trim());
    fs::remove_dir_all(&empty).map_err(|e| format!("{}: {e}", empty.display()))
}
