//! `msrv`: the oldest Rust that README names builds everything but tests, which users do not build.

use std::process::Command;

use xtask::run::{Outcome, output, run};

/// The oldest version of Rust, from the workspace's manifest.
const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// Checks the workspace with the oldest version. Where Rust is not from rustup, and is another
/// version, or where the oldest one cannot be downloaded, it says that nothing was checked.
pub fn msrv() -> Outcome {
    let current = output(Command::new("rustc").arg("--version"))?;
    if current.starts_with(&format!("rustc {OLDEST}.")) {
        println!("msrv: {OLDEST} is the version that everything else is built with");
        return Ok(());
    }
    if output(Command::new("rustup").arg("--version")).is_err() {
        println!(
            "msrv: skipped: {} is here, and no rustup to install {OLDEST}: apt-get install rustup",
            current.trim()
        );
        return Ok(());
    }
    let install = [
        "toolchain",
        "install",
        OLDEST,
        "--profile",
        "minimal",
        "--no-self-update",
    ];
    let mut rustup = Command::new("rustup");
    if let Err(why) = run("rustup toolchain install", rustup.args(install)) {
        println!("msrv: skipped: {OLDEST} cannot be had here: {why}");
        return Ok(());
    }
    let check = ["check", "--quiet", "--workspace", "--locked"];
    let mut old = Command::new("rustup");
    old.args(["run", OLDEST, "cargo"]).args(check);
    // build scripts compile C libraries that nothing runs
    old.env("CFLAGS", "-O0");
    // cargo's own variables name the toolchain of this program
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        old.env_remove(variable);
    }
    run(
        "check with the oldest Rust",
        old.current_dir(xtask::run::root()),
    )
}
