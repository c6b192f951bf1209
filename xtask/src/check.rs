//! `check`: everything that can be said of the code without running it.

use crate::run::{Outcome, cargo_with};
use crate::{licences, tidy};

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
    tidy::tidy()?;
    licences::licences()
}
