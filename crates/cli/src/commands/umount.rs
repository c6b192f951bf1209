//! `sinter umount`: unmounts an image.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::Result;

/// Unmount an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  sinter umount /mnt")]
pub struct Args {
    /// The mount point.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Detach the mount at once even if it is busy; it ends when it is no longer used.
    #[arg(short, long)]
    lazy: bool,
}

/// Unmounts.
pub fn run(args: &Args) -> Result<ExitCode> {
    sinterfs::mount::umount(&args.directory, args.lazy)?;
    Ok(ExitCode::SUCCESS)
}
