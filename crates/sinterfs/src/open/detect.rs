//! Detects the kind of an input by its content, never by its name.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use sinterfs_model::{Error, Result};
use sinterfs_platform::{FileAt, files};
use sinterfs_source::{archive, manifest};

use crate::containers::named::{self, Named};
use crate::open::reader_options::refuse_all;
use crate::open_options::OpenOptions;
use crate::place::{self, TRANSPORT};

/// An empty tar is zeros up to this many bytes: GNU tar fills a record of 20 blocks.
const EMPTY_TAR: u64 = 1 << 20;

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Directory,
    /// A directory with images as OCI lays them out.
    Layout,
    /// An ordinary image of several layers in a registry.
    Registry,
    Archive,
    /// A list of files.
    Manifest,
    Image,
}

impl What {
    pub(crate) fn of(path: &Path, options: &OpenOptions) -> Result<Self> {
        if options.trust.is_some() {
            // nothing else has a digest to keep to: it is refused when it is opened
            return Ok(Self::Image);
        }
        if path.as_os_str() == "-" {
            return Ok(Self::Archive);
        }
        if Named::of(path).is_some() {
            return Ok(Self::Layout);
        }
        if place::is_url(path) {
            return Self::of_remote(path, options);
        }
        let failed = |error| Error::io("cannot read the source", error).path(path);
        let status = std::fs::metadata(path).map_err(failed)?;
        if status.is_dir() {
            return Ok(match named::layout(path) {
                Some(_) => Self::Layout,
                None => Self::Directory,
            });
        }
        if !(status.is_file() || files::is_block_device(&status)) {
            // nothing can be looked at twice in a pipe, as images are
            return Ok(Self::Archive);
        }
        if options
            .offset
            .or(options.partition.map(u64::from))
            .is_some()
        {
            return Ok(Self::Image);
        }
        let file = File::open(path).map_err(failed)?;
        let start = start(&file, archive::START as u64).map_err(failed)?;
        if archive::is_archive(&start) {
            return Ok(Self::Archive);
        }
        if manifest::is_mtree(&start) {
            return Ok(Self::Manifest);
        }
        let may_be_empty = (1024..=EMPTY_TAR).contains(&status.len())
            && status.len().is_multiple_of(archive::START as u64);
        if may_be_empty
            && is_zero(&start)
            && is_zero(&self::start(&file, EMPTY_TAR).map_err(failed)?)
        {
            return Ok(Self::Archive);
        }
        Ok(Self::Image)
    }
}

impl What {
    /// Fails if the options are some of images, and this is none.
    pub(crate) fn check(self, path: &Path, options: &OpenOptions) -> Result<()> {
        let what = self.other_than_image();
        let checked = what.map_or(Ok(()), |what| refuse_all(options, what));
        checked.map_err(|error| error.path(place::shown(path)))
    }

    /// Returns what a file is, with its article; `None` for an image.
    pub(crate) fn other_than_image(self) -> Option<&'static str> {
        Some(match self {
            Self::Directory => "a directory",
            Self::Layout => "a container image",
            Self::Registry => "a container image in a registry",
            Self::Archive => "an archive",
            Self::Manifest => "a list of files",
            Self::Image => return None,
        })
    }

    /// Distinguishes archives from images by the first bytes of a remote object.
    fn of_remote(path: &Path, options: &OpenOptions) -> Result<Self> {
        if options.offset.is_some() {
            return Ok(Self::Image);
        }
        if TRANSPORT.stores().container(path, None, options)?.is_some() {
            return Ok(Self::Registry);
        }
        let source = place::source(path, options)?;
        let start = source.read(0, source.len().min(archive::START as u64))?;
        if manifest::is_mtree(&start) {
            let what = "a list of files is read from a file: download it";
            return Err(Error::unsupported(what).path(place::shown(path)));
        }
        Ok(if archive::is_archive(&start) {
            Self::Archive
        } else {
            Self::Image
        })
    }
}

/// Reads the first bytes of a file.
fn start(file: &File, most: u64) -> std::io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    let len = match len {
        // a device has no length in its metadata
        0 => most,
        len => len.min(most),
    };
    let mut start = vec![0; usize::try_from(len).unwrap_or_default()];
    let mut done = 0;
    while let Some(rest) = start.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    start.truncate(done);
    Ok(start)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
