//! `sinter digest`: prints the root digest of an image, and writes its digests to a file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::verify::Signable;
use sinterfs::{Error, Result};

use crate::args::run::JobsArgs;
use crate::progress::{Display, Show};
use crate::text;

/// Print the root digest of an image, which other commands can require.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter digest image.dwarfs
      Print the root of the digests in the image, after verifying them.
  sinter digest image.squashfs
      Print the root digest of the whole file.
  sinter digest image.erofs -o image.erofs.digest
  sinter mount image.erofs /mnt --digest HEX --digest-file image.erofs.digest
      Write the digests to a file; then mounting need not read the image.

`sinter build --with-digest` stores digests in an image (DwarFS). With -o the root digest is \
always that of the whole file. docs/formats/digest.md describes how to compute it with other \
programs.")]
pub struct Args {
    /// The image file.
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// Print the statement that `sinter sign` signs, for other programs.
    #[arg(long)]
    statement: bool,

    /// Write the digests of the whole image to this file.
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
    let of: Signable = match &args.output {
        Some(output) if is_same(output, &args.image) => {
            return Err(Error::invalid("the digests would replace the image").path(output));
        }
        Some(output) => sinterfs::verify::write_digests(&args.image, output, args.force)?.into(),
        None => {
            let display = Display::start(Show::Progress);
            sinterfs::verify::signable(&args.image, args.jobs.threads(), display.observer())?
        }
    };
    text::print(&if args.statement {
        sinterfs::verify::signed_statement(of)
    } else {
        format!("{}\n", of.root)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns whether two paths name the same file.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    let found = |path: &Path| path.canonicalize().ok();
    found(a).is_some_and(|place| found(b) == Some(place))
}
