//! Making an image by the pipeline: the flags that `build`, `convert` and `merge` share, and the run.

use std::process::ExitCode;

use sinterfs::{BuildRequest, Destination, Input, Result};

use super::attributes::{Attributes, Creation, Telling};
use super::packed;
use super::packing::{Packing, Target};
use super::work::{Jobs, Words};
use crate::progress::Display;

/// Where an image goes and everything about how it is made.
#[derive(Debug, clap::Args)]
pub struct Making {
    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    packing: Packing,

    #[command(flatten)]
    jobs: Jobs,

    #[command(flatten)]
    attributes: Attributes,

    #[command(flatten)]
    creation: Creation,

    #[command(flatten)]
    telling: Telling,

    #[command(flatten)]
    words: Words,
}

impl Making {
    /// Makes an image of an input and says what was made; `more` adds what one command alone asks.
    pub fn run(self, input: Input, more: impl FnOnce(&mut BuildRequest)) -> Result<ExitCode> {
        let words = self.words;
        let destination = self.target.destination(words)?;
        let mut request = request(input, destination, &self.jobs);
        self.packing.ask(&mut request)?;
        self.attributes.ask(&mut request)?;
        self.creation.ask(&mut request)?;
        self.telling.ask(&mut request);
        more(&mut request);
        let display = Display::start(words.show());
        let report = sinterfs::build(&request, display.observer())?;
        packed::tell(&report, words, display)
    }
}

/// Starts the request for an image of some input.
pub fn request(input: Input, destination: Destination, jobs: &Jobs) -> BuildRequest {
    BuildRequest {
        destination,
        threads: jobs.threads(),
        ..BuildRequest::of(input)
    }
}
