//! Files to an image, byte for byte as mkcomposefs writes it.
//!
//! In: files. Out: the header, the superblock, inodes, shared attributes, blocks of content.
//!
//! **Invariant:** the image depends only on the files and the versions; the content of objects is a
//! hole.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tables have one row for each inode of `Files`, which are fewer than 2^32"
)]

use std::io::Write;

use sinterfs_block::verity::{Verity, VerityDigest};
use sinterfs_model::{Error, FileType, Result};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

use super::files::{Body, Files, Inode};
use super::plan::{ImagePlan, chunk_bits, chunks};
use super::versions::Versions;
use crate::layout::{
    COMPOSEFS_MAGIC, ComposefsHeader, DataLayout, InodeCompact, InodeExtended, MAGIC,
    SUPERBLOCK_OFFSET, Superblock, XATTR_WORD, compat, format,
};
use crate::write::{BLOCK, BLOCK_BITS, BlockSize, directories, xattrs};

/// The result of writing an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The fs-verity digest of the image.
    pub digest: VerityDigest,
    /// Bytes of the image.
    pub bytes: u64,
    /// The version of the format.
    pub version: u32,
    /// Inodes, with the whiteouts that the format adds.
    pub inodes: u64,
}

/// Writes an image. Memory: 40 bytes an inode, and the attributes that several inodes have.
pub fn write(files: Files, versions: Versions, out: &mut dyn Write) -> Result<Written> {
    let versions = versions.check()?;
    let image = ImagePlan::new(files, versions)?;
    let mut out = Out {
        out,
        verity: Verity::default(),
        offset: 0,
    };
    image.write(&mut out)?;
    Ok(Written {
        bytes: out.offset,
        digest: out.verity.finish(),
        version: image.version,
        inodes: image.order.len() as u64,
    })
}

/// Takes bytes from front to back and hashes them.
struct Out<'a> {
    out: &'a mut dyn Write,
    verity: Verity,
    offset: u64,
}

impl Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.out.write_all(bytes);
        written.map_err(|error| Error::io("cannot write the image", error))?;
        self.verity.update(bytes);
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn fill_to(&mut self, offset: u64) -> Result<()> {
        const ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];
        while self.offset < offset {
            let count = (offset - self.offset).min(BLOCK) as usize;
            self.write(ZEROS.split_at(count).0)?;
        }
        Ok(())
    }
}

impl ImagePlan {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        let xattr_block = self.inodes_end / BLOCK;
        let first_xattr = (self.inodes_end % BLOCK / XATTR_WORD) as u32;
        let xattr_end = self.inodes_end + self.shared.bytes.len() as u64;
        let data_block = xattr_end.div_ceil(BLOCK);
        out.write(self.header().as_bytes())?;
        out.fill_to(SUPERBLOCK_OFFSET)?;
        let superblock = self.superblock(xattr_block, data_block + self.blocks)?;
        let base = superblock.as_bytes().split_at(Superblock::BASE).0;
        out.write(base)?;
        for &inode in &self.order {
            out.fill_to(self.locations[inode as usize].at)?;
            self.write_inode(inode, data_block, first_xattr, out)?;
        }
        out.fill_to(self.inodes_end)?;
        out.write(&self.shared.bytes)?;
        out.fill_to(data_block * BLOCK)?;
        for &inode in &self.order {
            let location = self.locations[inode as usize];
            if location.blocks > 0 {
                let bytes = self.bytes(inode);
                let len = (location.blocks * BLOCK).min(bytes.len() as u64) as usize;
                out.write(bytes.split_at(len).0)?;
                out.fill_to((data_block + location.block + location.blocks) * BLOCK)?;
            }
        }
        Ok(())
    }

    fn header(&self) -> ComposefsHeader {
        ComposefsHeader {
            magic: U32::new(COMPOSEFS_MAGIC),
            header_version: U32::new(1),
            flags: U32::new(u32::from(self.has_acls)),
            version: U32::new(self.version),
            reserved: [0; 16],
        }
    }

    fn superblock(&self, xattr_block: u64, blocks: u64) -> Result<Superblock> {
        let number = |value: u64| {
            let number = u32::try_from(value).map(U32::new);
            number.map_err(|_| Error::limit("an image of 16 TiB or more"))
        };
        let mut raw = Superblock::new_zeroed();
        raw.magic = U32::new(MAGIC);
        raw.feature_compat = U32::new(compat::MTIME | compat::XATTR_FILTER);
        raw.block_bits = BLOCK_BITS;
        raw.root_nid_or_blocks_high = U16::new(self.nid(0) as u16);
        raw.inodes = U64::new(self.order.len() as u64);
        raw.epoch = U64::from_bytes(self.epoch.secs.to_le_bytes());
        raw.fixed_nanos = U32::new(self.epoch.nanos);
        raw.blocks = number(blocks)?;
        raw.xattr_block = number(xattr_block)?;
        Ok(raw)
    }

    /// Makes the content of an inode: names, a target, bytes, or the addresses of chunks, all of
    /// them holes.
    fn bytes(&self, inode: u32) -> Vec<u8> {
        let known = self.files.inode(inode);
        match (known.kind, &known.body) {
            (FileType::Directory, _) => self.directory(inode),
            (_, Body::Inline(bytes)) => bytes.to_vec(),
            (_, Body::Object { size, .. }) => {
                let len = 4 * chunks(*size);
                let len = match self.locations[inode as usize].blocks {
                    0 => len,
                    blocks => blocks * BLOCK,
                };
                vec![u8::MAX; len as usize]
            }
            (_, Body::None) => Vec::new(),
        }
    }

    fn directory(&self, dir: u32) -> Vec<u8> {
        let entries = self.entries(dir);
        let (mut rest, mut bytes) = (&entries[..], Vec::new());
        while !rest.is_empty() {
            let (block, after) =
                rest.split_at(directories::first_block(rest, BlockSize::default()).0);
            bytes.resize(bytes.len().next_multiple_of(BLOCK as usize), 0);
            directories::write_block(
                block,
                |&inode| (self.nid(inode), self.kind(inode)),
                &mut bytes,
            );
            rest = after;
        }
        bytes
    }

    fn write_inode(
        &self,
        inode: u32,
        data_block: u64,
        first_xattr: u32,
        out: &mut Out<'_>,
    ) -> Result<()> {
        let known = self.files.inode(inode);
        let location = self.locations[inode as usize];
        let (_, size) = self.content(inode);
        let links = self.links(inode);
        let xattrs = self.shared.inline(&self.attributes(inode), first_xattr);
        let layout = match known.body {
            Body::Object { .. } => DataLayout::Chunks,
            _ if location.tail > 0 => DataLayout::Inline,
            _ => DataLayout::Plain,
        };
        let start = match known.kind {
            FileType::CharDevice | FileType::BlockDevice => known.rdev,
            _ if layout == DataLayout::Chunks => chunk_bits(size),
            _ if location.blocks > 0 => u32::try_from(data_block + location.block)
                .map_err(|_| Error::limit("an image of 16 TiB or more"))?,
            _ => 0,
        };
        let head = Head {
            format: layout.format_bits(),
            xattr_count: U16::new(xattrs::count_field(xattrs.len() as u64)?),
            mode: U16::new(self.kind(inode).bits() as u16 | known.mode),
            size,
            start: U32::new(start),
            ino: U32::new(self.numbers[inode as usize]),
            links,
        };
        if self.is_compact(known, size, links) {
            out.write(head.compact(known).as_bytes())?;
        } else {
            out.write(head.extended(known).as_bytes())?;
        }
        out.write(&xattrs)?;
        if location.tail > 0 {
            let bytes = self.bytes(inode);
            let blocks = (location.blocks * BLOCK).min(bytes.len() as u64) as usize;
            out.write(bytes.split_at(blocks).1)?;
        }
        Ok(())
    }
}

/// The fields that both forms of an inode have.
struct Head {
    format: u16,
    xattr_count: U16,
    mode: U16,
    size: u64,
    start: U32,
    ino: U32,
    links: u32,
}

impl Head {
    fn compact(&self, inode: &Inode) -> InodeCompact {
        InodeCompact {
            format: U16::new(self.format),
            xattr_count: self.xattr_count,
            mode: self.mode,
            nlink: U16::new(self.links as u16),
            size: U32::new(self.size as u32),
            mtime: U32::new(0),
            start: self.start,
            ino: self.ino,
            uid: U16::new(inode.uid as u16),
            gid: U16::new(inode.gid as u16),
            reserved: U32::new(0),
        }
    }

    fn extended(&self, inode: &Inode) -> InodeExtended {
        InodeExtended {
            format: U16::new(self.format | format::EXTENDED),
            xattr_count: self.xattr_count,
            mode: self.mode,
            start_high: U16::new(0),
            size: U64::new(self.size),
            start: self.start,
            ino: self.ino,
            uid: U32::new(inode.uid),
            gid: U32::new(inode.gid),
            mtime: U64::from_bytes(inode.mtime.secs.to_le_bytes()),
            mtime_nanos: U32::new(inode.mtime.nanos),
            nlink: U32::new(self.links),
            reserved: [0; 16],
        }
    }
}
