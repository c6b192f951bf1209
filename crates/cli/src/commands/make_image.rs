//! Making an image by the pipeline: the flags that `build`, `convert` and `merge` share, and the run.

use std::io::IsTerminal;
use std::process::ExitCode;

use sinterfs::verity::hex;
use sinterfs::{BuildRequest, Destination, Error, Input, Result};

use crate::args::attributes::{Attributes, Creation, Telling};
use crate::args::common::{Jobs, Stages, Words};
use crate::args::filter::Choosing;
use crate::args::pack::{Packing, Target};
use crate::args::report::Reporting;
use crate::build_report;
use crate::progress::Display;
use crate::text;

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
    choosing: Choosing,

    #[command(flatten)]
    attributes: Attributes,

    #[command(flatten)]
    creation: Creation,

    #[command(flatten)]
    telling: Telling,

    #[command(flatten)]
    reporting: Reporting,

    #[command(flatten)]
    stages: Stages,

    #[command(flatten)]
    words: Words,
}

impl Making {
    /// Makes an image of an input and says what was made; `more` adds what one command alone asks.
    pub fn run(self, input: Input, more: impl FnOnce(&mut BuildRequest)) -> Result<ExitCode> {
        let (words, verbose) = (self.words, self.stages.verbose);
        let from_here = input.paths().iter().any(|path| path.as_os_str() == "-");
        if from_here && std::io::stdin().is_terminal() {
            let what = "standard input is a terminal: name what to pack, or let a pipe bring it";
            return Err(Error::invalid(what));
        }
        let destination = self.target.destination(words)?;
        let mut request = request(input, destination, &self.jobs);
        let prints_digest = self.packing.prints_digest();
        self.packing.ask(&mut request)?;
        self.choosing.ask(&mut request)?;
        self.attributes.ask(&mut request)?;
        self.creation.ask(&mut request)?;
        self.telling.ask(&mut request);
        more(&mut request);
        if prints_digest {
            may_print_digest(&request, words)?;
        }
        let reporting = self.reporting.begin(&request)?;
        let display = Display::start(words.show());
        let report = sinterfs::build(&request, display.observer())?;
        if let (true, Some(objects)) = (prints_digest, &report.objects) {
            text::print(&format!("{}\n", hex(&objects.digest)))?;
        }
        let (code, timings) = build_report::tell(&report, words, verbose, display)?;
        reporting.map_or(Ok(()), |reporting| reporting.write(&timings))?;
        Ok(code)
    }
}

/// Fails if there is no digest, or no place for it.
fn may_print_digest(request: &BuildRequest, words: Words) -> Result<()> {
    if words.json || request.destination == Destination::Stdout {
        return Err(Error::invalid(
            "--print-digest wants standard output for itself",
        ));
    }
    if !sinterfs::reports_digest(request) {
        return Err(Error::invalid(
            "--print-digest means nothing for images that are not of composefs",
        ));
    }
    Ok(())
}

/// Starts the request for an image of some input.
pub fn request(input: Input, destination: Destination, jobs: &Jobs) -> BuildRequest {
    BuildRequest {
        destination,
        threads: jobs.threads(),
        ..BuildRequest::of(input)
    }
}
