//! The plan of an image before it is written: the order of inodes, shared attributes, offsets.
//!
//! In: files. Out: `ImagePlan`.
//!
//! **Invariant:** inodes are in breadth-first order from the root, by name within a directory, each
//! at its first name. Tables go by the inodes' indexes in `files`.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tables have one row for each inode of `Files`, which are fewer than 2^32"
)]

use sinterfs_model::{FileType, Result, Time};

use super::attributes::{Pairs, Role, SharedXattrs, XattrCounts, attributes};
use super::files::{Body, Files, Inode};
use super::inode_layout::{Content, InodeLayout, InodeLocation};
use super::versions::Versions;
use crate::layout::{
    INODE_SLOT, InodeCompact, InodeExtended, SUPERBLOCK_OFFSET, Superblock, chunk,
};
use crate::write::{BLOCK, BlockSize, directories, xattrs};

/// The permissions of the whiteouts that hide the directories of the store.
const STUB_MODE: u16 = 0o644;

/// The attribute of the root that these whiteouts have, too.
const STUB_XATTR: &[u8] = b"security.selinux";

/// All that is decided before the first byte is written.
pub(super) struct ImagePlan {
    pub(super) files: Files,
    /// The first of the whiteouts that hide the store.
    first_stub: u32,
    pub(super) version: u32,
    /// The order of inodes.
    pub(super) order: Vec<u32>,
    /// The place in that order.
    pub(super) numbers: Vec<u32>,
    parents: Vec<u32>,
    pub(super) locations: Vec<InodeLocation>,
    has_whiteouts: Vec<bool>,
    pub(super) shared: SharedXattrs,
    /// The earliest time, which compact inodes have.
    pub(super) epoch: Time,
    pub(super) has_acls: bool,
    /// The end of the last inode, where the shared attributes begin.
    pub(super) inodes_end: u64,
    pub(super) blocks: u64,
}

impl ImagePlan {
    pub(super) fn new(mut files: Files, versions: Versions) -> Result<Self> {
        let first_stub = files.inodes().len() as u32;
        add_stubs(&mut files)?;
        files.sort();
        let count = files.inodes().len();
        let times = files.inodes().iter().map(|inode| inode.mtime);
        let mut image = Self {
            epoch: times.min().unwrap_or_default(),
            files,
            first_stub,
            version: versions.min,
            order: Vec::with_capacity(count),
            numbers: vec![0; count],
            parents: vec![0; count],
            locations: vec![InodeLocation::default(); count],
            has_whiteouts: vec![false; count],
            shared: SharedXattrs::default(),
            has_acls: false,
            inodes_end: 0,
            blocks: 0,
        };
        image.put_in_order();
        if image.has_whiteouts.contains(&true) {
            image.version = versions.max;
        }
        image.share()?;
        image.place()?;
        Ok(image)
    }

    /// Numbers inodes level by level, and finds the directories that have whiteouts.
    fn put_in_order(&mut self) {
        self.order.push(0);
        let mut next = 0;
        while let Some(&dir) = self.order.get(next) {
            self.numbers[dir as usize] = next as u32;
            next += 1;
            for name in self.files.names(dir) {
                // further names of whiteouts do not count for the reference
                if name.own {
                    let is_whiteout = self.is_whiteout(name.inode);
                    self.has_whiteouts[dir as usize] |= is_whiteout;
                    self.parents[name.inode as usize] = dir;
                    self.order.push(name.inode);
                }
            }
        }
    }

    /// Returns a whiteout of the files from those that the format adds.
    fn is_whiteout(&self, inode: u32) -> bool {
        let known = self.files.inode(inode);
        inode < self.first_stub && known.kind == FileType::CharDevice && known.rdev == 0
    }

    /// Returns the type that an inode has in the image: whiteouts are escaped as files.
    pub(super) fn kind(&self, inode: u32) -> FileType {
        if self.is_whiteout(inode) {
            FileType::File
        } else {
            self.files.inode(inode).kind
        }
    }

    pub(super) fn attributes(&self, inode: u32) -> Pairs {
        let role = Role {
            is_root: inode == 0,
            is_whiteout: self.is_whiteout(inode),
            has_whiteouts: self.has_whiteouts[inode as usize],
            marks_opaque: self.version > 0,
        };
        attributes(&self.files, self.files.inode(inode), role)
    }

    fn share(&mut self) -> Result<()> {
        let mut counts = XattrCounts::default();
        for &inode in &self.order {
            let pairs = self.attributes(inode);
            let acl = |(name, _): &(Vec<u8>, Vec<u8>)| name.starts_with(b"system.posix_acl_");
            self.has_acls |= pairs.iter().any(acl);
            counts.add(&pairs);
        }
        let all = self.order.iter().map(|&inode| self.attributes(inode));
        self.shared = counts.share(all)?;
        Ok(())
    }

    fn place(&mut self) -> Result<()> {
        let mut layout = InodeLayout {
            end: SUPERBLOCK_OFFSET + Superblock::BASE as u64,
            blocks: 0,
        };
        for at in 0..self.order.len() {
            let inode = self.order[at];
            let xattrs = self.shared.inline(&self.attributes(inode), 0);
            xattrs::count_field(xattrs.len() as u64)?;
            let known = self.files.inode(inode);
            let (content, size) = self.content(inode);
            let own = if self.is_compact(known, size, self.links(inode)) {
                size_of::<InodeCompact>()
            } else {
                size_of::<InodeExtended>()
            };
            self.locations[inode as usize] = layout.next((own + xattrs.len()) as u64, content);
        }
        self.inodes_end = layout.end.next_multiple_of(INODE_SLOT);
        self.blocks = layout.blocks;
        Ok(())
    }

    /// Returns the space that an inode needs, and its size.
    pub(super) fn content(&self, inode: u32) -> (Content, u64) {
        let known = self.files.inode(inode);
        match (known.kind, &known.body) {
            (FileType::Directory, _) => {
                let content = self.directory_len(inode);
                let size = match content {
                    Content::Blocks { blocks, tail } => blocks * BLOCK + tail,
                    Content::Target(len) => len,
                };
                (content, size)
            }
            (FileType::Symlink, Body::Inline(target)) => {
                let len = target.len() as u64;
                (Content::Target(len), len)
            }
            (_, Body::Inline(content)) => {
                let len = content.len() as u64;
                (Content::cut(len), len)
            }
            (_, Body::Object { size, .. }) => {
                let tail = 4 * chunks(*size);
                (Content::Blocks { blocks: 0, tail }, *size)
            }
            (_, Body::None) => (Content::cut(0), 0),
        }
    }

    pub(super) fn is_compact(&self, inode: &Inode, size: u64, links: u32) -> bool {
        inode.mtime == self.epoch
            && inode.uid.max(inode.gid).max(links) <= u32::from(u16::MAX)
            && u32::try_from(size).is_ok()
    }

    pub(super) fn links(&self, inode: u32) -> u32 {
        let known = self.files.inode(inode);
        if known.kind != FileType::Directory {
            return known.nlink;
        }
        let names = self.files.names(inode).iter();
        let is_dir = |inode| self.files.inode(inode).kind == FileType::Directory;
        let dirs = names.filter(|name| is_dir(name.inode)).count();
        u32::try_from(dirs).unwrap_or(u32::MAX).saturating_add(2)
    }

    /// Lists the names of a directory with `.` and `..`.
    pub(super) fn entries(&self, dir: u32) -> Vec<(&[u8], u32)> {
        let names = self.files.names(dir).iter();
        let mut entries: Vec<(&[u8], u32)> = names.map(|name| (&*name.name, name.inode)).collect();
        entries.extend([(&b"."[..], dir), (b"..", self.parents[dir as usize])]);
        entries.sort_unstable();
        entries
    }

    fn directory_len(&self, dir: u32) -> Content {
        let entries = self.entries(dir);
        let (mut rest, mut full) = (&entries[..], 0);
        loop {
            let (count, used) = directories::first_block(rest, BlockSize::default());
            rest = rest.get(count..).unwrap_or_default();
            if rest.is_empty() {
                return match Content::cut(used) {
                    Content::Blocks { blocks, tail } => Content::Blocks {
                        blocks: full + blocks,
                        tail,
                    },
                    other @ Content::Target(_) => other,
                };
            }
            full += 1;
        }
    }

    pub(super) fn nid(&self, inode: u32) -> u64 {
        self.locations[inode as usize].at / INODE_SLOT
    }
}

/// Adds whiteouts for the names that the directories of a store have, where no file has them.
fn add_stubs(files: &mut Files) -> Result<()> {
    let root = files.inode(0).clone();
    let taken: Vec<Box<[u8]>> = files
        .names(0)
        .iter()
        .map(|name| name.name.clone())
        .collect();
    let pairs = files.xattrs().pairs(root.xattrs);
    let mut pairs: Vec<_> = pairs
        .filter(|(name, _)| *name == STUB_XATTR)
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect();
    let stub = Inode {
        kind: FileType::CharDevice,
        mode: STUB_MODE,
        nlink: 1,
        rdev: 0,
        xattrs: files.intern(&mut pairs)?,
        body: Body::None,
        ..root
    };
    for byte in 0..=u8::MAX {
        let name = format!("{byte:02x}");
        if !taken.iter().any(|taken| **taken == *name.as_bytes()) {
            files.add(0, name.as_bytes(), stub.clone())?;
        }
    }
    Ok(())
}

/// Returns how large the chunks of a file are, as a power of two of blocks: one chunk, if that can
/// be.
pub(super) fn chunk_bits(size: u64) -> u32 {
    let blocks = size.div_ceil(BLOCK).max(1);
    let bits = blocks.next_power_of_two().trailing_zeros();
    bits.min(u32::from(chunk::BITS_MASK))
}

pub(super) fn chunks(size: u64) -> u64 {
    size.div_ceil(BLOCK << chunk_bits(size))
}
