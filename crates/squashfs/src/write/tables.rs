//! Tables that are found by index: records in metadata blocks, and the positions of these blocks.
//!
//! In: records. Out: the blocks and the list of their positions, as they follow each other in an image.
//! Format: `docs/formats/squashfs.md`, "Tables".

use sinterfs_model::Result;

use super::stream::{Encoder, Stream};

/// A table that stands in an image.
#[derive(Debug)]
pub(super) struct Table {
    /// The bytes.
    pub(super) bytes: Vec<u8>,
    /// Where the list of positions begins among them.
    pub(super) list: u64,
}

/// Lays out a table whose first byte is at `at` in the image; `before_list` goes in front of the list.
pub(super) fn table<R: AsRef<[u8]>>(
    encoder: Encoder<'_>,
    records: impl Iterator<Item = R>,
    at: u64,
    before_list: &[u8],
) -> Result<Table> {
    let mut stream = Stream::new(encoder);
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
