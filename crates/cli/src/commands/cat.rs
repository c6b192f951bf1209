//! `sinter cat`: writes files of an image to standard output.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use sinterfs::ops::{Follow, cat, expand, resolve};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, Result};

use crate::args::input::ImageArgs;
use crate::args::run::JobsArgs;

/// Print files of an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter cat image.dwarfs etc/os-release
      Print a file.
  sinter cat image.dwarfs 'etc/*.conf'
      Print the files that match; directories among them are left out.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The files to print; symlinks are followed within the image, and patterns are expanded: `*`
    /// matches within a name, `**` across slashes.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,

    #[command(flatten)]
    jobs: JobsArgs,
}

/// Prints the files in the order given.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open()?;
    let image = &**opened.raw();
    let threads = args.jobs.threads();
    let mut out = std::io::stdout().lock();
    for path in &args.paths {
        for found in expand(image, &names::bytes(path))? {
            let shown = || names::path(&found);
            let ino = resolve(image, &found, Follow::All).map_err(|e| e.path(shown()))?;
            let is_match = found != *names::bytes(path);
            if is_match && image.inode(ino)?.kind == FileType::Directory {
                continue;
            }
            cat(image, ino, threads, &mut out).map_err(|e| e.path(shown()))?;
        }
    }
    out.flush()
        .map_err(|e| Error::io("cannot write the content", e))?;
    Ok(ExitCode::SUCCESS)
}
