//! `check`: everything that can be said of the code without running it.

use crate::licences;
use xtask::run::{Outcome, cargo_with, root};

/// Checks formatting, lints, the house rules and licences.
pub fn check() -> Outcome {
    cargo_with("rustfmt", &["fmt", "--all", "--check"], &[])?;
    cargo_with(
        "clippy",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )?;
    tidy()?;
    licences::licences()
}

/// Checks the house rules alone.
pub fn tidy() -> Outcome {
    println!("== tidy");
    sinterfs_tidy::tidy(&root())
}
