//! The flag for parity that is written in the same run as an image.
//!
//! In: the flag, and where the image goes. Out: the parity file beside the complete image.
//! **Invariant:** what prevents a parity file from being written is an error before the image is
//! made, as far as it can be known then. Spec: `docs/formats/parity.md`.

use std::path::{Path, PathBuf};

use sinterfs::build::{Destination, is_same_file};
use sinterfs::{Error, Result};

use super::run::VerbosityArgs;
use crate::messages;
use crate::progress::Display;
use crate::size::human;
use crate::text;

/// Parity of a new image.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct ParityArgs {
    /// Also write parity of the image to IMAGE.parity.
    ///
    /// Its size is this percentage of the size of the image file. `sinter repair` restores the
    /// image from it after damage, as from a file of `sinter parity`. --force also replaces it.
    #[arg(long = "parity", value_name = "PERCENT", value_parser = percentage())]
    new_parity: Option<u8>,
}

/// Parses a percentage of parity.
pub fn percentage() -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(1..=100)
}

/// Parity to be written when the image is complete.
#[derive(Debug)]
pub struct PendingParity {
    image: PathBuf,
    to: PathBuf,
    percent: u8,
    replace: bool,
}

impl ParityArgs {
    /// Returns the parity to write, if any; fails if it could not be written beside the image.
    pub fn begin<'a>(
        self,
        destination: &Destination,
        sources: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Option<PendingParity>> {
        let Some(percent) = self.new_parity else {
            return Ok(None);
        };
        let Destination::File { path, replace } = destination else {
            let what = "--parity needs an image in a file; name one with -o";
            return Err(Error::invalid(what));
        };
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            let what = "--parity needs an image in a regular file";
            return Err(Error::invalid(what).path(path));
        }
        let to = sinterfs::verify::parity_path(path);
        if sources.into_iter().any(|source| is_same_file(&to, source)) {
            return Err(Error::invalid("the parity would replace the source").path(to));
        }
        if !replace && to.symlink_metadata().is_ok() {
            return Err(Error::invalid("the parity exists; --force replaces it").path(to));
        }
        Ok(Some(PendingParity {
            image: path.clone(),
            to,
            percent,
            replace: *replace,
        }))
    }
}

impl PendingParity {
    /// Returns the path that it gets.
    pub fn path(&self) -> PathBuf {
        self.to.clone()
    }

    /// Writes the parity of the complete image, says so, and returns its size in bytes.
    pub fn write(self, threads: usize, verbosity: VerbosityArgs) -> Result<u64> {
        let display = Display::start(verbosity.show());
        let bytes = sinterfs::verify::write_parity(
            &self.image,
            &self.to,
            self.percent,
            self.replace,
            threads,
            display.observer(),
        )?;
        drop(display);
        if !verbosity.json && !verbosity.quiet {
            tell_written(&self.to, bytes);
        }
        Ok(bytes)
    }
}

/// Prints where parity was written, and how much.
pub fn tell_written(to: &Path, bytes: u64) {
    let name = text::name(to.as_os_str().as_encoded_bytes());
    messages::line(format_args!("{name}: {} of parity", human(bytes)));
}
