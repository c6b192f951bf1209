//! Writes an image through the pipeline: the flags that `build`, `convert` and `merge` share, and
//! the run.

use std::io::IsTerminal;
use std::process::ExitCode;

use sinterfs::build::{BuildRequest, Destination, FormatOptions, Input};
use sinterfs::verify::verity::hex;
use sinterfs::{Error, Result};

use super::parity;
use crate::args::attributes::{AttributeArgs, MetadataArgs, TimestampArgs};
use crate::args::files_written::{FilesWrittenArgs, PendingList};
use crate::args::filter::FilterArgs;
use crate::args::pack::{PackArgs, TargetArgs};
use crate::args::parity::{ParityArgs, PendingParity};
use crate::args::report::ReportArgs;
use crate::args::run::{JobsArgs, StageTimingArgs, VerbosityArgs};
use crate::build_report;
use crate::format_flags::{FormatArgs, GivenOption};
use crate::progress::Display;
use crate::text;

/// The flags of commands that write an image through the pipeline.
#[derive(Debug, clap::Args)]
pub struct MakeImageArgs {
    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    parity: ParityArgs,

    #[command(flatten)]
    pack: PackArgs,

    #[command(flatten)]
    formats: FormatArgs<true>,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    attributes: AttributeArgs,

    #[command(flatten)]
    timestamps: TimestampArgs,

    #[command(flatten)]
    metadata: MetadataArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    files_written: FilesWrittenArgs,

    #[command(flatten)]
    timing: StageTimingArgs,

    #[command(flatten)]
    verbosity: VerbosityArgs,
}

impl MakeImageArgs {
    /// Writes an image of an input and prints a summary; `more` sets options of one command,
    /// and of formats by their names.
    pub fn run(
        self,
        input: Input,
        more: impl FnOnce(&mut BuildRequest, &mut Vec<GivenOption>),
    ) -> Result<ExitCode> {
        let (verbosity, verbose) = (self.verbosity, self.timing.verbose);
        let reads_stdin = input.paths().iter().any(|path| path.as_os_str() == "-");
        if reads_stdin && std::io::stdin().is_terminal() {
            let what = "standard input is a terminal: name a source, or use a pipe";
            return Err(Error::invalid(what));
        }
        let destination = self.target.destination(verbosity)?;
        let mut request = new_request(input, destination, &self.jobs);
        let prints_digest = self.pack.prints_digest();
        let name = self.pack.format();
        let mut given = self.formats.given;
        self.pack.apply(&mut request, &mut given)?;
        self.filter.apply(&mut request)?;
        self.attributes.apply(&mut request)?;
        self.timestamps.apply(&mut request)?;
        self.metadata.apply(&mut request);
        more(&mut request, &mut given);
        let mut format =
            FormatOptions::for_output(name.as_deref(), request.destination.name().as_deref())?;
        given
            .iter()
            .try_for_each(|(name, value)| format.set(name, value))?;
        if prints_digest {
            check_digest_output(&request, &format, verbosity)?;
        }
        request.format = Some(format);
        let protecting = self
            .parity
            .begin(&request.destination, request.input.paths())?;
        request.former_parity = protecting.as_ref().map(PendingParity::path);
        let reporting = self.report.begin(&request)?;
        let listing = self.files_written.begin(&request)?;
        let display = Display::start(verbosity.show());
        let report = sinterfs::build::build(&request, display.observer())?;
        if let (true, Some(objects)) = (prints_digest, &report.objects) {
            text::print(&format!("{}\n", hex(&objects.digest)))?;
        }
        let protect = || match protecting {
            Some(pending) => pending.write(request.threads, verbosity).map(Some),
            None => {
                tell_former_parity(&request.destination, verbosity);
                Ok(None)
            }
        };
        let (code, timings) = build_report::print(&report, verbosity, verbose, display, protect)?;
        reporting.map_or(Ok(()), |reporting| reporting.write(&timings))?;
        listing.map_or(Ok(()), PendingList::write)?;
        Ok(code)
    }
}

/// Warns that the parity beside a new image belongs to the previous image.
pub fn tell_former_parity(destination: &Destination, verbosity: VerbosityArgs) {
    if let (Destination::File { path, .. }, false) = (destination, verbosity.quiet) {
        parity::tell_former(path);
    }
}

/// Fails if the image has no digest, or if standard output is used for something else.
fn check_digest_output(
    request: &BuildRequest,
    format: &FormatOptions,
    verbosity: VerbosityArgs,
) -> Result<()> {
    if verbosity.json || request.destination == Destination::Stdout {
        return Err(Error::invalid(
            "--print-digest needs standard output for itself",
        ));
    }
    if !format.reports_digest() {
        return Err(Error::invalid(
            "--print-digest applies only to composefs images",
        ));
    }
    Ok(())
}

/// Returns a request with the default options.
pub fn new_request(input: Input, destination: Destination, jobs: &JobsArgs) -> BuildRequest {
    BuildRequest {
        destination,
        threads: jobs.threads(),
        ..BuildRequest::from_input(input)
    }
}
