//! `sinter umount`: unmounts images.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::{Error, Result};

use crate::{flags, messages};

/// Unmount images.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "unmount",
    after_help = "\
Examples:
  sinter umount /mnt
  sinter umount /mnt/a /mnt/b
  sinter umount --all
      Unmount every image that `sinter mounts` lists."
)]
pub struct Args {
    /// The mount points.
    #[arg(value_name = "DIR", required_unless_present = "all")]
    directories: Vec<PathBuf>,

    /// Unmount all images, the last one that was mounted first, and also those that another mount
    /// hides, which stays.
    #[arg(short, long, conflicts_with = "directories")]
    all: bool,

    /// Detach the mounts at once even if they are busy; they end when they are no longer used.
    #[arg(short, long)]
    lazy: bool,
}

/// Unmounts; continues after a failure, and returns the last one.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut failed: Option<Error> = None;
    let mut note = |done: Result<()>| {
        if let Err(error) = done
            && let Some(earlier) = failed.replace(error)
        {
            messages::line(format_args!("sinter: {}", flags::message(&earlier)));
        }
    };
    for point in &args.directories {
        note(sinterfs::mount::umount(point, args.lazy));
    }
    if args.all {
        for mount in sinterfs::mount::mounted_images()?.iter().rev() {
            note(mount.unmount(args.lazy));
        }
    }
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}
