//! Messages for people: progress, warnings, summaries and errors, on standard error.
//!
//! **Invariant:** a message that cannot be written (a closed pipe, a full disk) is dropped: the
//! work continues, and the exit code is unchanged. All of this program's output on standard error
//! passes here or through indicatif, which drops such failures as well; the lint `print_stderr`
//! keeps it so.

use std::fmt::Display;
use std::io::Write;

/// Writes a message and ends the line.
pub fn line(message: impl Display) {
    write(&format!("{message}\n"));
}

/// Writes text by one call, so that the lines of several threads are not mixed.
pub fn write(text: &str) {
    // a message that cannot be written has no other place to go
    let _ = std::io::stderr().write_all(text.as_bytes());
}
