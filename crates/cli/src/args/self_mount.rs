//! `--self-mount`: images that are programs, too.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use sinterfs::build::MountingProgram;

use crate::{self_run, text};

/// The flag of commands that write an image.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct SelfMountArgs {
    /// Make the image a program that mounts itself: this one is prepended to it (DwarFS, SquashFS).
    /// It runs PATH in the image, or AppRun if there is one; `IMAGE --sinter-help` describes the
    /// rest.
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        require_equals = true,
        group = "before_image"
    )]
    self_mount: Option<Option<OsString>>,
}

impl SelfMountArgs {
    /// Returns the program to prepend, if requested.
    pub fn program(self) -> Option<MountingProgram> {
        let entry = self.self_mount?.unwrap_or_default();
        if !cfg!(target_feature = "crt-static") {
            let what = "the program in the image needs the C library that this one needs; the \
                        static program of `./x dist` makes images that run on any Linux";
            text::warn(what);
        }
        Some(MountingProgram {
            program: self_run::OWN_FILE.into(),
            entry: entry.into_vec(),
        })
    }
}
