//! Exit codes: one table from error kinds.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use sinterfs::ops::Unread;
use sinterfs::{Error, Kind};

use crate::{messages, text};

/// The work was done, but something was left out, changed or found damaged.
pub const PARTIAL: u8 = 1;
/// Files were salvaged: restored with zeros for what cannot be read.
pub const SALVAGED: u8 = 8;
/// Wrong use.
pub const USAGE: u8 = 2;

/// A part of the image is damaged.
pub const DAMAGED: u8 = 3;

/// Something that was named is missing.
pub const NOT_FOUND: u8 = 5;

/// An error of the system.
pub const SYSTEM: u8 = 7;

/// Whether something of an archive that was opened was passed over or may be missing.
static INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// Remembers that something of an archive was passed over or may be missing.
pub fn set_incomplete() {
    INCOMPLETE.store(true, Ordering::Relaxed);
}

/// Returns the code of a command: not success if something of an archive was passed over. For a
/// search, which ends with 1 if nothing matched, that is the code of what could not be searched.
pub fn of_command(code: ExitCode, is_search: bool) -> ExitCode {
    let is_complete = !INCOMPLETE.load(Ordering::Relaxed);
    if is_search && !is_complete {
        return ExitCode::from(DAMAGED);
    }
    if is_complete || code != ExitCode::SUCCESS {
        return code;
    }
    ExitCode::from(PARTIAL)
}

/// Maps an error's kind to the exit code that `sinter --help` documents.
pub const fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Invalid | Kind::Loop => USAGE,
        Kind::Corrupt => DAMAGED,
        Kind::Unsupported => 4,
        Kind::NotFound | Kind::NotDirectory => NOT_FOUND,
        Kind::Limit => 6,
        Kind::Cancelled => INTERRUPTED,
        _ => SYSTEM,
    }
}

/// The output went to a pipe that nobody reads any more.
pub const BROKEN_PIPE: u8 = 141;
/// A request to stop ended the work.
pub const INTERRUPTED: u8 = 130;

/// Prints a line for each entry that could not be read, and returns the exit code.
pub fn unread(unread: Unread) -> ExitCode {
    if unread.is_empty() {
        return ExitCode::SUCCESS;
    }
    for error in unread.into_errors() {
        let message = crate::flags::message(&error);
        messages::line(format_args!("sinter: {}", text::one_line(&message)));
    }
    ExitCode::from(PARTIAL)
}

/// Prints an error in one line and returns its exit code. A reader that closed its end of a pipe
/// (`| head`) is no error worth a word.
pub fn report(error: &Error) -> u8 {
    let broken_pipe = error
        .io_source()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe);
    if broken_pipe {
        return BROKEN_PIPE;
    }
    let not_found = error
        .io_source()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    let message = crate::flags::message(error);
    messages::line(format_args!("sinter: {}", text::one_line(&message)));
    if not_found {
        code(Kind::NotFound)
    } else {
        code(error.kind())
    }
}
