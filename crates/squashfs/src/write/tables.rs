//! Lookup tables: records in metadata blocks, and the positions of these blocks.
//!
//! In: records. Out: the blocks followed by the list of their positions.
//! Format: `docs/formats/squashfs.md`, "Tables".

use sinterfs_model::Result;

use super::stream::{Encoder, MetadataStream};

/// An encoded table.
#[derive(Debug)]
pub(super) struct Table {
    /// The bytes.
    pub(super) bytes: Vec<u8>,
    /// The offset of the list of positions in the bytes.
    pub(super) list: u64,
}

/// Encodes a table at position `at` of the image; `before_list` precedes the list.
pub(super) fn table<R: AsRef<[u8]>>(
    encoder: Encoder<'_>,
    records: impl Iterator<Item = R>,
    at: u64,
    before_list: &[u8],
) -> Result<Table> {
    let mut stream = MetadataStream::new(encoder);
    for record in records {
        stream.push(record.as_ref())?;
    }
    stream.end()?;
    let mut bytes = stream.take();
    let list = bytes.len() as u64;
    bytes.extend_from_slice(before_list);
    for start in stream.starts() {
        bytes.extend_from_slice(&(at + start).to_le_bytes());
    }
    Ok(Table { bytes, list })
}
