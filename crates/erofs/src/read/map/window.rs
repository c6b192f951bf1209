//! A small window of metadata that moves along a table, so that its records cost no read each.

use sinterfs_model::Result;

use crate::read::Erofs;
use crate::read::metadata::Spot;

/// How much is read ahead, in bytes.
const LEN: usize = 512;

/// Bytes of metadata around the last record.
#[derive(Debug)]
pub(super) struct Window {
    start: Spot,
    bytes: [u8; LEN],
    len: usize,
}

impl Window {
    /// Makes an empty window.
    pub(super) fn new(start: Spot) -> Self {
        Self {
            start,
            bytes: [0; LEN],
            len: 0,
        }
    }

    /// Returns a record of up to 32 bytes.
    pub(super) fn get(&mut self, image: &Erofs, spot: Spot, len: usize) -> Result<&[u8]> {
        if self.range(spot, len).is_none() {
            let left = image.area_len(spot.area).saturating_sub(spot.at);
            // at least the record, so that one past the end is told as such
            let wanted = usize::try_from(left).map_or(LEN, |left| left.clamp(len, LEN));
            self.len = 0;
            let bytes = self.bytes.split_at_mut(wanted).0;
            image.read_metadata(spot, bytes)?;
            (self.start, self.len) = (spot, wanted);
        }
        let range = self.range(spot, len).unwrap_or(0..0);
        Ok(self.bytes.get(range).unwrap_or_default())
    }

    fn range(&self, spot: Spot, len: usize) -> Option<std::ops::Range<usize>> {
        if spot.area != self.start.area {
            return None;
        }
        let skip = usize::try_from(spot.at.checked_sub(self.start.at)?).ok()?;
        let end = skip.checked_add(len)?;
        (end <= self.len).then_some(skip..end)
    }
}
