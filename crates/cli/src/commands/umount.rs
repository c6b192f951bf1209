//! `sinter umount`: ends a mount.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::Result;

/// Unmount an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  sinter umount /mnt")]
pub struct Args {
    /// The directory that the image is mounted on.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Take it out of the tree at once even if it is in use; it ends when nobody uses it.
    #[arg(short, long)]
    lazy: bool,
}

/// Unmounts.
pub fn run(args: &Args) -> Result<ExitCode> {
    sinterfs::umount(&args.directory, args.lazy)?;
    Ok(ExitCode::SUCCESS)
}
