//! `schedules`: the block cache and the permits under a scheduler that tries many orders of their
//! steps (shuttle), in a workspace of its own, `schedules/`.

use xtask::run::{Outcome, cargo, root, run};

/// Runs the tests; arguments are cargo's.
pub fn schedules(more: &[String]) -> Outcome {
    let mut command = cargo();
    command.current_dir(root().join("schedules"));
    // what is built there is not in the way of what the workspace builds
    command.args(["test", "--target-dir", "../target/schedules"]);
    command.args(more);
    run("orders of steps", &mut command)
}
