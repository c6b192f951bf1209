//! `sinter parity`: writes a file from which an image can be restored after damage.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::{Error, Result};

use super::digest::is_same;
use crate::args::input::require_local;
use crate::args::parity::{percentage, tell_written};
use crate::args::run::{JobsArgs, VerbosityArgs};
use crate::messages;
use crate::progress::Display;
use crate::text;

/// Write parity of an image, from which `sinter repair` restores it after damage.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter parity image.dwarfs
      Write image.dwarfs.parity, of 5 % of the size of the image.
  sinter build DIR -o image.dwarfs --parity 5
      Write an image and its parity.
  sinter parity image.squashfs --percent 20 -o /other/disk/image.parity
      Restore up to a fifth of the image, from a file on another disk.
  sinter check --parity image.dwarfs
      Compare the image with its parity.
  sinter repair image.dwarfs
      Restore it.

Images of all formats, and any other files, can be protected. With P percent, P percent of \
the image may be overwritten, cut out or flipped, together with damage of the parity file itself. \
docs/formats/parity.md describes the file and the bound.")]
pub struct Args {
    /// The image file.
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// The amount of parity, in percent of the size of the image.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = percentage())]
    percent: u8,

    /// The parity file (default: IMAGE.parity).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace that file if it exists, unless it is needed to restore the image.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    verbosity: VerbosityArgs,
}

/// Warns that the parity beside a rewritten image belongs to the previous image.
pub(super) fn tell_former(image: &Path) {
    let parity = sinterfs::verify::parity_path(image);
    if parity.is_file() {
        let [image, parity] =
            [image, &parity].map(|path| text::name(path.as_os_str().as_encoded_bytes()));
        messages::line(format_args!(
            "sinter: {parity} is of the former image; write a new one: \
             sinter parity --force {image}"
        ));
    }
}

/// Writes parity.
pub fn run(args: &Args) -> Result<ExitCode> {
    require_local(&args.image)?;
    let default = || sinterfs::verify::parity_path(&args.image);
    let output = args.output.clone().unwrap_or_else(default);
    if is_same(&output, &args.image) {
        return Err(Error::invalid("the parity would replace the image").path(output));
    }
    let display = Display::start(args.verbosity.show());
    let bytes = sinterfs::verify::write_parity(
        &args.image,
        &output,
        args.percent,
        args.force,
        args.jobs.threads(),
        display.observer(),
    )?;
    drop(display);
    if args.verbosity.json {
        let json = serde_json::json!({ "percent": args.percent, "bytes": bytes });
        text::print(&format!("{json:#}\n"))?;
    } else if !args.verbosity.quiet {
        tell_written(&output, bytes);
    }
    Ok(ExitCode::SUCCESS)
}
