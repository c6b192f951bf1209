//! `bench micro`: our own micro-benchmarks, apart from any comparison.

use crate::workspace::{self, Outcome};

/// Runs the benches of the crates that have some; the arguments choose among them.
pub fn micro(args: &[String]) -> Outcome {
    let mut command = workspace::cargo();
    command.args(["bench", "-p", "sinterfs-block", "-p", "sinterfs-pipeline"]);
    command.args(["--bench", "codecs", "--bench", "stages", "--"]);
    workspace::run("micro-benchmarks", command.args(args))
}
