//! `dist`: what is shipped: a static program, a Debian package of it, the licences of what is linked, and their sums.
//!
//! Enters the checkout, or with `--binary` a program that is built already. Leaves files in one directory.
//! **Invariant:** the same checkout, toolchain and SOURCE_DATE_EPOCH make the same bytes, and what is in the directory has
//! run without any library and been installed: `proof` fails before sums are written.

mod binary;
mod changelog;
mod debian;
mod licences;
mod proof;
mod tree;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{self, Outcome};

const HELP: &str = "\
usage: cargo xtask dist [OPTIONS]

Builds the static program and its .deb into target/dist (or where CARGO_TARGET_DIR says), runs the program in an empty
root, installs the package into another, has lintian look at it where that is at hand, and writes SHA256SUMS.

  --output DIR        write to another directory
  --profile NAME      build by another profile than dist
  --binary FILE       pack a program that is there; it need not be static
";

/// What was asked for.
struct Options {
    output: PathBuf,
    profile: String,
    binary: Option<PathBuf>,
}

/// What is packed, and how it is called.
pub struct Release {
    /// The program.
    pub binary: PathBuf,
    /// Of the workspace.
    pub version: String,
    /// The time that all files get, in seconds since 1970.
    pub epoch: u64,
    /// The directory for results.
    pub output: PathBuf,
    /// Who answers for the package: name and address.
    pub maintainer: String,
}

/// Builds, packs and proves what is shipped.
pub fn dist(args: &[String]) -> Outcome {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{HELP}");
        return Ok(());
    }
    let options = options(args)?;
    let metadata = licences::metadata()?;
    let built = match &options.binary {
        Some(binary) => binary.clone(),
        None => binary::build(&options.profile)?,
    };
    std::fs::create_dir_all(&options.output).map_err(|e| told(&options.output, &e))?;
    let release = Release {
        binary: built,
        version: licences::version(&metadata)?,
        epoch: epoch()?,
        output: options.output,
        maintainer: maintainer(),
    };
    let texts = licences::texts(&metadata)?;
    let mut made = vec![write(&release.output, "third-party-licences.txt", &texts)?];
    if options.binary.is_none() {
        let name = format!(
            "sinter-{}-{}-linux",
            release.version,
            std::env::consts::ARCH
        );
        let copy = release.output.join(name);
        std::fs::copy(&release.binary, &copy).map_err(|e| told(&copy, &e))?;
        proof::is_static(&copy)?;
        proof::runs_alone(&copy, &release.output)?;
        made.push(copy);
    }
    let package = debian::package(&release, &texts)?;
    proof::installs(&package, &release.output)?;
    if options.binary.is_none() {
        proof::lintian(&package)?;
    }
    made.push(package);
    sums(&release.output, &made)
}

fn options(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        output: run::target().join("dist"),
        profile: "dist".to_owned(),
        binary: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value\n{HELP}"));
        match arg.as_str() {
            "--output" => options.output = value()?.into(),
            "--profile" => options.profile = value()?.clone(),
            "--binary" => options.binary = Some(value()?.into()),
            _ => return Err(format!("{arg} is not understood\n{HELP}")),
        }
    }
    // commands run in other directories
    options.output = std::path::absolute(&options.output).map_err(|e| e.to_string())?;
    Ok(options)
}

/// Returns the time for all files: SOURCE_DATE_EPOCH, or that of the last commit.
fn epoch() -> Result<u64, String> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => run::output(
            Command::new("git")
                .args(["log", "-1", "--format=%ct"])
                .current_dir(run::root()),
        )?,
    };
    let wrong = |_| {
        format!(
            "SOURCE_DATE_EPOCH has to be seconds since 1970: {}",
            text.trim()
        )
    };
    text.trim().parse().map_err(wrong)
}

/// Returns who answers for the package, as Debian's tools are told.
fn maintainer() -> String {
    let of = |variable: &str, default: &str| {
        let told = std::env::var(variable).ok().filter(|text| !text.is_empty());
        told.unwrap_or_else(|| default.to_owned())
    };
    let name = of("DEBFULLNAME", "The SinterFS developers");
    format!("{name} <{}>", of("DEBEMAIL", "sinterfs@example.org"))
}

fn write(dir: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = dir.join(name);
    std::fs::write(&path, text).map_err(|e| told(&path, &e))?;
    Ok(path)
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Writes the sums of what was made, and shows them.
fn sums(output: &Path, made: &[PathBuf]) -> Outcome {
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
