//! The workspace that the program belongs to: its directories, and commands run in it.

use std::path::PathBuf;
use std::process::Command;

/// Nothing, or the message of a failure.
pub type Outcome = Result<(), String>;

/// Returns the workspace's root directory. Cargo names it at run time: checkouts that share a
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

/// Prepares a cargo command in the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command; its failure is an error.
pub fn run(title: &str, command: &mut Command) -> Outcome {
    println!("== {title}");
    let status = command.status().map_err(|e| format!("{title}: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{title} failed ({status})"))
    }
}

/// Runs a command and returns its standard output.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds the release `sinter` and returns its path.
pub fn sinter() -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["build", "--release", "--package", "sinterfs-cli"]);
    run("build sinter", &mut command)?;
    Ok(target().join("release/sinter"))
}

/// Returns whether the process runs as root.
pub fn is_root() -> Result<bool, String> {
    use std::os::unix::fs::MetadataExt;
    let process = std::fs::metadata("/proc/self").map_err(|e| format!("/proc/self: {e}"))?;
    Ok(process.uid() == 0)
}
