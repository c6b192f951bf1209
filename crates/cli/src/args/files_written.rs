//! `-info` and `-info-file` of mksquashfs: a list of what an image has, made when it is complete.
//!
//! **Invariant:** a list that cannot be written is reported before the image is written, and the
//! list replaces neither the image nor its sources.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use sinterfs::build::{BuildRequest, Destination, NewFile, is_same_file};
use sinterfs::{Error, OpenOptions, Result};

use crate::mksquashfs_info_lines;
use crate::standard_files;

/// The file of the list: not in the help.
#[derive(Debug, clap::Args)]
pub struct FilesWrittenArgs {
    /// Write a list of the files, as mksquashfs does; `-` is standard output.
    #[arg(
        long,
        hide = true,
        value_name = "FILE",
        overrides_with = "files_written"
    )]
    files_written: Option<PathBuf>,
}

/// A list to be written when the image is complete.
#[derive(Debug)]
pub struct PendingList {
    /// `None` for standard output.
    to: Option<NewFile>,
    image: PathBuf,
}

impl FilesWrittenArgs {
    /// Returns the list to write, if there is one; fails if it could not be written.
    pub fn begin(self, request: &BuildRequest) -> Result<Option<PendingList>> {
        let Some(to) = self.files_written else {
            return Ok(None);
        };
        let Destination::File { path, .. } = &request.destination else {
            let what = "the list of files needs an image in a file";
            return Err(Error::invalid(what));
        };
        let image = path.clone();
        if to.as_os_str() == "-" {
            return Ok(Some(PendingList { to: None, image }));
        }
        let mut others = std::iter::once(&*image).chain(request.input.paths());
        if others.any(|other| is_same_file(&to, other)) {
            let what = "the list would replace the image or its source";
            return Err(Error::invalid(what).path(to));
        }
        let to = Some(NewFile::create(&to, true)?);
        Ok(Some(PendingList { to, image }))
    }
}

impl PendingList {
    /// Writes the list.
    pub fn write(self) -> Result<()> {
        // found where it was written, after any header
        let opened = sinterfs::open_with(&self.image, &OpenOptions::default())?;
        let image = &**opened.raw();
        if let Some(file) = self.to {
            return file.fill(|out| mksquashfs_info_lines::write(image, out));
        }
        let mut out = BufWriter::new(standard_files::output());
        mksquashfs_info_lines::write(image, &mut out)?;
        let flushed = out.flush();
        flushed.map_err(|error| Error::io("cannot print the list", error))
    }
}
