//! The static program, linked with musl: it needs no library and so no particular distribution.
//!
//! **Invariant:** the paths of the checkout and of cargo's own directories leave no trace in it.

use std::path::PathBuf;
use std::process::Command;

use xtask::run;

/// Builds the program with a profile and returns its path.
pub fn build(profile: &str) -> Result<PathBuf, String> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    check_toolchain(&target)?;
    let mut command = run::cargo();
    command
        .args(["build", "--locked", "--package", "sinterfs-cli"])
        .args(["--profile", profile, "--target", &target])
        // for the codecs written in C
        .env(format!("CC_{}", target.replace('-', "_")), "musl-gcc")
        .env("RUSTFLAGS", remapped());
    run::run(&format!("build sinter for {target}"), &mut command)?;
    Ok(run::target()
        .join(target)
        .join(folder(profile))
        .join("sinter"))
}

/// Returns the folder of what a profile makes.
pub fn folder(profile: &str) -> &str {
    match profile {
        "dev" => "debug",
        profile => profile,
    }
}

/// Fails with what to install if the compiler or the standard library is missing.
fn check_toolchain(target: &str) -> Result<(), String> {
    let missing = |what: &str| format!("{what}; or run ./x dist, which installs what is missing");
    let mut musl = Command::new("musl-gcc");
    run::output(musl.arg("--version"))
        .map_err(|_| missing("musl-gcc is missing: install musl-tools"))?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let print = ["--print", "target-libdir", "--target", target];
    let libraries = run::output(Command::new(rustc).args(print))?;
    if PathBuf::from(libraries.trim()).is_dir() {
        Ok(())
    } else {
        Err(missing(&format!(
            "Rust's library for {target} is missing: rustup target add {target}"
        )))
    }
}

/// Returns compiler flags that replace directories of this machine in the messages of panics.
pub fn remapped() -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| home.map(|home| home.join(".cargo")));
    // the last match counts: the target directory may be inside the checkout
    let mut pairs = vec![(run::root(), "/sinterfs"), (run::target(), "/target")];
    pairs.extend(cargo.map(|cargo| (cargo, "/cargo")));
    let flags = pairs
        .iter()
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    flags.collect::<Vec<_>>().join(" ")
}
