//! `dist`: what is shipped: a static program, a Debian package of it, those of the C library, the
//! licences of everything linked, and checksums.
//!
//! Enters the checkout, or with `--binary` a program that is already built. Leaves files in one
//! directory. **Invariant:** the same checkout, toolchain and SOURCE_DATE_EPOCH give the same
//! bytes; the program ran in an empty root and the package was installed: `proof` fails before
//! SHA256SUMS is written.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for the terminal"
)]

mod binary;
mod changelog;
mod channel_checks;
mod channels;
mod compat;
mod components;
mod debian;
mod description;
mod frameworks;
mod library;
mod licences;
mod names;
mod proof;
mod release;
mod targets;
mod tree;
mod zip;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use release::{Release, path_error};
use xtask::python;
use xtask::run::{self, Outcome};

const HELP: &str = "\
usage: cargo xtask dist [OPTIONS]

Builds the static program, the C library, their .debs and the Python wheel into target/dist (or
below CARGO_TARGET_DIR), runs the program in an empty root, installs its package into another one,
compiles and runs a C program with the packages of the library, installs the wheel into an empty
environment, runs lintian if it is installed,
and writes SHA256SUMS.

  --output DIR        write to another directory
  --profile NAME      build with another profile than dist
  --binary FILE       package this program instead of building one; it need not be static
  --library DIR       package libsinterfs_capi.so and .a of this directory instead of building
                      them; with one of these two options, only what it gives is packaged
  --target TARGET     build the program alone, for another system or architecture: a static program
                      for Linux, a zip archive for Windows and macOS
  --channels          write the source archive, install.sh, the list of components, the files of the
                      channels (RPM, Arch, Alpine, Nix, Homebrew, scoop, winget, container) and
                      SHA256SUMS from what is in the output directory already; build nothing
  --publish           with --channels: refuse placeholders and missing files
  --fast              compress packages by gzip -1: for tests of what is in them
";

/// The options of the command line.
struct DistributionOptions {
    output: PathBuf,
    profile: String,
    binary: Option<PathBuf>,
    library: Option<PathBuf>,
    fast: bool,
    channels: bool,
    publish: bool,
    target: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dist(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("dist: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Builds, packs and proves what is shipped.
fn dist(args: &[String]) -> Outcome {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{HELP}");
        return Ok(());
    }
    let options = options(args)?;
    let metadata = licences::metadata(options.target.as_deref())?;
    if let Some(target) = options.target.clone() {
        return dist_for(&target, &options, &metadata);
    }
    if options.channels {
        let release = release(&options, &metadata, None)?;
        return channels::make(&release, &metadata, options.publish);
    }
    let builds_all = options.binary.is_none() && options.library.is_none();
    let binary = if builds_all {
        Some(binary::build(&options.profile)?)
    } else {
        options.binary.clone()
    };
    let library = if builds_all {
        Some(library::build(&options.profile)?)
    } else {
        options.library.clone()
    };
    let release = release(&options, &metadata, binary.clone())?;
    let texts = licences::texts(&metadata)?;
    let text_file = write(&release.output, "third-party-licences.txt", &texts)?;
    let mut made = vec![text_file.clone()];
    if let Some(program) = &binary {
        made.extend(ship_program(&release, program, &texts, builds_all)?);
    }
    if let Some(library) = &library {
        let packages = library::packages(&release, library, &texts)?;
        proof::compiles(&packages, binary.as_deref(), &release.output)?;
        made.extend(packages);
    }
    if builds_all {
        let wheel = python::wheel(&options.profile, &release.output, &binary::remapped())?;
        python::add_licences(&wheel, &text_file, release.epoch)?;
        python::proof(&wheel, &release.output)?;
        made.push(wheel);
        made.iter()
            .filter(|made| debian::is_package(made))
            .try_for_each(|made| proof::lintian(made))?;
    }
    write_checksums(&release.output, &made)
}

/// Collects the facts of the release, and makes the directory for results.
fn release(
    options: &DistributionOptions,
    metadata: &serde_json::Value,
    binary: Option<PathBuf>,
) -> Result<Release, String> {
    std::fs::create_dir_all(&options.output).map_err(|e| path_error(&options.output, &e))?;
    Ok(Release {
        binary: binary.unwrap_or_default(),
        version: licences::version(metadata)?,
        epoch: epoch()?,
        output: options.output.clone(),
        maintainer: maintainer()?,
        fast: options.fast,
    })
}

/// Builds, tries out and packs the program for another system or architecture.
fn dist_for(target: &str, options: &DistributionOptions, metadata: &serde_json::Value) -> Outcome {
    let release = release(options, metadata, None)?;
    let texts = licences::texts(metadata)?;
    let made = targets::ship(&release, &options.profile, target, metadata, &texts)?;
    let name = made.file_name().unwrap_or_default();
    let mut sum = Command::new("sha256sum");
    let sum = run::output(sum.arg("--").arg(name).current_dir(&release.output))?;
    println!("== in {}\n{sum}", release.output.display());
    Ok(())
}

/// Makes and proves the package of the program, and the program alone if it was built for that.
fn ship_program(
    release: &Release,
    program: &Path,
    licences: &str,
    is_static: bool,
) -> Result<Vec<PathBuf>, String> {
    let mut made = Vec::new();
    if is_static {
        let name = format!(
            "sinter-{}-{}-linux",
            release.version,
            std::env::consts::ARCH
        );
        let copy = release.output.join(name);
        std::fs::copy(program, &copy).map_err(|e| path_error(&copy, &e))?;
        proof::is_static(&copy)?;
        proof::runs_alone(&copy, &release.output)?;
        made.push(copy);
    }
    let package = debian::package(release, licences)?;
    proof::installs(&package, &release.output)?;
    let compat = compat::package(release, licences)?;
    compat::proof(&package, &compat)?;
    made.extend([package, compat]);
    Ok(made)
}

fn options(args: &[String]) -> Result<DistributionOptions, String> {
    let mut options = DistributionOptions {
        output: run::target().join("dist"),
        profile: "dist".to_owned(),
        binary: None,
        library: None,
        fast: false,
        channels: false,
        publish: false,
        target: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value\n{HELP}"));
        match arg.as_str() {
            "--output" => options.output = value()?.into(),
            "--profile" => options.profile = value()?.clone(),
            "--binary" => options.binary = Some(value()?.into()),
            "--library" => options.library = Some(value()?.into()),
            "--target" => options.target = Some(value()?.clone()),
            "--fast" => options.fast = true,
            "--channels" => options.channels = true,
            "--publish" => options.publish = true,
            _ => return Err(format!("unknown option {arg}\n{HELP}")),
        }
    }
    if options.publish && !options.channels {
        return Err(format!("--publish needs --channels\n{HELP}"));
    }
    if options.channels && options.target.is_some() {
        return Err(format!(
            "--channels and --target exclude each other\n{HELP}"
        ));
    }
    // commands run in other directories
    options.output = std::path::absolute(&options.output).map_err(|e| e.to_string())?;
    Ok(options)
}

/// Returns the modification time of all files: SOURCE_DATE_EPOCH, or that of the last commit.
fn epoch() -> Result<u64, String> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => run::output(
            Command::new("git")
                .args(["log", "-1", "--format=%ct"])
                .current_dir(run::root()),
        )?,
    };
    let text = text.trim();
    text.parse()
        .map_err(|_| format!("SOURCE_DATE_EPOCH must be seconds since 1970: {text}"))
}

/// Returns the maintainer of the packages, from the variables that Debian's tools use or from
/// release.toml.
fn maintainer() -> Result<String, String> {
    let described = description::read()?;
    let variable = |name: &str, default: &str| {
        let value = std::env::var(name).ok().filter(|text| !text.is_empty());
        value
            .or_else(|| described.get(default).cloned())
            .unwrap_or_default()
    };
    let name = variable("DEBFULLNAME", "maintainer");
    Ok(format!("{name} <{}>", variable("DEBEMAIL", "email")))
}

fn write(dir: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = dir.join(name);
    std::fs::write(&path, text).map_err(|e| path_error(&path, &e))?;
    Ok(path)
}

/// Writes the checksums of all results and prints them.
fn write_checksums(output: &Path, made: &[PathBuf]) -> Outcome {
    let mut names: Vec<_> = made.iter().filter_map(|path| path.file_name()).collect();
    names.sort();
    let sums = run::output(
        Command::new("sha256sum")
            .arg("--")
            .args(&names)
            .current_dir(output),
    )?;
    write(output, "SHA256SUMS", &sums)?;
    println!("== in {}\n{sums}", output.display());
    Ok(())
}
