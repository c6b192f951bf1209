//! `doc` and `package`: what a registry and docs.rs would make of the crates.

use xtask::run::{Outcome, cargo, cargo_with, run};

/// Crates that are not published.
const OURS_ALONE: [&str; 7] = [
    "xtask",
    "sinterfs-dist",
    "sinterfs-tidy",
    "sinterfs-bench",
    "sinterfs-testkit",
    "sinterfs-capi",
    "sinterfs-python",
];

/// Builds the documentation of every crate; warnings are errors.
pub fn doc() -> Outcome {
    let mut command = cargo();
    command.args(["doc", "--quiet", "--workspace", "--no-deps"]);
    run("doc", command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Packs every crate that is published, without the network.
pub fn package(more: &[String]) -> Outcome {
    let mut arguments = vec![
        "package",
        "--quiet",
        "--workspace",
        "--no-verify",
        "--offline",
    ];
    for name in OURS_ALONE {
        arguments.extend(["--exclude", name]);
    }
    cargo_with("package", &arguments, more)
}
