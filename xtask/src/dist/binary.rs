//! The static program, by musl: it needs no library and so no distribution.
//!
//! **Invariant:** where the checkout and cargo's own directories are leaves no trace in it.

use std::path::PathBuf;
use std::process::Command;

use crate::run;

/// Builds the program by a profile and tells where it is.
pub fn build(profile: &str) -> Result<PathBuf, String> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    at_hand(&target)?;
    let mut command = run::cargo();
    command
        .args(["build", "--locked", "--package", "sinterfs-cli"])
        .args(["--profile", profile, "--target", &target])
        // the codecs in C
        .env(format!("CC_{}", target.replace('-', "_")), "musl-gcc")
        .env("RUSTFLAGS", remapped());
    run::run(&format!("build sinter for {target}"), &mut command)?;
    let dir = match profile {
        "dev" => "debug",
        profile => profile,
    };
    Ok(run::target().join(target).join(dir).join("sinter"))
}

/// Fails with what to install if something is missing.
fn at_hand(target: &str) -> Result<(), String> {
    let missing = |what: &str| format!("{what}; or run ./x dist, which installs what is missing");
    let mut musl = Command::new("musl-gcc");
    run::output(musl.arg("--version"))
        .map_err(|_| missing("musl-gcc is missing: install musl-tools"))?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let print = ["--print", "target-libdir", "--target", target];
    let libraries = run::output(Command::new(rustc).args(print))?;
    match PathBuf::from(libraries.trim()).is_dir() {
        true => Ok(()),
        false => Err(missing(&format!(
            "Rust's library for {target} is missing: rustup target add {target}"
        ))),
    }
}

/// Returns flags that take directories of this machine out of what panics tell.
fn remapped() -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| home.map(|home| home.join(".cargo")));
    // the last that matches counts: what is in the checkout may be the target directory
    let mut pairs = vec![(run::root(), "/sinterfs"), (run::target(), "/target")];
    pairs.extend(cargo.map(|cargo| (cargo, "/cargo")));
    let flags = pairs
        .iter()
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    flags.collect::<Vec<_>>().join(" ")
}
