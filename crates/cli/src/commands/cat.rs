//! `sinter cat`: writes files of an image to standard output.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use sinterfs::ops::{Follow, cat, resolve};
use sinterfs::{Error, Result};

use crate::args::input::ImageArgs;
use crate::args::run::JobsArgs;

/// Print files of an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  sinter cat image.dwarfs etc/os-release")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The files to print; symlinks are followed within the image.
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
        let ino = resolve(image, path.as_bytes(), Follow::All)?;
        cat(image, ino, threads, &mut out).map_err(|e| e.path(path))?;
    }
    out.flush()
        .map_err(|e| Error::io("cannot write the content", e))?;
    Ok(ExitCode::SUCCESS)
}
