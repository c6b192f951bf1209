//! `forge`: the workflows, by actionlint, and the scripts of the checkout, by shellcheck.
//!
//! **Invariant:** what a tool finds is an error; a tool that is not installed is named, and in CI
//! the lack of shellcheck, which distributions have, is an error, too.

use std::process::Command;

use xtask::run::{self, Outcome, run};

/// Checks both.
pub fn forge() -> Outcome {
    let mut list = Command::new("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let files = run::output(list.args(["*.sh", "x", ".ci/run"]).current_dir(run::root()))?;
    let is_here = |tool: &str| {
        let found = run::output(Command::new(tool).arg("--version")).is_ok();
        if !found {
            println!("== {tool}: not at hand");
        }
        found
    };
    if is_here("shellcheck") {
        let mut command = Command::new("shellcheck");
        command.args(["--severity", "warning"]).args(files.lines());
        run("shellcheck", command.current_dir(run::root()))?;
    } else if std::env::var_os("CI").is_some() {
        return Err("shellcheck is missing: install it, or run ./x forge".to_owned());
    }
    if is_here("actionlint") {
        let mut command = Command::new("actionlint");
        run("actionlint", command.current_dir(run::root()))?;
    }
    Ok(())
}
