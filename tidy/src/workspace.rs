//! What the rules ask other programs about the workspace.

use std::path::Path;
use std::process::Command;

/// Returns the paths of all files that git tracks or would track and that match a pattern.
pub fn files(root: &Path, pattern: &str) -> Result<String, String> {
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        pattern,
    ]);
    output(git.current_dir(root))
}

/// Returns cargo's description of the workspace's crates, as JSON.
pub fn metadata(root: &Path) -> Result<String, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version=1", "--no-deps"]);
    output(cargo.current_dir(root))
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
