//! `--report` of commands that write images: the page of `info --report`, with the time of each
//! stage.
//!
//! **Invariant:** a page that cannot be written is reported before the image is written, and the
//! page replaces neither the image nor its sources.

use std::path::PathBuf;

use sinterfs::build::{BuildRequest, Destination, FormatOptions, NewFile, is_same_file};
use sinterfs::ops::Unread;
use sinterfs::platform::names;
use sinterfs::{Error, OpenOptions, Result};

use crate::page;
use crate::timings::Timings;

/// The file of the page.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct ReportArgs {
    /// Write an HTML page about what takes up space in the image, as `sinter info --report` does,
    /// with the time of each stage. --force also replaces this file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// A page to be written when the image is complete.
#[derive(Debug)]
pub struct PendingReport {
    to: NewFile,
    image: PathBuf,
    devices: Vec<PathBuf>,
}

impl ReportArgs {
    /// Returns the page to write, if there is one; fails if it could not be written.
    pub fn begin(self, request: &BuildRequest) -> Result<Option<PendingReport>> {
        let Some(to) = self.report else {
            return Ok(None);
        };
        let Destination::File { path, replace } = &request.destination else {
            return Err(Error::invalid(
                "--report needs an image in a file; name one with -o",
            ));
        };
        if to.as_os_str() == "-" {
            return Err(Error::invalid("--report of a new image needs a file"));
        }
        let device = request.format.as_ref().and_then(FormatOptions::device);
        let devices: Vec<PathBuf> = device.map(PathBuf::from).into_iter().collect();
        let written = std::iter::once(path).chain(&devices).map(PathBuf::as_path);
        let mut others = written.chain(request.input.paths());
        if others.any(|other| is_same_file(&to, other)) {
            let what = "the report would replace the image or its source";
            return Err(Error::invalid(what).path(to));
        }
        Ok(Some(PendingReport {
            to: NewFile::create(&to, *replace)?,
            image: path.clone(),
            devices,
        }))
    }
}

impl PendingReport {
    /// Writes the page about the complete image.
    pub fn write(self, timings: &Timings) -> Result<()> {
        let options = OpenOptions {
            devices: self.devices,
            ..OpenOptions::default()
        };
        let opened = sinterfs::open_with(&self.image, &options)?;
        // the image was just written: what cannot be read of it is an error
        let mut unread = Unread::default();
        let (details, usage) = (opened.info()?, opened.usage(&mut unread)?);
        if let Some(error) = unread.into_errors().into_iter().next() {
            return Err(error);
        }
        let name = self.image.file_name().unwrap_or(self.image.as_os_str());
        let page = page::page(&names::bytes(name), &details, &usage, Some(timings));
        self.to.write(page.as_bytes())
    }
}
