//! All inodes in the order of the inode table.
//!
//! In: an opened image. Out: each inode with its reference.
//!
//! **Invariant:** ends at the end of the table; the lists of inodes are skipped within the table.

use sinterfs_model::{Error, Ino, Result};

use super::inode;
use super::legacy;
use super::metadata::{MetaPosition, MetadataReader};
use super::open::Squashfs;
use super::record::{InodeBody, InodeRecord};
use crate::layout::{DirectoryIndex, MetaRef};

/// Iterates over all inodes.
pub(crate) struct InodeSequence<'a> {
    image: &'a Squashfs,
    reader: MetadataReader<'a>,
}

impl Squashfs {
    /// Iterates over all inodes in the order of the inode table.
    pub(crate) fn all_inodes(&self) -> Result<InodeSequence<'_>> {
        let place = MetaPosition {
            position: self.inodes().start,
            offset: 0,
        };
        Ok(InodeSequence {
            image: self,
            reader: self.metadata.read_from(self.inodes(), place)?,
        })
    }

    /// Returns the bytes of all files without holes: an upper bound of all decoded blocks, apart
    /// from unused space in fragment blocks.
    pub fn content_bytes(&self) -> Result<u64> {
        let mut total = 0u64;
        let mut inodes = self.all_inodes()?;
        while let Some((_, record)) = inodes.next()? {
            if let InodeBody::File(content) = record.body {
                total = total.saturating_add(content.size.saturating_sub(content.sparse));
            }
        }
        Ok(total)
    }
}

impl InodeSequence<'_> {
    /// Reads the next inode; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<(Ino, InodeRecord)>> {
        let Some(place) = self.reader.next_position()? else {
            return Ok(None);
        };
        let start = self.image.inodes().start;
        let block = place.position.saturating_sub(start);
        let ino = Ino(MetaRef::new(block, place.offset).0.get());
        let record = inode::read(&mut self.reader, self.image.superblock.major)?;
        self.skip_lists(&record)?;
        Ok(Some((ino, record)))
    }

    fn skip_lists(&mut self, record: &InodeRecord) -> Result<()> {
        let superblock = &self.image.superblock;
        match &record.body {
            InodeBody::File(content) => {
                let width = if superblock.major == 1 { 2 } else { 4 };
                let words = content.blocks(superblock.block_size);
                self.reader.skip(words.saturating_mul(width))
            }
            InodeBody::Directory(listing) => {
                for _ in 0..listing.index.0 {
                    self.skip_index_entry()?;
                }
                Ok(())
            }
            InodeBody::Symlink { .. } | InodeBody::Device(_) | InodeBody::Ipc => Ok(()),
        }
    }

    fn skip_index_entry(&mut self) -> Result<()> {
        let major = self.image.superblock.major;
        let name_len = match major {
            4 => {
                let entry: DirectoryIndex = self.reader.read()?;
                u64::from(entry.name_len.get()) + 1
            }
            _ => u64::from(legacy::index_entry(&mut self.reader, major)?.2),
        };
        if name_len > 256 {
            let error = Error::corrupt(format!("a name of {name_len} bytes is too long"));
            return Err(self.reader.locate(error));
        }
        self.reader.skip(name_len)
    }
}
