//! `--report` of the commands that make images: the page of `info --report`, with how long this run took.
//!
//! **Invariant:** what stands in the page's way is found before the image is made, and the page replaces neither the
//! image nor what it is made of.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use sinterfs::{BuildRequest, Destination, Error, NewFile, OpenOptions, Result, is_same_file};

use crate::page;
use crate::timings::Timings;

/// Where the page goes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct ReportArgs {
    /// Write a page for a browser about what takes the room in the image, as `sinter info --report`, and how long
    /// each stage took. --force replaces it, too.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// A page that will be written.
#[derive(Debug)]
pub struct PendingReport {
    to: NewFile,
    image: PathBuf,
    devices: Vec<PathBuf>,
}

impl ReportArgs {
    /// Looks whether the page that was asked for, if one was, can be written when there is an image.
    pub fn begin(self, request: &BuildRequest) -> Result<Option<PendingReport>> {
        let Some(to) = self.report else {
            return Ok(None);
        };
        let Destination::File { path, replace } = &request.destination else {
            return Err(Error::invalid(
                "--report wants an image that can be read again; name a file by -o",
            ));
        };
        if to.as_os_str() == "-" {
            return Err(Error::invalid("--report of a new image wants a file"));
        }
        let devices: Vec<PathBuf> = request.blob_device.iter().cloned().collect();
        let made = std::iter::once(path).chain(&devices).map(PathBuf::as_path);
        let mut others = made.chain(request.input.paths());
        if others.any(|other| is_same_file(&to, other)) {
            let what = "the report would replace the image, or what it is made of";
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
    /// Writes the page about the image that is there now.
    pub fn write(self, timings: &Timings) -> Result<()> {
        let options = OpenOptions {
            devices: self.devices,
            ..OpenOptions::default()
        };
        let opened = sinterfs::open(&self.image, &options)?;
        let (details, usage) = (opened.details()?, opened.usage()?);
        let name = self.image.file_name().unwrap_or(self.image.as_os_str());
        let page = page::page(name.as_bytes(), &details, &usage, Some(timings));
        self.to.write(page.as_bytes())
    }
}
