//! Running commands: what is run is shown, failure is an error.

use std::path::PathBuf;
use std::process::Command;

/// What a verb returns: nothing, or the message it failed with.
pub type Outcome = Result<(), String>;

/// Returns the workspace's root directory. Cargo says it anew for each run: checkouts that share a
/// target directory share this program, too.
pub fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map(PathBuf::from).unwrap_or(manifest)
}

/// Returns the directory that cargo builds into.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Starts a cargo command in the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command and turns its failure into an error.
pub fn run(what: &str, command: &mut Command) -> Outcome {
    println!("== {what}");
    let status = command.status().map_err(|e| format!("{what}: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{what} failed ({status})"))
    }
}

/// Runs cargo with fixed and given arguments.
pub fn cargo_with(what: &str, fixed: &[&str], more: &[String]) -> Outcome {
    run(what, cargo().args(fixed).args(more))
}

/// Runs a command and gives its standard output.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds the release `sinter` and returns its path.
pub fn sinter() -> Result<PathBuf, String> {
    cargo_with(
        "build sinter",
        &["build", "--release", "--package", "sinterfs-cli"],
        &[],
    )?;
    Ok(target().join("release/sinter"))
}
