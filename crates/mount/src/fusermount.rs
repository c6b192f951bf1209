//! The program `fusermount3`, which mounts and unmounts FUSE for ordinary users.
//!
//! **Invariant:** if the program fails there is a message: its own, or its exit status.

use std::io;
use std::process::{Child, Command};

use sinterfs_model::{Error, Result};

/// Returns a command of the program that mounts and unmounts for ordinary users.
pub(crate) fn fusermount() -> Command {
    Command::new("fusermount3")
}

/// Starts the program. `NotFound` if it is not installed.
pub(crate) fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::not_found("fusermount3 is missing: install the package fuse3, or mount as root")
        }
        _ => Error::io("cannot run fusermount3", error),
    })
}

/// Waits for the program; returns its message if it failed.
pub(crate) fn wait(child: Child) -> Result<Option<String>> {
    let output = child.wait_with_output();
    let output = output.map_err(|error| Error::io("cannot wait for fusermount3", error))?;
    if output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok(Some(if text.is_empty() {
        format!("fusermount3: {}", output.status)
    } else {
        text
    }))
}
