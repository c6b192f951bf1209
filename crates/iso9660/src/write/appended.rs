//! Partitions appended to an image: separate file systems, which the partition table names.
//!
//! In: their bytes. Out: the same, from a sector on, and the entries of the table.
//!
//! **Invariant:** each has a unique number from 1 to 4, and at least one byte; copying uses a
//! bounded buffer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::{Error, Result};

use super::contents::ContentWriter;
use crate::layout::SECTOR;

/// The number of entries of a partition table.
pub(super) const ENTRIES: u8 = 4;

/// Bytes that are copied at a time.
const COPY_LEN: usize = 1 << 20;

/// A partition that follows the image.
#[derive(Clone)]
pub struct AppendedPartition {
    /// Its number in the table, from 1 on.
    pub number: u8,
    /// The type of its entry in an MBR.
    pub kind: u8,
    /// Its bytes.
    pub source: Arc<dyn ReadAt>,
}

impl FromStr for AppendedPartition {
    type Err = Error;

    /// Parses its number, its type, its file, which is opened: `2:0xef:FILE`.
    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.split_once(':').and_then(|(number, rest)| {
            let (kind, path) = rest.split_once(':')?;
            let kind = kind.strip_prefix("0x")?;
            let kind = u8::from_str_radix(kind, 16).ok()?;
            Some((number.parse().ok()?, kind, path))
        });
        let (number, kind, path) = parsed.ok_or_else(|| {
            Error::invalid(format!("append `{text}`: must be NUMBER:0xTYPE:FILE"))
        })?;
        Ok(Self {
            number,
            kind,
            source: Arc::new(FileSource::open(path)?),
        })
    }
}

impl fmt::Debug for AppendedPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppendedPartition")
            .field("number", &self.number)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// The place of such a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AppendedPlace {
    pub(super) number: u8,
    pub(super) kind: u8,
    /// The first sector, of 2048 bytes.
    pub(super) sector: u64,
    /// Sectors of 2048 bytes.
    pub(super) sectors: u64,
}

/// Fails with `Invalid` for numbers that a table does not have or has once; it has `others`
/// entries, too.
pub(super) fn check(partitions: &[AppendedPartition], others: usize) -> Result<()> {
    for (index, partition) in partitions.iter().enumerate() {
        let number = partition.number;
        if !(1..=ENTRIES).contains(&number) {
            let what = format!("partition {number}: must be from 1 to {ENTRIES}");
            return Err(Error::invalid(what));
        }
        let before = partitions.iter().take(index);
        if before.into_iter().any(|other| other.number == number) {
            return Err(Error::invalid(format!("there are two partitions {number}")));
        }
        if partition.source.is_empty() {
            return Err(Error::invalid(format!("partition {number} has no bytes")));
        }
    }
    if !partitions.is_empty() && partitions.len() + others > usize::from(ENTRIES) {
        let what = format!(
            "{} appended partitions and {others} of the image are more than \
             {ENTRIES}",
            partitions.len()
        );
        return Err(Error::invalid(what));
    }
    Ok(())
}

/// Writes partitions from the next sector on; returns their places.
pub(super) fn write(
    partitions: &[AppendedPartition],
    out: &mut ContentWriter,
) -> Result<Vec<AppendedPlace>> {
    let mut places = Vec::new();
    for partition in partitions {
        out.align()?;
        let len = partition.source.len();
        places.push(AppendedPlace {
            number: partition.number,
            kind: partition.kind,
            sector: out.at / SECTOR,
            sectors: len.div_ceil(SECTOR),
        });
        let (mut at, mut step) = (0, vec![0; COPY_LEN]);
        while at < len {
            let count = usize::try_from(len - at).map_or(COPY_LEN, |left| left.min(COPY_LEN));
            let bytes = step.get_mut(..count).unwrap_or_default();
            partition.source.read_at(at, bytes)?;
            out.write(bytes)?;
            at += count as u64;
        }
        out.align()?;
    }
    Ok(places)
}
