//! Directories: reads their listings, sorted by name.
//!
//! In: the content of a directory. Out: its names.
//!
//! **Invariant:** names are unique, none is empty or has a `/` or NUL; others, and blocks that are
//! damaged, are left out and kept in `Ext::left_out`; `.` and `..` are apart.
//! Indexes of large directories look like unused entries and are not needed. Format:
//! `docs/formats/ext.md`, "Directories".

use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Ino, Kind, Result};

use super::listings::{ExtListing, ExtName};
use super::open::{Ext, located};
use crate::layout::{ExtInode, Incompat, InodeFlags, ROOT, part};

/// The bytes of an entry before its name.
const ENTRY_LEN: usize = 8;

/// The memory of a name in bytes, without its characters.
const NAME_MEMORY: u64 = 40;

impl Ext {
    /// Returns the names of a directory.
    pub(crate) fn listing(&self, number: u32, dir: &ExtInode) -> Result<Arc<ExtListing>> {
        if let Some(found) = self.listings.get(number) {
            return Ok(found);
        }
        let listing = self.read_listing(number, dir);
        let listing = Arc::new(listing.map_err(|error| located(error, number))?);
        self.listings.insert(number, &listing);
        Ok(listing)
    }

    fn read_listing(&self, number: u32, dir: &ExtInode) -> Result<ExtListing> {
        if dir.flags.has(InodeFlags::INLINE) {
            return self.inline_listing(number, dir);
        }
        let unit = u64::from(self.head.block_size);
        if dir.size > self.window.len() || !dir.size.is_multiple_of(unit) {
            let what = format!("a directory of {} bytes", dir.size);
            return Err(Error::corrupt(what));
        }
        let mut listing = ExtListing {
            names: Vec::new(),
            parent: ROOT,
            memory: 0,
        };
        let blocks = dir.size / unit;
        let mut block = vec![0; usize::try_from(unit).unwrap_or(0)];
        let (mut next, mut failed) = (0, Ok(()));
        self.runs(dir, 0..blocks, &mut |run| {
            if run.first != next {
                return ControlFlow::Break(());
            }
            next = blocks.min(run.first.saturating_add(run.count));
            for at in (run.stored..).take(usize::try_from(next - run.first).unwrap_or(0)) {
                failed = self
                    .window
                    .read_at(at.saturating_mul(unit), &mut block)
                    .and_then(|()| self.entries(&block, number, at, &mut listing));
                if failed.is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        failed?;
        if next < blocks {
            let what = format!("a directory without its block {next} of {blocks}");
            self.leave_out(number, u64::MAX, Error::corrupt(what))?;
        }
        self.sorted(number, listing)
    }

    /// Sorts a listing, of whose equal names the first one counts.
    fn sorted(&self, number: u32, mut listing: ExtListing) -> Result<ExtListing> {
        listing.names.sort_by(|a, b| a.name.cmp(&b.name));
        let mut twice = Vec::new();
        listing.names.dedup_by(|second, first| {
            let is_equal = second.name == first.name;
            if is_equal {
                twice.push(std::mem::take(&mut second.name));
            }
            is_equal
        });
        for (at, name) in (1 << 63..).zip(twice) {
            let name = String::from_utf8_lossy(&name);
            let what = format!("the name {name:?} occurs twice");
            self.leave_out(number, at, Error::corrupt(what))?;
        }
        Ok(listing)
    }

    /// Reads a directory in its inode: the number of its parent, and entries in both parts.
    fn inline_listing(&self, number: u32, dir: &ExtInode) -> Result<ExtListing> {
        let (first, more) = self.inline(number, dir)?;
        let (parent, entries) = first.split_at(size_of::<u32>());
        let mut listing = ExtListing {
            names: Vec::new(),
            parent: u32::from_le_bytes(part(parent, 0)),
            memory: 0,
        };
        self.entries(entries, number, 0, &mut listing)?;
        self.entries(&more, number, 1, &mut listing)?;
        self.sorted(number, listing)
    }

    /// Keeps the error of an entry or block of a directory; returns one that ends its listing.
    fn leave_out(&self, dir: u32, position: u64, error: Error) -> Result<()> {
        if error.kind() == Kind::Limit {
            return Err(error);
        }
        self.left_out.note(Ino(dir.into()), position, error)
    }

    /// Appends the entries of a block, which is at a position; the rest of a damaged one is left
    /// out.
    fn entries(
        &self,
        block: &[u8],
        dir: u32,
        position: u64,
        listing: &mut ExtListing,
    ) -> Result<()> {
        let position = (position & (u64::MAX >> 17)) << 16;
        let mut rest = block;
        while !rest.is_empty() {
            let position = position + (block.len() - rest.len()) as u64;
            let number = u32::from_le_bytes(part(rest, 0));
            let len = match u16::from_le_bytes(part(rest, 4)) {
                // of a block of 64 KiB
                0 | u16::MAX if block.len() == 1 << 16 => block.len(),
                len => usize::from(len),
            };
            let name_len = if self.head.incompat.has(Incompat::FILE_TYPES) {
                part::<1>(rest, 6).map(usize::from)[0]
            } else {
                usize::from(u16::from_le_bytes(part(rest, 6)))
            };
            let split = rest.split_at_checked(len).filter(|_| len >= ENTRY_LEN);
            let Some((entry, later)) = split else {
                let error = Error::corrupt(format!("an entry of {len} bytes"));
                return self.leave_out(dir, position, error);
            };
            rest = later;
            if number == 0 {
                continue;
            }
            let name = entry.get(ENTRY_LEN..).and_then(|name| name.get(..name_len));
            let Some(name) = name else {
                let error = Error::corrupt("a name past the end of its entry");
                self.leave_out(dir, position, error)?;
                continue;
            };
            match name {
                b"." if number == dir => {}
                b".." => listing.parent = number,
                name if matches!(name, b"" | b".") || name.contains(&b'/') || name.contains(&0) => {
                    let name = String::from_utf8_lossy(name);
                    let error = Error::corrupt(format!("the name {name:?}"));
                    self.leave_out(dir, position, error)?;
                }
                name => {
                    listing.memory += NAME_MEMORY + name.len() as u64;
                    if listing.memory > self.metadata_limit {
                        let what = "a directory takes more memory than metadata may take";
                        return Err(Error::limit(what));
                    }
                    listing.names.push(ExtName {
                        name: name.into(),
                        number,
                    });
                }
            }
        }
        Ok(())
    }
}
