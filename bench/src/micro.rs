//! `bench micro`: our own micro-benchmarks, apart from any comparison.

use crate::workspace::{self, Outcome};

/// Runs the benches of the crates that have some; the arguments choose among them.
pub fn micro(args: &[String]) -> Outcome {
    let mut command = workspace::cargo();
    command.arg("bench");
    for (package, bench) in [
        ("sinterfs-codec", "codecs"),
        ("sinterfs-block", "checksums"),
        ("sinterfs-pipeline", "stages"),
    ] {
        command.args(["-p", package, "--bench", bench]);
    }
    command.arg("--");
    workspace::run("micro-benchmarks", command.args(args))
}
