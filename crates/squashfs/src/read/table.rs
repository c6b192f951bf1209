//! Lookup tables: records of one size, found by index through a list of metadata blocks.
//!
//! In: the position of the list and the number of records. Out: single records.
//!
//! **Invariant:** the list is within the image and is loaded when the table is opened: 8 bytes per
//! 8 KiB of records. The records are read on demand.

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Limits, Result};

use super::fields::{FieldOrder, split};
use super::metadata::{MetaPosition, Metadata, Table};
use crate::layout::METADATA_SIZE;

/// A lookup table.
#[derive(Debug)]
pub(crate) struct LookupTable {
    table: Table,
    /// The positions of the table's metadata blocks.
    blocks: Vec<u64>,
    record: u64,
    count: u64,
}

/// The position and the sizes of a lookup table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableLayout {
    /// The position of the list of blocks in the image.
    pub(crate) at: u64,
    /// The width of positions in bytes: 4 before version 3, then 8.
    pub(crate) width: u64,
    /// The length of a record in bytes.
    pub(crate) record: u64,
    /// The number of records.
    pub(crate) count: u64,
}

impl LookupTable {
    /// Loads the list of a table's blocks.
    pub(crate) fn open(
        metadata: &Metadata,
        name: &'static str,
        list: TableLayout,
        limits: &Limits,
    ) -> Result<Self> {
        let table = Table::new(name, 0, metadata.source.len());
        let bytes = list.count.saturating_mul(list.record);
        let blocks = bytes.div_ceil(METADATA_SIZE as u64);
        let located = |error: Error| error.at(name, metadata.file_offset(list.at));
        if blocks > limits.sections {
            return Err(located(Error::limit(format!(
                "{blocks} blocks of a table exceed the limit of {}",
                limits.sections
            ))));
        }
        let stored = blocks.saturating_mul(list.width);
        let stored = metadata.source.read(list.at, stored).map_err(located)?;
        let narrow = |bytes: &[u8], order: FieldOrder| {
            let [position] = split(bytes, order, &[32]);
            position
        };
        let wide = |bytes: &[u8], order: FieldOrder| {
            let [position] = split(bytes, order, &[64]);
            position
        };
        let order = metadata.order;
        let blocks = match list.width {
            4 => stored.chunks_exact(4).map(|b| narrow(b, order)).collect(),
            _ => stored.chunks_exact(8).map(|b| wide(b, order)).collect(),
        };
        Ok(Self {
            table,
            blocks,
            record: list.record,
            count: list.count,
        })
    }

    /// Returns the number of records.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Reads the record with an index. `Corrupt` if there is none.
    pub(crate) fn get(&self, metadata: &Metadata, index: u64, buf: &mut [u8]) -> Result<()> {
        if index >= self.count {
            return Err(Error::corrupt(format!(
                "record {index} of {} in the {}",
                self.count, self.table.name
            )));
        }
        let at = index * self.record;
        let block = usize::try_from(at / METADATA_SIZE as u64).unwrap_or(usize::MAX);
        let position = self.blocks.get(block).copied().unwrap_or(u64::MAX);
        let place = MetaPosition {
            position,
            offset: u16::try_from(at % METADATA_SIZE as u64).unwrap_or(0),
        };
        metadata.read_from(self.table, place)?.fill(buf)
    }
}
