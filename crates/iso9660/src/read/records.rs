//! The records of a directory, one after the other.
//!
//! In: a range of the image. Out: records with their positions.
//!
//! **Invariant:** no record crosses the end of its sector; memory is bounded by one piece.

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Result};

use crate::layout::{DirectoryRecord, SECTOR};

/// Bytes that are read at once, a multiple of a sector.
const READ_LEN: u64 = 32 * SECTOR;

/// The least length of a record in bytes.
const MIN_RECORD_LEN: usize = DirectoryRecord::HEAD + 1;

/// Visits the records of a directory; `block` is the size of a logical block.
pub(super) fn for_each(
    window: &Window,
    (start, len): (u64, u64),
    block: u64,
    visit: &mut dyn FnMut(u64, &DirectoryRecord<'_>) -> Result<()>,
) -> Result<()> {
    let end = start.saturating_add(len);
    let mut at = start;
    while at < end {
        let stop = end.min((at / READ_LEN + 1) * READ_LEN);
        let bytes = window.read(at, stop - at)?;
        let mut rest: &[u8] = &bytes;
        while let Some(&len) = rest.first() {
            let position = stop - rest.len() as u64;
            if len == 0 {
                // the rest of a block is empty
                let skipped = usize::try_from(block - position % block);
                rest = skipped.map_or(&[][..], |skipped| rest.get(skipped..).unwrap_or_default());
                continue;
            }
            let located = |error: Error| error.at("directory record", window.start() + position);
            let room = SECTOR - position % SECTOR;
            let record = rest.split_at_checked(len.into());
            let record =
                record.filter(|_| u64::from(len) <= room && usize::from(len) >= MIN_RECORD_LEN);
            let decoded = record.and_then(|(record, _)| DirectoryRecord::decode(record));
            let (Some(decoded), Some((_, after))) = (decoded, record) else {
                let what = format!("a record of {len} bytes, {room} before the end of its sector");
                return Err(located(Error::corrupt(what)));
            };
            visit(position, &decoded).map_err(located)?;
            rest = after;
        }
        at = stop;
    }
    Ok(())
}

/// Reads the bytes of the record at a position.
pub(super) fn read(window: &Window, position: u64) -> Result<Vec<u8>> {
    let mut len = [0];
    window.read_at(position, &mut len)?;
    let [len] = len;
    Ok(window.read(position, len.into())?.to_vec())
}

/// Decodes the bytes of the record at a position.
pub(super) fn decode(bytes: &[u8]) -> Result<DirectoryRecord<'_>> {
    let record = DirectoryRecord::decode(bytes).filter(|_| bytes.len() >= MIN_RECORD_LEN);
    record.ok_or_else(|| Error::corrupt(format!("a record of {} bytes", bytes.len())))
}
