//! The use of space in an image: stored bytes for directories, files, codecs, categories and kinds
//! of files.
//!
//! Enters: an image, and its stored blocks as far as the format knows them. Leaves: sums of bounded
//! number. **Invariant:** the stored bytes of a block are divided among the files that refer to it,
//! in proportion to the bytes that they refer to, without loss: all shares together are the block.
//! An inode counts once, where its first name is. Memory: some 100 bytes a stored block, 24 a range
//! of content between unused ones, and the inodes of several names.

mod blocks;
mod disk;
mod ranges;
mod shared;
mod sums;
mod tree;

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use sinterfs_model::{Error, ExtentSource, FileType, Image, Ino, Kind, Result};

use crate::unread::Unread;
use crate::walk::{Visit, WalkStep, walk};
use blocks::BlockTable;
pub use blocks::{Cell, StoredBlock};
pub use disk::{DuOptions, DuRow, disk_usage};
use ranges::Ranges;
pub use sums::Sum;
use sums::largest_first;
use tree::Growing;
pub use tree::{UsageKind, UsageNode};

/// Shows the stored blocks of an image: for `None` all, for a file those that it refers to; a
/// format does one of the two, or neither if it does not know them.
pub type ShowBlocks<'a> = dyn Fn(Option<Ino>, &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> + 'a;

/// How many files `Usage::largest` holds.
const LARGEST: usize = 40;

/// The most kinds of files that are distinguished.
const KINDS: usize = 2000;

/// The use of space in an image.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Usage {
    /// Regular files, each once.
    pub files: u64,
    /// Directories, the root too.
    pub directories: u64,
    /// Everything else.
    pub others: u64,
    /// Further names of files.
    pub hard_links: u64,
    /// Files whose content is not in the image.
    pub elsewhere: u64,
    /// Bytes of the files.
    pub file_bytes: u64,
    /// Of them those in holes.
    pub hole_bytes: u64,
    /// Of them the distinct ones: equal ranges count once.
    pub distinct_bytes: u64,
    /// Of them those in blocks whose stored form the format does not know.
    pub unknown_bytes: u64,
    /// Stored blocks.
    pub blocks: u64,
    /// Bytes of these.
    pub block_bytes: u64,
    /// Bytes of those that no file refers to.
    pub unused_bytes: u64,
    /// Bytes of the image.
    pub image_bytes: u64,
    /// Sums for each codec, largest first.
    pub codecs: Vec<Sum>,
    /// Sums for each category, largest first.
    pub categories: Vec<Sum>,
    /// Sums for each kind of file by the end of its name, largest first.
    pub kinds: Vec<Sum>,
    /// The blocks in the order of the image, neighbours together where they are many.
    pub map: Vec<Cell>,
    /// The largest entries, as a tree.
    pub root: UsageNode,
    /// The largest files, with their paths.
    pub largest: Vec<UsageNode>,
}

/// Measures the use of space in an image. Content is not read. What cannot be read does not count,
/// and goes to `unread`.
pub fn usage(image: &dyn Image, show: &ShowBlocks<'_>, unread: &mut Unread) -> Result<Usage> {
    let mut blocks = BlockTable::default();
    show(None, &mut |block| blocks.add(block))?;
    let at_once = blocks.count() > 0;
    let mut counted = Counted::default();
    each(image, unread, &mut |met| {
        counted.first(image, &mut blocks, show, &met)
    })?;
    let overlap = if at_once { 0 } else { blocks.remove_overlaps() };
    let all = image.info().totals.stored.max(blocks.stored());
    let mut shared = Shares::new(all);
    // the same is unreadable again
    let again = &mut Unread::default();
    each(image, again, &mut |met| {
        shared.second(image, &mut blocks, &met)
    })?;
    let unused_bytes = blocks.unused();
    let (root, largest) = shared.tree.finish(&[
        (UsageKind::Unused, unused_bytes),
        (UsageKind::Metadata, all.saturating_sub(blocks.stored())),
    ]);
    Ok(Usage {
        files: counted.files,
        directories: counted.directories.saturating_add(1),
        others: counted.others,
        hard_links: counted.hard_links,
        elsewhere: counted.elsewhere,
        file_bytes: counted.bytes,
        hole_bytes: counted.holes,
        distinct_bytes: counted.ranges.finish().saturating_sub(overlap),
        unknown_bytes: blocks.unknown_bytes(),
        blocks: blocks.count(),
        block_bytes: blocks.stored(),
        unused_bytes,
        image_bytes: all,
        codecs: blocks.by_codec(),
        categories: blocks.by_category(),
        kinds: largest_first(shared.kinds.into_values().collect()),
        map: blocks.map(),
        root,
        largest,
    })
}

/// An event of a walk.
enum Met<'a> {
    Directory {
        path: &'a [u8],
        name: &'a [u8],
        ino: Ino,
        depth: usize,
    },
    Left(usize),
    File {
        path: &'a [u8],
        name: &'a [u8],
        ino: Ino,
        size: u64,
        depth: usize,
    },
    Link,
    Other,
}

/// Walks an image, and distinguishes further names of files from first ones.
fn each(
    image: &dyn Image,
    unread: &mut Unread,
    visit: &mut dyn FnMut(Met<'_>) -> Result<()>,
) -> Result<()> {
    let mut seen = HashSet::new();
    walk(image, image.info().root, &mut |met| {
        let (entry, depth) = match met {
            Visit::Broken(entry, error) => {
                unread.note(entry.path, error)?;
                return Ok(WalkStep::On);
            }
            Visit::Leave(entry) => return visit(Met::Left(entry.depth)).map(|()| WalkStep::On),
            Visit::Enter(entry) => (entry, entry.depth),
        };
        let inode = image.inode(entry.ino).map_err(Error::into_corrupt_entry);
        let Some(inode) = unread.settle(entry.path, inode)? else {
            return Ok(WalkStep::Over);
        };
        let visited = visit(match entry.kind {
            FileType::Directory => Met::Directory {
                path: entry.path,
                name: entry.name,
                ino: entry.ino,
                depth,
            },
            FileType::File => {
                if inode.nlink > 1 && !seen.insert(entry.ino) {
                    Met::Link
                } else {
                    Met::File {
                        path: entry.path,
                        name: entry.name,
                        ino: entry.ino,
                        size: inode.size,
                        depth,
                    }
                }
            }
            _ => Met::Other,
        });
        unread.settle(entry.path, visited)?;
        Ok(WalkStep::On)
    })
}

/// The results of the first walk.
#[derive(Default)]
struct Counted {
    files: u64,
    directories: u64,
    others: u64,
    hard_links: u64,
    elsewhere: u64,
    bytes: u64,
    holes: u64,
    ranges: Ranges,
}

impl Counted {
    fn first(
        &mut self,
        image: &dyn Image,
        blocks: &mut BlockTable,
        show: &ShowBlocks<'_>,
        met: &Met<'_>,
    ) -> Result<()> {
        match *met {
            Met::Directory { .. } => self.directories += 1,
            Met::Left(_) => {}
            Met::Link => self.hard_links += 1,
            Met::Other => self.others += 1,
            Met::File { ino, size, .. } => {
                self.files += 1;
                self.bytes = self.bytes.saturating_add(size);
                let here = extents(image, ino, &mut |source, len| match source {
                    ExtentSource::Hole => self.holes = self.holes.saturating_add(len),
                    ExtentSource::Block { block, offset } => {
                        blocks.refer(block, len);
                        self.ranges.add(block, offset, len);
                    }
                })?;
                if here {
                    show(Some(ino), &mut |block| blocks.add(block))?;
                } else {
                    self.elsewhere += 1;
                }
            }
        }
        Ok(())
    }
}

/// The results of the second walk.
struct Shares {
    tree: Growing,
    kinds: BTreeMap<Vec<u8>, Sum>,
}

impl Shares {
    fn new(all: u64) -> Self {
        Self {
            tree: Growing::new(all, LARGEST),
            kinds: BTreeMap::new(),
        }
    }

    fn second(&mut self, image: &dyn Image, blocks: &mut BlockTable, met: &Met<'_>) -> Result<()> {
        match *met {
            Met::Directory { name, depth, .. } => self.tree.enter(name, depth),
            Met::Left(depth) => self.tree.leave(depth),
            Met::Link | Met::Other => {}
            Met::File {
                path,
                name,
                ino,
                size,
                depth,
            } => {
                let mut stored = 0_u64;
                extents(image, ino, &mut |source, len| {
                    if let ExtentSource::Block { block, .. } = source {
                        stored = stored.saturating_add(blocks.share(block, len));
                    }
                })?;
                self.tree.file(path, name, depth, size, stored);
                let kind = kind_of(name);
                let known = self.kinds.contains_key(kind) || self.kinds.len() < KINDS;
                let kind = if known { kind } else { b"" };
                let sum = self.kinds.entry(kind.to_vec()).or_default();
                sum.name = kind.to_vec();
                sum.add(1, stored, size);
            }
        }
        Ok(())
    }
}

/// Shows where a file's content is; `false` if it is not in the image.
fn extents(image: &dyn Image, ino: Ino, visit: &mut dyn FnMut(ExtentSource, u64)) -> Result<bool> {
    let shown = image.extents(ino, 0, &mut |extent| {
        visit(extent.source, extent.len);
        ControlFlow::Continue(())
    });
    match shown {
        Err(error) if error.kind() == Kind::Unsupported => Ok(false),
        shown => shown.map(|()| true),
    }
}

/// Returns the extension of a file name, if it is short and not a number.
fn kind_of(name: &[u8]) -> &[u8] {
    let Some(dot) = name
        .iter()
        .rposition(|byte| *byte == b'.')
        .filter(|dot| *dot > 0)
    else {
        return b"";
    };
    let end = name.get(dot + 1..).unwrap_or_default();
    let letters = end.iter().all(u8::is_ascii_alphanumeric);
    let number = end.iter().all(u8::is_ascii_digit);
    if letters && !number && end.len() <= 10 {
        end
    } else {
        b""
    }
}
