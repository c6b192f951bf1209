//! `features`: the library with each of its Cargo features alone, and codecs that are left out.
//!
//! **Invariant:** no choice of features warns: what cargo prints is a failure.

use crate::run::{Outcome, cargo, cargo_with};

/// Features of `sinterfs` that are checked alone, besides none, and those that meet in the code.
const LIBRARY: &[&str] = &[
    "",
    "write",
    "mount",
    "composefs",
    "write,composefs",
    "mount,composefs",
];

/// Features of `sinterfs-block`, each checked alone, besides none.
const CODECS: &[&str] = &[
    "", "brotli", "deflate", "lz4", "lzma", "lzo", "streams", "zstd",
];

/// Checks each choice, and what a build without codecs says of their blocks.
pub fn features() -> Outcome {
    for (package, choices) in [("sinterfs-block", CODECS), ("sinterfs", LIBRARY)] {
        for features in choices {
            check(package, features)?;
        }
    }
    cargo_with(
        "blocks of codecs that are left out",
        &["test", "--quiet", "--package", "sinterfs-block"],
        &["--no-default-features", "--test", "missing_codecs"].map(str::to_owned),
    )
}

fn check(package: &str, features: &str) -> Outcome {
    println!(
        "== {package}, features: {}",
        if features.is_empty() {
            "none"
        } else {
            features
        }
    );
    let mut command = cargo();
    command.args([
        "check",
        "--quiet",
        "--package",
        package,
        "--no-default-features",
    ]);
    let output = command.args(["--features", features]).output();
    let output = output.map_err(|error| format!("cargo check: {error}"))?;
    if output.status.success() && output.stderr.is_empty() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}
