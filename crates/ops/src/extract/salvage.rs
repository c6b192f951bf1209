//! Restores what can be read of a file of which parts are damaged.
//!
//! In: a range that could not be read as a whole. Out: its readable pages in the file, zeros in
//! place of the others, and a record of how much is lost. **Invariant:** only reads of the image
//! are forgiven, never writes.

use sinterfs_model::{Error, Inode, Kind, Result};

use super::job::{Extraction, LostBytes};
use super::lock::lock;
use super::target::NewFile;
use crate::plan::Item;

/// The smallest range that is read alone, in bytes: what a mount gives or refuses at once.
const PAGE: usize = 4096;

/// How many pages of a range are tried before all of it counts as lost: a block that cannot be
/// decoded may be large, and each attempt costs as much as the block is long.
const PROBES: usize = 16;

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
        let lost = self.pages(inode, at, part)?;
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

    /// Fills a buffer with the pages that can be read, and with zeros; returns how many bytes are
    /// lost.
    fn pages(&self, inode: &Inode, at: u64, part: &mut [u8]) -> Result<u64> {
        self.pause()?;
        let len = part.len();
        if len <= PAGE || self.is_lost(inode, at, part) {
            if self.reads(inode, at, part) {
                return Ok(0);
            }
            part.fill(0);
            return Ok(len as u64);
        }
        let (front, back) = part.split_at_mut((len / 2).next_multiple_of(PAGE).min(len));
        let middle = at.saturating_add(front.len() as u64);
        let mut lost = 0;
        for (at, half) in [(at, front), (middle, back)] {
            if !self.reads(inode, at, half) {
                lost += self.pages(inode, at, half)?;
            }
        }
        Ok(lost)
    }

    fn reads(&self, inode: &Inode, at: u64, part: &mut [u8]) -> bool {
        let read = self.image.read_at(inode.ino, at, part);
        part.is_empty() || read.is_ok_and(|count| count == part.len())
    }

    /// Returns whether none of some pages of a range can be read.
    fn is_lost(&self, inode: &Inode, at: u64, part: &mut [u8]) -> bool {
        let pages = part.len() / PAGE;
        let count = pages.min(PROBES);
        (0..count).all(|probe| {
            let page = match count {
                0 | 1 => 0,
                more => probe * (pages - 1) / (more - 1),
            };
            let start = page * PAGE;
            let Some(part) = part.get_mut(start..start + PAGE) else {
                return true;
            };
            !self.reads(inode, at.saturating_add(start as u64), part)
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
            self.observer.warn(&self.locate(error, item.spot));
            self.counts.add(|counts| counts.damaged += 1);
        }
    }
}
