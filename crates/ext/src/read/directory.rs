//! Directories: reads their listings, sorted by name.
//!
//! In: the content of a directory. Out: its names.
//!
//! **Invariant:** names are unique, none is empty or has a `/` or NUL; `.` and `..` are apart.
//! Indexes of large directories look like unused entries and are not needed. Format:
//! `docs/formats/ext.md`, "Directories".

use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use super::listings::{ExtListing, ExtName};
use super::open::{Ext, located};
use crate::layout::{ExtInode, Incompat, InodeFlags, ROOT, part};

/// The bytes of an entry before its name.
const ENTRY_LEN: usize = 8;

/// The memory of a name in bytes, without those of the name.
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
            return Err(Error::unsupported("a directory in its inode"));
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
                    .and_then(|()| self.entries(&block, number, &mut listing));
                if failed.is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        failed?;
        if next < blocks {
            let what = format!("a directory without its block {next} of {blocks}");
            return Err(Error::corrupt(what));
        }
        listing.names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut pairs = listing.names.iter().zip(listing.names.iter().skip(1));
        if let Some((twice, _)) = pairs.find(|(a, b)| a.name == b.name) {
            let name = String::from_utf8_lossy(&twice.name);
            return Err(Error::corrupt(format!("the name {name:?} occurs twice")));
        }
        Ok(listing)
    }

    /// Appends the entries of a block.
    fn entries(&self, block: &[u8], dir: u32, listing: &mut ExtListing) -> Result<()> {
        let mut rest = block;
        while !rest.is_empty() {
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
            let (entry, later) = rest
                .split_at_checked(len)
                .filter(|_| len >= ENTRY_LEN)
                .ok_or_else(|| Error::corrupt(format!("an entry of {len} bytes")))?;
            rest = later;
            if number == 0 {
                continue;
            }
            let name = entry.get(ENTRY_LEN..).and_then(|name| name.get(..name_len));
            let name = name.ok_or_else(|| Error::corrupt("a name past the end of its entry"))?;
            match name {
                b"." if number == dir => {}
                b".." => listing.parent = number,
                b"" | b"." => return Err(Error::corrupt(format!("the name {name:?}"))),
                name if name.contains(&b'/') || name.contains(&0) => {
                    return Err(Error::corrupt(format!("the name {name:?}")));
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
