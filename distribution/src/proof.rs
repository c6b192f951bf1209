//! Tries the results out: the program in an otherwise empty root, the package in another root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::library;
use super::release::path_error;
use xtask::run::{self, Outcome};

/// A directory that is removed when it is dropped.
struct TemporaryRoot(PathBuf);

impl TemporaryRoot {
    fn new(dir: &Path, name: &str) -> Result<Self, String> {
        let root = Self(dir.join(name));
        let _ = fs::remove_dir_all(&root.0);
        fs::create_dir_all(&root.0).map_err(|e| path_error(&root.0, &e))?;
        Ok(root)
    }
}

impl Drop for TemporaryRoot {
    fn drop(&mut self) {
        // the next run overwrites what cannot be removed
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Fails if a program needs a dynamic loader or shared libraries.
pub fn is_static(program: &Path) -> Outcome {
    let headers = run::output(
        Command::new("readelf")
            .args(["--program-headers", "--dynamic", "--wide"])
            .arg(program),
    )?;
    if headers.contains("INTERP") || headers.contains("(NEEDED)") {
        return Err(format!("{} is not static:\n{headers}", program.display()));
    }
    Ok(())
}

/// Runs the program in an empty root: it builds, checks and extracts images of the documentation.
pub fn runs_alone(program: &Path, dir: &Path) -> Outcome {
    let root = TemporaryRoot::new(dir, "alone")?;
    let inside = root.0.join("sinter");
    fs::copy(program, &inside).map_err(|e| path_error(&inside, &e))?;
    let tree = run::root().join("docs");
    let version = in_root(&root.0, &["/sinter", "--version"])?;
    println!("== alone in an empty root: {}", version.trim());
    // an archive: without /proc extended attributes of files cannot be read
    let archive = root.0.join("docs.tar");
    let mut tar = Command::new("tar");
    run::output(tar.arg("-cf").arg(archive).arg("-C").arg(&tree).arg("."))?;
    for format in ["dwarfs", "squashfs", "erofs"] {
        let image = format!("/docs.{format}");
        let out = format!("/{format}");
        in_root(
            &root.0,
            &["/sinter", "build", "-q", "/docs.tar", "-o", &image],
        )?;
        in_root(&root.0, &["/sinter", "check", "-q", "--deep", &image])?;
        in_root(&root.0, &["/sinter", "extract", "-q", &image, "-o", &out])?;
        let out = root.0.join(&out[1..]);
        run::output(Command::new("diff").arg("-r").arg(&tree).arg(out))?;
    }
    Ok(())
}

/// Runs a command below another root directory.
fn in_root(root: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = as_root("chroot")?;
    run::output(command.arg(root).args(words)).map_err(|e| format!("{}: {e}", words.join(" ")))
}

/// Prepares a command that only root may run; other users run it in a user namespace.
fn as_root(program: &str) -> Result<Command, String> {
    if run::output(Command::new("id").arg("-u"))?.trim() == "0" {
        return Ok(Command::new(program));
    }
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", program]);
    Ok(command)
}

/// Installs a package into a new root, verifies the checksums of its files and runs its program.
pub fn installs(package: &Path, dir: &Path) -> Outcome {
    let root = TemporaryRoot::new(dir, "installed")?;
    for path in ["info", "updates", "triggers"] {
        let path = root.0.join("var/lib/dpkg").join(path);
        fs::create_dir_all(&path).map_err(|e| path_error(&path, &e))?;
    }
    let status = root.0.join("var/lib/dpkg/status");
    fs::write(&status, "").map_err(|e| path_error(&status, &e))?;
    let dpkg = || {
        let mut command = as_root("dpkg")?;
        command.arg(format!("--root={}", root.0.display()));
        Ok::<_, String>(command)
    };
    run::output(dpkg()?.args(["--log=/dev/null", "--install"]).arg(package))?;
    let listed = run::output(dpkg()?.args(["--list", "sinterfs"]))?;
    if !listed.lines().any(|line| line.starts_with("ii  sinterfs")) {
        return Err(format!("the package is not installed:\n{listed}"));
    }
    let differing = run::output(dpkg()?.args(["--verify", "sinterfs"]))?;
    if !differing.is_empty() {
        return Err(format!("installed files differ:\n{differing}"));
    }
    let program = root.0.join("usr/bin/sinter");
    let version = run::output(Command::new(program).arg("--version"))?;
    println!("== installed into an empty root: {}", version.trim());
    run::output(dpkg()?.args(["--log=/dev/null", "--purge", "sinterfs"]))?;
    if root.0.join("usr").exists() {
        return Err("the package leaves files behind when it is removed".to_owned());
    }
    Ok(())
}

/// Compiles a C program with the packages of the library, and lists an image of the documentation
/// with it if the program is there to build one.
pub fn compiles(packages: &[PathBuf], program: Option<&Path>, dir: &Path) -> Outcome {
    let root = TemporaryRoot::new(dir, "library")?;
    for package in packages {
        run::output(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root.0))?;
    }
    let library = root.0.join("usr/lib").join(library::multiarch()?);
    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "sinterfs"]);
    flags.env("PKG_CONFIG_SYSROOT_DIR", &root.0);
    flags.env("PKG_CONFIG_LIBDIR", library.join("pkgconfig"));
    let flags = run::output(&mut flags)?;
    let list = root.0.join("list");
    let mut cc = Command::new("cc");
    cc.arg(run::root().join("crates/capi/examples/list.c"));
    cc.arg("-o").arg(&list).args(flags.split_whitespace());
    run::output(&mut cc)?;
    let Some(program) = program else {
        return Ok(());
    };
    let image = root.0.join("docs.squashfs");
    let mut build = Command::new(program);
    build.args(["build", "-q"]).arg(run::root().join("docs"));
    run::output(build.arg("-o").arg(&image))?;
    let listed = run::output(
        Command::new(list)
            .arg(image)
            .env("LD_LIBRARY_PATH", library),
    )?;
    if !listed.contains(" glossary.md\n") {
        return Err(format!("the library lists something else:\n{listed}"));
    }
    println!("== a program of C lists {} paths", listed.lines().count());
    Ok(())
}

/// Runs lintian on a package, if it is installed.
pub fn lintian(package: &Path) -> Outcome {
    if run::output(Command::new("lintian").arg("--version")).is_err() {
        println!("== lintian: not at hand");
        return Ok(());
    }
    let mut command = Command::new("lintian");
    // it refuses to run as root
    command.args(["--allow-root", "--fail-on", "error,warning"]);
    run::run("lintian", command.arg(package))
}
