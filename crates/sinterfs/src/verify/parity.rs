//! Parity of images: a file beside an image from which damaged parts of it can be restored.
//!
//! In: an image of any format, as the bytes of its file. Out: its parity file, or what is damaged
//! of either. **Invariant:** a parity file from which a damaged image can be restored is not
//! replaced. Spec: `docs/formats/parity.md`.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sinterfs_block::{FileSource, ReadAt as _};
use sinterfs_model::{Error, Kind, Observer, Result};
use sinterfs_parity::{Examined, FoundRecord, ParityLayout, ParityRecord, encode, examine, find};
use sinterfs_platform::Scratch;
use sinterfs_platform::{Identity, files};

use super::seems_sound::seems_sound;
use crate::output::Output;
use crate::output::hidden_file::parent;

pub use sinterfs_parity::Damage;

/// An image and its parity, compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParityReport {
    /// Shards of the image, which are restored one by one.
    pub data_shards: u32,
    /// Shards of parity: how many of those of the image can be restored at most.
    pub parity_shards: u32,
    /// Bytes of a shard.
    pub shard_bytes: u64,
    /// What is wrong.
    pub damage: Damage,
    /// Whether everything can be restored.
    pub is_repairable: bool,
}

impl ParityReport {
    pub(super) fn new(examined: &Examined) -> Self {
        let layout = examined.layout();
        Self {
            data_shards: layout.data,
            parity_shards: layout.parity,
            shard_bytes: layout.shard,
            damage: examined.damage,
            is_repairable: examined.is_repairable(),
        }
    }

    /// Returns whether the image is not the one of which the parity was made.
    pub fn is_image_damaged(&self) -> bool {
        self.damage.data > 0 || self.damage.moved
    }

    /// Returns whether the parity file is not as it was written.
    pub fn is_parity_damaged(&self) -> bool {
        self.damage.parity > 0 || self.damage.tables > 0 || self.damage.record_moved
    }
}

/// Returns where the parity of an image is unless another file is named: `IMAGE.parity`.
pub fn parity_path(image: &Path) -> PathBuf {
    let mut path = OsString::from(image);
    path.push(".parity");
    path.into()
}

/// Writes the parity of an image: so many percent of its length. Returns the bytes written.
///
/// `Corrupt` if the parity that would be replaced can restore the image, which is damaged.
pub fn write_parity(
    image: &Path,
    to: &Path,
    percent: u8,
    replace: bool,
    threads: usize,
    observer: &dyn Observer,
) -> Result<u64> {
    let located = |error: Error| error.path(image);
    if replace && to.is_file() {
        may_replace(image, to, threads, observer)?;
    }
    let before = state(image)?;
    let source = FileSource::open(image)?;
    let layout = ParityLayout::new(source.len(), percent).map_err(located)?;
    let output = Output::create(to, replace)?;
    let record = encode(&source, layout, scratch(to).file()?, threads, observer);
    let record = record.map_err(located)?;
    write_record(&record, &output, to)?;
    if state(image)? != before {
        let changed = std::io::Error::other("another length, time or file");
        return Err(located(Error::io(
            "the file changed while it was read",
            changed,
        )));
    }
    output.commit()?;
    Ok(layout.record_len())
}

/// Returns what changes in most cases when a file is written or replaced; nothing for a device.
fn state(image: &Path) -> Result<Option<(Identity, u64, SystemTime)>> {
    let found = std::fs::metadata(image);
    let found = found.map_err(|error| Error::io("cannot stat", error).path(image))?;
    let time = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    if !found.is_file() {
        return Ok(None);
    }
    let identity = files::identity(image);
    let identity = identity.map_err(|error| Error::io("cannot stat", error).path(image))?;
    Ok(Some((identity, found.len(), time)))
}

/// Fails if a parity file is needed to restore its image.
fn may_replace(image: &Path, to: &Path, threads: usize, observer: &dyn Observer) -> Result<()> {
    let found = match check_parity(image, to, threads, observer) {
        Ok(found) => found,
        Err(error) if error.kind() == Kind::Cancelled => return Err(error),
        // no parity, or none that is of use
        Err(_) => return Ok(()),
    };
    let is_of_use = found.is_repairable && found.is_image_damaged();
    if is_of_use && !seems_sound(image, to, threads, observer)? {
        let what = "the image seems to be damaged, and this parity can restore it: repair the \
                    image, or remove the parity to give that up";
        return Err(Error::corrupt(what).path(to));
    }
    Ok(())
}

/// Compares an image with its parity.
pub fn check_parity(
    image: &Path,
    parity: &Path,
    threads: usize,
    observer: &dyn Observer,
) -> Result<ParityReport> {
    let sources = Sources::open(image, parity)?;
    Ok(ParityReport::new(&sources.examine(threads, observer)?))
}

/// An image and its parity file.
pub(super) struct Sources {
    pub(super) image: FileSource,
    pub(super) parity: FileSource,
    found: FoundRecord,
}

impl Sources {
    pub(super) fn open(image: &Path, parity: &Path) -> Result<Self> {
        let (image, source) = (FileSource::open(image)?, open_parity(parity)?);
        let found = find(&source)?;
        let found = found.ok_or_else(|| {
            Error::corrupt("no header of a parity file is intact here").path(parity)
        })?;
        Ok(Self {
            image,
            parity: source,
            found,
        })
    }

    pub(super) fn examine(&self, threads: usize, observer: &dyn Observer) -> Result<Examined> {
        examine(&self.image, &self.parity, self.found, threads, observer)
    }
}

fn open_parity(path: &Path) -> Result<FileSource> {
    FileSource::open(path).map_err(|error| match error.io_source() {
        Some(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            Error::not_found("no such parity file").path(path)
        }
        _ => error,
    })
}

/// Returns where scratch files go: beside the output, which has room for as much.
pub(super) fn scratch(output: &Path) -> Scratch {
    Scratch::new(parent(output).to_owned())
}

pub(super) fn write_record(record: &ParityRecord, output: &Output, path: &Path) -> Result<()> {
    let mut out = output.writer();
    record.for_each_part(|part| {
        let written = out.write_all(part);
        written.map_err(|error| Error::io("cannot write the parity", error).path(path))
    })
}
