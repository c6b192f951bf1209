//! Parity of images: a file beside an image from which damaged parts of it can be restored.
//!
//! In: an image of any format, as the bytes of its file. Out: its parity file, what is damaged of
//! either, or both as they were. **Invariant:** a file is replaced only by one whose bytes were
//! compared with the checksums in the parity file. Spec: `docs/formats/parity.md`.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::{Error, Observer, Result};
use sinterfs_parity::{
    Examined, FoundRecord, ParityLayout, ParityRecord, encode, examine, find, restore,
};
use sinterfs_pipeline::Scratch;

use crate::write::hidden_file::parent;
use crate::write::output::Output;

pub use sinterfs_parity::Damage;

/// Bytes that are copied at once.
const STEP: u64 = 1 << 20;

/// An image and its parity, compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParityReport {
    /// Parts of the image that are restored one by one.
    pub parts: u32,
    /// How many of them can be restored at most.
    pub parity: u32,
    /// Bytes of a part.
    pub part_bytes: u64,
    /// What is wrong.
    pub damage: Damage,
    /// Whether everything can be restored.
    pub is_repairable: bool,
}

impl ParityReport {
    fn new(examined: &Examined) -> Self {
        let layout = examined.layout();
        Self {
            parts: layout.data,
            parity: layout.parity,
            part_bytes: layout.shard,
            damage: examined.damage,
            is_repairable: examined.is_repairable(),
        }
    }
}

/// Returns where the parity of an image is unless another file is named: `IMAGE.parity`.
pub fn parity_path(image: &Path) -> PathBuf {
    let mut path = OsString::from(image);
    path.push(".parity");
    path.into()
}

/// Writes the parity of an image: so many percent of its length. Returns the bytes written.
pub fn write_parity(
    image: &Path,
    to: &Path,
    percent: u8,
    replace: bool,
    threads: usize,
    observer: &dyn Observer,
) -> Result<u64> {
    let located = |error: Error| error.path(image);
    let source = FileSource::open(image)?;
    let layout = ParityLayout::new(source.len(), percent).map_err(located)?;
    let output = Output::create(to, replace)?;
    let record = encode(&source, layout, scratch(to).file()?, threads, observer);
    let record = record.map_err(located)?;
    write_record(&record, &output, to)?;
    output.commit()?;
    Ok(layout.record_len())
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

/// Restores an image, and its parity, as they were when the parity was made: in place, or the image
/// as a new file. `Corrupt` if more is damaged than can be restored; nothing is changed then.
///
/// The report is of what was found before.
pub fn repair(
    image: &Path,
    parity: &Path,
    new: Option<(&Path, bool)>,
    threads: usize,
    observer: &dyn Observer,
) -> Result<ParityReport> {
    let sources = Sources::open(image, parity)?;
    let examined = sources.examine(threads, observer)?;
    let report = ParityReport::new(&examined);
    if report.damage.is_none() && new.is_none() {
        return Ok(report);
    }
    let (to, replace) = new.unwrap_or((image, true));
    let output = Output::create(to, replace)?;
    let scratch = scratch(to);
    let (data, record) = restore(
        &sources.image,
        &sources.parity,
        &examined,
        || scratch.file(),
        threads,
        observer,
    )
    .map_err(|error| error.path(image))?;
    copy(&data, &output, to)?;
    if new.is_some() {
        output.commit()?;
        return Ok(report);
    }
    let second = Output::create(parity, true)?;
    write_record(&record, &second, parity)?;
    output.commit()?;
    second.commit()?;
    Ok(report)
}

/// An image and its parity file.
struct Sources {
    image: FileSource,
    parity: FileSource,
    found: FoundRecord,
}

impl Sources {
    fn open(image: &Path, parity: &Path) -> Result<Self> {
        let (image, source) = (FileSource::open(image)?, FileSource::open(parity)?);
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

    fn examine(&self, threads: usize, observer: &dyn Observer) -> Result<Examined> {
        examine(&self.image, &self.parity, self.found, threads, observer)
    }
}

/// Returns where scratch files go: beside the output, which has room for as much.
fn scratch(output: &Path) -> Scratch {
    Scratch::new(parent(output).to_owned())
}

fn write_record(record: &ParityRecord, output: &Output, path: &Path) -> Result<()> {
    let mut out = output.writer();
    record.for_each_part(|part| {
        let written = out.write_all(part);
        written.map_err(|error| Error::io("cannot write the parity", error).path(path))
    })
}

fn copy(data: &dyn ReadAt, output: &Output, path: &Path) -> Result<()> {
    let mut out = output.writer();
    let mut at = 0;
    while at < data.len() {
        let part = data.read(at, STEP.min(data.len() - at))?;
        let written = out.write_all(&part);
        written.map_err(|error| Error::io("cannot write the image", error).path(path))?;
        at += part.len() as u64;
    }
    Ok(())
}
