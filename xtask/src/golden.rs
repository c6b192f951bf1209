//! `golden [--bless]`: the bytes that we write and the text that we show, recorded.
//!
//! The tests in `crates/cli/tests/golden.rs` do the work; with `--bless` they record.

use xtask::run::{self, Outcome};

/// Runs the golden tests, recording what they see with `bless`.
pub fn golden(bless: bool) -> Outcome {
    let mut command = run::cargo();
    command.args(["test", "-p", "sinterfs-cli", "--test", "golden"]);
    if bless {
        command.env("SINTER_BLESS", "1");
    }
    run::run(
        if bless { "golden --bless" } else { "golden" },
        &mut command,
    )
}
