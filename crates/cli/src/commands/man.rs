//! `sinter man`: writes manual pages, which are generated from the definitions of `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::{Error, Result};

/// Write the manual pages to a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  sinter man -o /usr/local/share/man/man1")]
pub struct Args {
    /// The directory of sinter.1, sinter-build.1, ...
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// Writes a page per command.
pub fn run(args: &Args, definitions: clap::Command) -> Result<ExitCode> {
    std::fs::create_dir_all(&args.output)
        .and_then(|()| clap_mangen::generate_to(definitions, &args.output))
        .map_err(|e| Error::io("cannot write the manual", e).path(&args.output))?;
    Ok(ExitCode::SUCCESS)
}
