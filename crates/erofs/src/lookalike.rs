//! An uncompressed EROFS image that is computed when it is read: a kernel mounts it to show an
//! image of any other format.
//!
//! In: an opened image of any format. Out: `Lookalike`, whose metadata is computed once and kept in
//! memory, and whose content is read from the image on demand.
//!
//! **Invariant:** a read returns all requested bytes or an error, since readers take missing bytes
//! for zeros. Attributes that EROFS cannot represent are counted, never dropped silently.
//!
//! Format: `docs/formats/erofs.md`, "Lookalikes".

#![expect(
    clippy::cast_possible_truncation,
    reason = "every region of the address space is limited before a value is stored"
)]

mod attributes;
mod content;
mod inodes;
mod listing;
mod pool;
mod regions;
mod scan;
mod space;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Backing, Error, FsInfo, Image, Loss, Result};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

pub use self::attributes::Shown;
use self::regions::{CONTENT, DIRECTORIES, INODES, XATTRS};
use self::scan::Scan;
use self::space::{Space, copy_from};
use crate::layout::{INODE_SLOT, MAGIC, SUPERBLOCK_OFFSET, Superblock, compat, incompat};
use crate::write::{BLOCK, BLOCK_BITS};

/// An image as EROFS. Threads may read it concurrently.
pub struct Lookalike {
    image: Arc<dyn Image>,
    first: Vec<u8>,
    inodes: Vec<u8>,
    xattrs: Vec<u8>,
    directories: Vec<u8>,
    content: Space,
    losses: Vec<Loss>,
}

impl fmt::Debug for Lookalike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookalike")
            .field("inodes", &self.inodes.len())
            .field("directories", &self.directories.len())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl Lookalike {
    /// Makes the metadata of a whole image.
    ///
    /// Memory: some 64 bytes for each inode, 12 for each name and the names, 24 for each file, the
    /// blocks of large directories; while it is made, 16 MiB of names and the names of one
    /// directory.
    ///
    /// # Errors
    ///
    /// Those of reading the image's metadata, `Corrupt` for directories that form a cycle, `Limit`
    /// for values beyond the limits of EROFS.
    pub fn new(image: Arc<dyn Image>, shown: Shown) -> Result<Self> {
        let mut made = Scan::new(&*image, shown).run()?;
        let first = first_block(image.info().totals, &made, shown.uuid)?;
        for part in [&mut made.inodes, &mut made.xattrs, &mut made.directories] {
            part.shrink_to_fit();
        }
        let losses = made.losses();
        Ok(Self {
            first,
            inodes: made.inodes,
            xattrs: made.xattrs,
            directories: made.directories,
            content: made.content,
            losses,
            image,
        })
    }

    /// Returns the losses: attributes of the image that are not shown.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Reads as much as one of the parts has from an offset on, at least a byte, and returns how
    /// much.
    fn read_part(&self, place: u64, buf: &mut [u8]) -> Result<usize> {
        let parts = [
            (&self.first, 0, INODES),
            (&self.inodes, INODES, XATTRS),
            (&self.xattrs, XATTRS, DIRECTORIES),
            (&self.directories, DIRECTORIES, CONTENT),
        ];
        let Some((part, start, end)) = parts.into_iter().find(|part| place < part.2) else {
            return self.content.read(&*self.image, place, buf);
        };
        let len = usize::try_from(end - place).map_or(buf.len(), |room| room.min(buf.len()));
        copy_from(part, place - start, buf.split_at_mut(len).0);
        Ok(len)
    }
}

impl Backing for Lookalike {
    fn size(&self) -> u64 {
        self.len()
    }

    fn metadata(&self) -> Vec<Range<u64>> {
        let inodes = INODES + self.inodes.len() as u64;
        let directories = DIRECTORIES..DIRECTORIES + self.directories.len() as u64;
        let xattrs = XATTRS..XATTRS + self.xattrs.len() as u64;
        let mut all = vec![0..inodes, directories, xattrs];
        all.retain(|range| !range.is_empty());
        all
    }

    fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.read_at(offset, buf)
    }
}

impl ReadAt for Lookalike {
    fn len(&self) -> u64 {
        self.content.end()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.len()) {
            return Err(Error::corrupt("a read past the end").at("lookalike", offset));
        }
        let (mut place, mut rest) = (offset, buf);
        while !rest.is_empty() {
            let count = self.read_part(place, rest)?;
            place += count as u64;
            rest = rest.split_at_mut(count).1;
        }
        Ok(())
    }
}

/// Makes the first block.
fn first_block(totals: FsInfo, made: &Scan<'_>, uuid: [u8; 16]) -> Result<Vec<u8>> {
    let number = |value: u64| u32::try_from(value).map(U32::new);
    let number = |value| number(value).map_err(|_| Error::limit("a part beyond 16 TiB"));
    let bytes = totals.bytes.unwrap_or(made.bytes);
    let mut raw = Superblock::new_zeroed();
    raw.magic = U32::new(MAGIC);
    raw.feature_compat = U32::new(compat::MTIME);
    raw.block_bits = BLOCK_BITS;
    raw.inodes = U64::new(made.count);
    raw.uuid = uuid;
    raw.xattr_block = number(XATTRS / BLOCK)?;
    let root = INODES / INODE_SLOT;
    // the fields that statfs(2) reports
    let blocks = bytes.div_ceil(BLOCK);
    let mut features = incompat::CHUNKED_FILE;
    if made.content.is_wide() {
        features |= incompat::BIT48;
        raw.root_nid = U64::new(root);
        raw.root_nid_or_blocks_high = U16::new((blocks >> 32) as u16);
        raw.blocks = U32::new(blocks as u32);
    } else {
        raw.root_nid_or_blocks_high = U16::new(root as u16);
        raw.blocks = U32::new(u32::try_from(blocks).unwrap_or(u32::MAX));
    }
    raw.feature_incompat = U32::new(features);
    let mut block = vec![0; SUPERBLOCK_OFFSET as usize];
    block.extend_from_slice(raw.as_bytes().split_at(Superblock::BASE).0);
    Ok(block)
}

#[cfg(test)]
mod tests;
