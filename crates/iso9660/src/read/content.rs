//! Content of files: extents, and bytes, of compressed files through the cache.
//!
//! In: an inode and a range of bytes. Out: extents, or bytes.

use std::ops::ControlFlow;

use sinterfs_block::cache::Opened;
use sinterfs_model::{Error, Extent, ExtentSource, Kind, Result};

use super::nodes::IsoNode;
use super::open::Iso9660;
use super::remembered::BlockShape;
use super::rock_ridge::ContentEncoding;
use super::sections::StoredContent;
use super::zisofs::{ZisofsBlock, ZisofsFile};

/// Blocks that are located together.
const TOGETHER: u64 = 1024;

/// The content of a file.
pub(super) enum FileContent<'a> {
    /// As it is stored.
    Plain(StoredContent<'a>),
    /// Compressed.
    Zisofs(ZisofsFile<'a>),
}

impl Iso9660 {
    /// Returns the stored content of a file.
    pub(crate) fn stored(&self, node: &IsoNode) -> StoredContent<'_> {
        StoredContent::new(&self.window, self.block_size(), self.nodes.sections(node))
    }

    /// Returns the content of the file with an index.
    pub(super) fn content(&self, index: u32, node: &IsoNode) -> Result<FileContent<'_>> {
        let stored = self.stored(node);
        let header = match self.nodes.extra(node).and_then(|extra| extra.encoding) {
            Some(ContentEncoding::Zisofs(header)) => Some(header),
            Some(ContentEncoding::UnknownZisofs) => {
                return Err(self.located(node, Error::unsupported("an unknown version of zisofs")));
            }
            Some(ContentEncoding::Sparse) => {
                return Err(self.located(node, Error::unsupported("a sparse file (SF)")));
            }
            None => match &self.magic {
                Some(magic) => magic.header(index as usize, &stored)?,
                None => None,
            },
        };
        Ok(match header {
            None => FileContent::Plain(stored),
            Some(header) => {
                let file = ZisofsFile::new(stored, header);
                FileContent::Zisofs(file.map_err(|error| self.located(node, error))?)
            }
        })
    }

    /// Returns the number of bytes of a file.
    pub(super) fn size_of(&self, index: u32, node: &IsoNode) -> Result<u64> {
        if node.extra.is_some() || self.magic.is_none() {
            return Ok(node.size);
        }
        // damage shows when it is read; all that is needed here is whether the file is compressed
        match self.content(index, node) {
            Ok(FileContent::Zisofs(file)) => Ok(file.header.size),
            Ok(FileContent::Plain(_)) => Ok(node.size),
            Err(error) if error.kind() == Kind::Corrupt => Ok(node.size),
            Err(error) => Err(error),
        }
    }

    /// Visits the extents of a file from the one at `from` on.
    pub(super) fn extents_of(
        &self,
        index: u32,
        node: &IsoNode,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let file = match self.content(index, node)? {
            FileContent::Plain(stored) => return plain_extents(&stored, from, visit),
            FileContent::Zisofs(file) => file,
        };
        let unit = file.header.block_size();
        let count = file.header.blocks();
        let mut first = (from / unit).min(count);
        let mut hole: Option<Extent> = None;
        while first < count {
            let end = count.min(first + TOGETHER);
            let blocks = file.locate(first..end);
            for (number, block) in (first..).zip(blocks.map_err(|e| self.located(node, e))?) {
                let (offset, len) = (number * unit, file.decoded_len(number));
                if block.len == 0 {
                    let open = hole.get_or_insert(Extent {
                        offset,
                        len: 0,
                        source: ExtentSource::Hole,
                    });
                    open.len += len;
                    continue;
                }
                if let Some(hole) = hole.take()
                    && visit(hole).is_break()
                {
                    return Ok(());
                }
                let source = ExtentSource::Block {
                    block: file.stored.locate(block.offset)?.0,
                    offset: 0,
                };
                if visit(Extent {
                    offset,
                    len,
                    source,
                })
                .is_break()
                {
                    return Ok(());
                }
            }
            first = end;
        }
        if let Some(hole) = hole {
            let _ = visit(hole);
        }
        Ok(())
    }

    /// Visits the stored blocks of a compressed file; none of other files.
    pub(super) fn blocks_of(
        &self,
        index: u32,
        node: &IsoNode,
        visit: &mut dyn FnMut(u64, ZisofsBlock, &'static str),
    ) -> Result<()> {
        let FileContent::Zisofs(file) = self.content(index, node)? else {
            return Ok(());
        };
        let count = file.header.blocks();
        let mut first = 0;
        while first < count {
            let end = count.min(first + TOGETHER);
            let blocks = file
                .locate(first..end)
                .map_err(|error| self.located(node, error))?;
            for block in blocks.into_iter().filter(|block| block.len > 0) {
                let position = file.stored.locate(block.offset)?.0;
                visit(position, block, file.header.algorithm.name());
            }
            first = end;
        }
        Ok(())
    }

    /// Reads bytes of a file from a position on, up to its end.
    pub(super) fn read_content(
        &self,
        index: u32,
        node: &IsoNode,
        position: u64,
        buf: &mut [u8],
    ) -> Result<usize> {
        let content = self.content(index, node)?;
        let size = match &content {
            FileContent::Plain(stored) => stored.len(),
            FileContent::Zisofs(file) => file.header.size,
        };
        let left = size.saturating_sub(position);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        let (wanted, _) = buf.split_at_mut(len);
        if wanted.is_empty() {
            return Ok(0);
        }
        match content {
            FileContent::Plain(stored) => stored.read(position, wanted)?,
            FileContent::Zisofs(file) => {
                let read = self.read_blocks(&file, position, wanted);
                read.map_err(|error| self.located(node, error))?;
            }
        }
        Ok(len)
    }

    fn read_blocks(&self, file: &ZisofsFile<'_>, position: u64, mut rest: &mut [u8]) -> Result<()> {
        let unit = file.header.block_size();
        let mut number = position / unit;
        let end = (position + rest.len() as u64).div_ceil(unit);
        let mut within = position % unit;
        while number < end {
            let stop = end.min(number + TOGETHER);
            for block in file.locate(number..stop)? {
                let whole = file.decoded_len(number);
                let now = usize::try_from(whole - within).unwrap_or(usize::MAX);
                let (target, later) = rest.split_at_mut(now.min(rest.len()));
                self.read_block(file, block, (whole, within), target)?;
                (rest, within) = (later, 0);
                number += 1;
            }
        }
        Ok(())
    }

    /// Reads a part of a block of `whole` decoded bytes.
    fn read_block(
        &self,
        file: &ZisofsFile<'_>,
        block: ZisofsBlock,
        (whole, within): (u64, u64),
        target: &mut [u8],
    ) -> Result<()> {
        if block.len == 0 {
            target.fill(0);
            return Ok(());
        }
        let at = file.stored.locate(block.offset)?.0;
        let shape = BlockShape {
            algorithm: file.header.algorithm,
            stored: block.len,
            decoded: whole,
        };
        if !self.shapes.is_same(at, shape) {
            let read = read_uncached(file, block, (whole, within), target);
            return read.map_err(|error| error.at("block", self.file_offset(at)));
        }
        let key = self.cache_key | u128::from(at);
        let open = || {
            let mut decoded = vec![0; usize::try_from(whole).unwrap_or(0)];
            file.decode(block, &mut decoded)?;
            Ok(Opened::Decoded(decoded))
        };
        let read = if target.len() as u64 == whole {
            let decode = |room: &mut [u8]| file.decode(block, room);
            self.cache.read_whole(key, target, open, decode)
        } else {
            self.cache.read(key, within, target, open)
        };
        read.map_err(|error: Error| error.at("block", self.file_offset(at)))
    }
}

/// Reads a part of a block of `whole` decoded bytes past the cache.
fn read_uncached(
    file: &ZisofsFile<'_>,
    block: ZisofsBlock,
    (whole, within): (u64, u64),
    target: &mut [u8],
) -> Result<()> {
    let mut decoded = vec![0; usize::try_from(whole).unwrap_or(0)];
    file.decode(block, &mut decoded)?;
    let start = usize::try_from(within).unwrap_or(usize::MAX);
    let part = decoded
        .get(start..)
        .and_then(|part| part.get(..target.len()));
    target.copy_from_slice(part.ok_or_else(|| Error::corrupt("a block that is too short"))?);
    Ok(())
}

fn plain_extents(
    stored: &StoredContent<'_>,
    from: u64,
    visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
) -> Result<()> {
    let mut offset = from;
    while offset < stored.len() {
        let (block, len) = stored.locate(offset)?;
        let source = ExtentSource::Block { block, offset: 0 };
        if visit(Extent {
            offset,
            len,
            source,
        })
        .is_break()
        {
            break;
        }
        offset += len;
    }
    Ok(())
}
