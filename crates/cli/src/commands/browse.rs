//! `sinter browse`: shows an image in the terminal.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use sinterfs::model::{Image, Ino};
use sinterfs::ops::{Follow, resolve};
use sinterfs::{Error, FileType, Result};

use crate::args::input::ImageArgs;
use crate::browse::browse;
use crate::rows::trimmed;

/// Look around in an image, with sizes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter browse image.dwarfs
      Show the root directory, what takes most of the image first.
  sinter browse image.dwarfs usr/lib
      Begin in a directory.

Keys: arrows or h j k l to move, Enter to open a directory or look at a file (as text or bytes), / \
to search, s to sort by size in the image, size, name or time, Space to mark, e to extract, ? for \
all keys, q to end. The environment variable NO_COLOR removes colours.

SIZE is the bytes of the files, IN IMAGE their share of the stored blocks, as `sinter du` shows \
them.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The directory to begin in.
    #[arg(value_name = "DIR")]
    directory: Option<OsString>,
}

/// Shows the image until the user ends that.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open_tree()?;
    let path = args.directory.as_deref().unwrap_or_default();
    let way = way(&**opened.raw(), trimmed(path.as_bytes()))?;
    browse(&opened, &sinterfs::shown(&args.image.image), &way)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the directories from the root to a path, without the root.
fn way(image: &dyn Image, path: &[u8]) -> Result<Vec<(Vec<u8>, Ino)>> {
    let mut way = Vec::new();
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let ends = ends.map(|(end, _)| end).chain([path.len()]);
    for end in ends {
        let here = path.get(..end).unwrap_or_default();
        if here.is_empty() || here.ends_with(b"/") {
            continue;
        }
        let ino = resolve(image, here, Follow::All)?;
        if image.inode(ino)?.kind != FileType::Directory {
            let name = std::ffi::OsStr::from_bytes(here);
            return Err(Error::invalid("not a directory").path(name));
        }
        way.push((here.to_vec(), ino));
    }
    Ok(way)
}
