//! The exit codes of other programs, for scripts that distinguish kinds of failures.
//!
//! In: the name of the program and our exit code. Out: the exit code of that program, by its
//! manual.

use std::process::ExitCode;

use crate::exit::{BROKEN_PIPE, INTERRUPTED, NOT_FOUND, PARTIAL, SYSTEM, USAGE};

/// The exit codes of a program that was called by this name; ours for none.
#[derive(Debug, Clone, Copy)]
pub struct ExitCodes(pub(super) Option<&'static str>);

impl ExitCodes {
    /// Returns the exit code where ours ends with an error.
    pub fn of_error(self, ours: u8) -> u8 {
        match (self.0, ours) {
            (None, _) => ours,
            // what a shell makes of the signals that end the others
            (_, INTERRUPTED | BROKEN_PIPE) => ours,
            // as diff(1)
            (Some("sqfsdiff"), _) => 2,
            // mkfs.cramfs(8), and mkfs(8) for wrong use
            (Some("mkfs.cramfs" | "mkcramfs"), USAGE) => 16,
            (Some("mkfs.cramfs" | "mkcramfs"), _) => 8,
            // what genisoimage 1.1.11 and xorrisofs 1.5.4 return: wrong use; a file that is missing
            // or cannot be written; all else
            (Some("mkisofs" | "genisoimage"), USAGE) => 1,
            (Some("mkisofs" | "genisoimage"), NOT_FOUND | SYSTEM) => 2,
            (Some("mkisofs" | "genisoimage"), _) => 255,
            (Some("xorrisofs" | "xorriso"), _) => 5,
            // mount(8): wrong use, and a mount that failed
            (Some("mount.sinter" | "mount.fuse.sinter" | "mount.dwarfs"), USAGE) => 1,
            (Some("mount.sinter" | "mount.fuse.sinter" | "mount.dwarfs"), _) => 32,
            _ => 1,
        }
    }

    /// Returns the exit code of a run without an error that ends it.
    pub fn of_run(self, ours: ExitCode) -> ExitCode {
        match self.0 {
            // 1 is for errors that end it
            Some("unsquashfs" | "sqfscat") if ours == ExitCode::from(PARTIAL) => ExitCode::from(2),
            _ => ours,
        }
    }
}
