//! Messages for people: progress, warnings, summaries and errors, on standard error.
//!
//! **Invariant:** a message that cannot be written (nobody reads the pipe any more, the disk is
//! full) is dropped: the work goes on, and the exit code is what it would have been. All of this
//! program's output on standard error passes here or through indicatif, which drops such failures
//! as well; the lint `print_stderr` keeps it so.

use std::fmt::Display;
use std::io::Write;

/// Writes a message and ends the line.
pub fn line(message: impl Display) {
    write(&format!("{message}\n"));
}

/// Writes text as it is, by one call, so that the lines of several threads stay whole.
pub fn write(text: &str) {
    // a message that cannot be written has no other place to go
    let _ = std::io::stderr().write_all(text.as_bytes());
}
