//! `sinter digest`: the root digest of an image, and a file of digests beside it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::{Error, Result};

use crate::args::common::JobsArgs;
use crate::progress::{Display, Show};
use crate::text;

/// Print the root digest of an image, which other commands can insist on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter digest image.dwarfs                      of the digests in the image, compared with every byte
  sinter digest image.squashfs                    of the whole file
  sinter digest image.erofs -o image.erofs.digest and the digests in a file, so that a mount need not
                                                  read the image first:
  sinter mount image.erofs /mnt --digest HEX --digest-file image.erofs.digest

Images with digests of their own are made by `sinter build --with-digest` (DwarFS). With -o the root is
always that of the whole file. docs/formats/digest.md tells how to compute it without this program.")]
pub struct Args {
    /// The image file.
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// Print the line that `sinter sign` signs, for other programs that sign or verify.
    #[arg(long)]
    statement: bool,

    /// Write the digests of the whole file to this one.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace that file if it exists.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    jobs: JobsArgs,
}

/// Prints the root digest.
pub fn run(args: &Args) -> Result<ExitCode> {
    let root = match &args.output {
        Some(output) if is_same(output, &args.image) => {
            return Err(Error::invalid("the digests would replace their image").path(output));
        }
        Some(output) => sinterfs::write_digests(&args.image, output, args.force)?,
        None => {
            let display = Display::start(Show::Progress);
            sinterfs::digest(&args.image, args.jobs.threads(), display.observer())?
        }
    };
    text::print(&if args.statement {
        sinterfs::statement(root)
    } else {
        format!("{root}\n")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns whether two paths are one file.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    let found = |path: &Path| path.canonicalize().ok();
    found(a).is_some_and(|place| found(b) == Some(place))
}
