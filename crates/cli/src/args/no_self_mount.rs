//! `--self-mount` where images are not mounted: there is no such flag.

use sinterfs::build::MountingProgram;

/// No flags.
#[derive(Debug, clap::Args)]
pub struct SelfMountArgs {}

impl SelfMountArgs {
    /// Returns nothing.
    pub fn program(self) -> Option<MountingProgram> {
        None
    }
}
