//! Writes directory listings: sorted names in runs with headers, and an index for long listings.
//!
//! In: the positions of the names' inodes. Out: listings in a metadata stream, and the properties
//! that the directory's inode stores. **Invariant:** in a long listing a header begins at the first
//! entry boundary of each metadata block, and the index contains all of these headers. Format:
//! `docs/formats/squashfs.md`, "Directories".

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "`write` starts runs at existing links only, and names have at most 256 bytes"
)]

use sinterfs_model::{Error, NodeId, Result, Tree};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{I16, U16, U32};

use super::inodes::Positions;
use super::listing::{Listing, basic_type, block_position};
use super::numbering::Numbering;
use super::stream::MetadataStream;
use crate::layout::inode::InodeType;
use crate::layout::{
    DIRECTORY_SIZE_EXTRA, DIRENTS_PER_HEADER, DirectoryEntry, DirectoryHeader, METADATA_SIZE,
    NAME_MAX,
};

/// The sources of a listing.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListingSources<'a> {
    pub(super) tree: &'a Tree,
    pub(super) numbering: &'a Numbering,
    pub(super) positions: &'a Positions,
    pub(super) inodes: &'a MetadataStream<'a>,
}

impl Listing {
    /// Writes the listing of a directory; the inodes of all its names must have been written.
    pub(super) fn write(
        sources: ListingSources<'_>,
        dir: NodeId,
        stream: &mut MetadataStream<'_>,
    ) -> Result<Self> {
        let links = sources.tree.children(dir);
        let position = stream.position();
        let is_long = sources.least_len(dir)? > METADATA_SIZE as u64;
        let mut listing = Self {
            position,
            len: 0,
            index: Vec::new(),
        };
        let (mut at, mut begun) = (0, position / METADATA_SIZE as u64);
        while at < links.len() {
            let start = stream.position();
            let block = start / METADATA_SIZE as u64;
            if is_long && block > begun && listing.index.len() < usize::from(u16::MAX) {
                listing.index.push((offset(start - position)?, at));
                begun = block;
            }
            at += sources.run(dir, at, is_long, stream)?;
        }
        listing.len = offset(stream.position() - position)?;
        Ok(listing)
    }
}

/// Converts an offset in a listing. `Limit` if the listing is too long.
fn offset(offset: u64) -> Result<u32> {
    let fits = |offset: &u32| *offset <= u32::MAX - DIRECTORY_SIZE_EXTRA;
    let offset = u32::try_from(offset).ok().filter(fits);
    offset.ok_or_else(|| Error::limit("a directory of 4 GiB of names, which SquashFS cannot have"))
}

impl ListingSources<'_> {
    /// Returns the length of a listing without its headers.
    fn least_len(&self, dir: NodeId) -> Result<u64> {
        let mut len = 0;
        for link in self.tree.children(dir) {
            let name = self.tree.bytes(link.name);
            if name.is_empty() || name.len() > NAME_MAX {
                let error = Error::limit(format!(
                    "a name of {} bytes: SquashFS supports 1 to {NAME_MAX}",
                    name.len()
                ));
                let path = String::from_utf8_lossy(&self.tree.path(dir)).into_owned();
                return Err(error.path(path));
            }
            len += (size_of::<DirectoryEntry>() + name.len()) as u64;
        }
        Ok(len)
    }

    /// Writes a header and as many entries as it can cover; returns their number.
    fn run(
        &self,
        dir: NodeId,
        first: usize,
        is_long: bool,
        out: &mut MetadataStream<'_>,
    ) -> Result<usize> {
        let links = &self.tree.children(dir)[first..];
        let base = links
            .first()
            .map_or(0, |link| self.numbering.number(link.node));
        let start = out.position();
        let mut end = start + size_of::<DirectoryHeader>() as u64;
        let mut entries = Vec::new();
        let (mut count, mut block) = (0u32, 0);
        for link in links.iter().take(DIRENTS_PER_HEADER) {
            let inode = self.inodes.resolve(self.positions.of(link.node))?;
            let number = self.numbering.number(link.node);
            let delta = i16::try_from(i64::from(number) - i64::from(base));
            if count == 0 {
                block = inode.block();
            }
            let crossed = end / METADATA_SIZE as u64 != start / METADATA_SIZE as u64;
            let (Ok(delta), true) = (delta, inode.block() == block) else {
                break;
            };
            if count > 0 && is_long && crossed {
                break;
            }
            let name = self.tree.bytes(link.name);
            let entry = DirectoryEntry {
                inode_offset: U16::new(inode.offset()),
                inode_delta: I16::new(delta),
                kind: InodeType(U16::new(basic_type(&self.tree.node(link.node).content))),
                name_len: U16::new(name.len() as u16 - 1),
            };
            entries.extend_from_slice(entry.as_bytes());
            entries.extend_from_slice(name);
            end = start + (size_of::<DirectoryHeader>() + entries.len()) as u64;
            count += 1;
        }
        let header = DirectoryHeader {
            count: U32::new(count.saturating_sub(1)),
            inode_block: U32::new(block_position(block)?),
            inode_number: U32::new(base),
        };
        out.push(header.as_bytes())?;
        out.push(&entries)?;
        Ok(count as usize)
    }
}
