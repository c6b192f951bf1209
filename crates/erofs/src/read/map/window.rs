//! A small window of metadata that moves along a table, so that its records cost no read each.

use sinterfs_model::Result;

use crate::read::erofs::Erofs;
use crate::read::meta_offset::MetaOffset;

/// The number of bytes that are read ahead.
const LEN: usize = 512;

/// Bytes of metadata around the last record.
#[derive(Debug)]
pub(super) struct TableWindow {
    start: MetaOffset,
    bytes: [u8; LEN],
    len: usize,
}

impl TableWindow {
    /// Makes an empty window.
    pub(super) fn new(start: MetaOffset) -> Self {
        Self {
            start,
            bytes: [0; LEN],
            len: 0,
        }
    }

    /// Returns a record of up to 32 bytes.
    pub(super) fn get(&mut self, image: &Erofs, meta: MetaOffset, len: usize) -> Result<&[u8]> {
        if self.range(meta, len).is_none() {
            let left = image.area_len(meta.area).saturating_sub(meta.at);
            // the record at least, so that one beyond the end is an error
            let wanted = usize::try_from(left).map_or(LEN, |left| left.clamp(len, LEN));
            self.len = 0;
            let bytes = self.bytes.split_at_mut(wanted).0;
            image.read_metadata(meta, bytes)?;
            (self.start, self.len) = (meta, wanted);
        }
        let range = self.range(meta, len).unwrap_or(0..0);
        Ok(self.bytes.get(range).unwrap_or_default())
    }

    fn range(&self, meta: MetaOffset, len: usize) -> Option<std::ops::Range<usize>> {
        if meta.area != self.start.area {
            return None;
        }
        let skip = usize::try_from(meta.at.checked_sub(self.start.at)?).ok()?;
        let end = skip.checked_add(len)?;
        (end <= self.len).then_some(skip..end)
    }
}
