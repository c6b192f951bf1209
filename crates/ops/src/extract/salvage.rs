//! Restores what can be read of a file of which parts are damaged.
//!
//! In: a range that could not be read as a whole. Out: its readable pages in the file, zeros in
//! place of the others, and a record of how much is lost. **Invariant:** only reads of the image
//! are forgiven, never writes; extents are tried one by one, so one that is lost costs no other.

use std::ops::ControlFlow;

use sinterfs_model::{Error, Inode, Kind, Result};

use super::job::{Extraction, LostBytes};
use super::lock::lock;
use super::new_file::NewFile;
use crate::plan::Item;

/// The smallest range that is read separately, in bytes: the unit that a mount returns or refuses.
const PAGE: usize = 4096;

/// The minimum number of pages of an extent that are tried before all of it counts as lost: a
/// damaged block may be large, and each attempt costs as much as decoding all of it.
const PROBES: usize = 16;

/// The largest distance between pages that are tried: the size of separately decoded units in
/// longer extents.
const DISTANCE: usize = 32 << 10;

impl Extraction<'_> {
    /// Restores what can be read of a range that failed with `error`; returns the error where
    /// nothing is to be salvaged.
    pub(crate) fn salvage(
        &self,
        new: &NewFile,
        inode: &Inode,
        (at, part): (u64, &mut [u8]),
        error: Error,
    ) -> Result<()> {
        if !self.options.salvage || error.kind() == Kind::Cancelled {
            return Err(error);
        }
        let lost = self.extents(inode, at, part)?;
        new.put(part, at)?;
        if lost > 0 {
            let mut losses = lock(&self.losses.0);
            let loss = losses.entry(inode.ino.0).or_insert(LostBytes {
                bytes: 0,
                first: error,
            });
            loss.bytes = loss.bytes.saturating_add(lost);
        }
        Ok(())
    }

    /// Fills a buffer with what can be read of the extents in its range, and with zeros; returns
    /// how many bytes are lost.
    fn extents(&self, inode: &Inode, at: u64, part: &mut [u8]) -> Result<u64> {
        let (mut lost, mut start, mut rest) = (0, at, part);
        for end in self.ends(inode, at, rest.len()) {
            let len = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
            let (extent, after) = rest.split_at_mut(len.min(rest.len()));
            if let Err(error) = self.read(inode, start, extent) {
                lost += self.pages(inode, start, extent, &error)?;
            }
            (start, rest) = (end, after);
        }
        Ok(lost)
    }

    /// Returns where extents in a range end. If they cannot be listed, the rest counts as one of
    /// them.
    fn ends(&self, inode: &Inode, at: u64, len: usize) -> Vec<u64> {
        let stop = at.saturating_add(len as u64);
        let mut ends: Vec<u64> = Vec::new();
        // the range is in memory, so its extents do not become more than its bytes
        let listed = self.image.extents(inode.ino, at, &mut |extent| {
            let end = extent.offset.saturating_add(extent.len);
            let last = ends.last().copied().unwrap_or(at);
            if extent.offset > last || end <= last || end >= stop {
                return ControlFlow::Break(());
            }
            ends.push(end);
            ControlFlow::Continue(())
        });
        // what was listed before an error is as good as any other division
        drop(listed);
        ends.push(stop);
        ends
    }

    /// Fills a buffer, of which a read failed with `error`, with the pages that can be read, and
    /// with zeros; returns how many bytes are lost.
    fn pages(&self, inode: &Inode, at: u64, part: &mut [u8], error: &Error) -> Result<u64> {
        self.pause()?;
        let len = part.len();
        // a sector that cannot be read says nothing of others; a block that cannot be decoded does
        let is_block = error.kind() != Kind::Io;
        if len <= PAGE || (is_block && self.is_lost(inode, at, part)) {
            part.fill(0);
            return Ok(len as u64);
        }
        let (front, back) = part.split_at_mut((len / 2).next_multiple_of(PAGE).min(len));
        let middle = at.saturating_add(front.len() as u64);
        let mut lost = 0;
        for (at, half) in [(at, front), (middle, back)] {
            if let Err(error) = self.read(inode, at, half) {
                lost += self.pages(inode, at, half, &error)?;
            }
        }
        Ok(lost)
    }

    fn read(&self, inode: &Inode, at: u64, part: &mut [u8]) -> Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        match self.image.read_at(inode.ino, at, part)? {
            count if count == part.len() => Ok(()),
            _ => Err(Error::corrupt("a file ends before its size")),
        }
    }

    /// Returns whether none of some pages of an extent can be read, the first and the last, which
    /// may be shorter, among them.
    fn is_lost(&self, inode: &Inode, at: u64, part: &mut [u8]) -> bool {
        let (len, pages) = (part.len(), part.len().div_ceil(PAGE));
        let count = len.div_ceil(DISTANCE).max(PROBES).min(pages);
        (0..count).all(|probe| {
            let start = PAGE * (probe * (pages - 1) / (count - 1).max(1));
            let Some(page) = part.get_mut(start..len.min(start + PAGE)) else {
                return true;
            };
            let at = at.saturating_add(start as u64);
            self.read(inode, at, page).is_err()
        })
    }

    /// Reports and counts a file of which something is lost.
    pub(crate) fn tell_losses(&self) {
        let losses = std::mem::take(&mut *lock(&self.losses.0));
        let damaged = |item: &&Item| losses.contains_key(&item.ino.0);
        for item in self.plan.leaves.iter().filter(damaged) {
            let Some(loss) = losses.get(&item.ino.0) else {
                continue;
            };
            let what = format!(
                "restored with zeros for {} bytes that cannot be read; the first: {}",
                loss.bytes, loss.first
            );
            let error = Error::corrupt(what);
            self.observer.warn(&self.locate(error, item.name_ref));
            self.counts.add(|counts| counts.damaged += 1);
        }
    }
}
