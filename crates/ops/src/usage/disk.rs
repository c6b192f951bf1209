//! The sizes of directories, as du(1) shows them, with what they take in the image.
//!
//! Enters an image, and its stored blocks as far as the format knows them; leaves a row for each
//! requested directory, after the rows of its subdirectories. **Invariant:** an inode counts once,
//! where its first name is; the stored bytes of a block are divided among the files that refer to
//! it, so the rows of the directories of one level add up. Memory: as `usage`, 24 bytes per range
//! of content, and a path.

use std::collections::HashSet;

use sinterfs_model::{ExtentSource, Image, Ino, Result};

use super::blocks::BlockTable;
use super::shared::SharedRanges;
use crate::unread::Unread;

use super::{Met, ShowBlocks, each, extents};

/// Which rows are shown.
#[derive(Debug, Clone, Default)]
pub struct DuOptions {
    /// The directory to begin with; nothing means the root.
    pub starts: HashSet<Ino>,
    /// The number of directories between a start and the deepest rows.
    pub max_depth: Option<usize>,
    /// Whether files have rows, too.
    pub files: bool,
}

/// A directory or file with all below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DuRow {
    /// The path from the root; empty for the root.
    pub path: Vec<u8>,
    /// Regular files.
    pub files: u64,
    /// Their bytes, as users see them.
    pub apparent: u64,
    /// Their share of the stored blocks, in bytes.
    pub stored: u64,
    /// Bytes of their content that the image has once for several places, in these files or others.
    pub shared: u64,
}

impl DuRow {
    fn add(&mut self, other: &Self) {
        self.files = self.files.saturating_add(other.files);
        self.apparent = self.apparent.saturating_add(other.apparent);
        self.stored = self.stored.saturating_add(other.stored);
        self.shared = self.shared.saturating_add(other.shared);
    }
}

/// A directory on the way.
struct Open {
    /// Without its path.
    row: DuRow,
    /// The number of directories from a start on; `None` outside all of them.
    depth: Option<usize>,
}

/// Measures directories, and shows their rows in the order of the tree. Content is not read.
/// Unreadable entries are not counted, and go to `unread`.
pub fn disk_usage(
    image: &dyn Image,
    show: &ShowBlocks<'_>,
    options: &DuOptions,
    unread: &mut Unread,
    visit: &mut dyn FnMut(DuRow) -> Result<()>,
) -> Result<()> {
    let (mut blocks, mut ranges) = (BlockTable::default(), SharedRanges::default());
    show(None, &mut |block| blocks.add(block))?;
    let at_once = blocks.count() > 0;
    each(image, unread, &mut |met| {
        if let Met::File { ino, .. } = met {
            let here = extents(image, ino, &mut |source, len| {
                if let ExtentSource::Block { block, offset } = source {
                    blocks.refer(block, len);
                    ranges.add(block, offset, len);
                }
            })?;
            if here {
                show(Some(ino), &mut |block| blocks.add(block))?;
            }
        }
        Ok(())
    })?;
    if !at_once {
        blocks.remove_overlaps();
    }
    ranges.finish();
    let root = image.info().root;
    let everywhere = options.starts.is_empty() || options.starts.contains(&root);
    let mut rows = Rows {
        options,
        visit,
        open: vec![Open {
            row: DuRow::default(),
            depth: everywhere.then_some(0),
        }],
    };
    // the same is unreadable again
    each(image, &mut Unread::default(), &mut |met| {
        match met {
            Met::Directory { ino, .. } => rows.enter(ino),
            Met::Left { path, .. } => rows.leave(path)?,
            Met::Link | Met::Other => {}
            Met::File {
                path, ino, size, ..
            } => {
                let mut row = DuRow {
                    path: path.to_vec(),
                    files: 1,
                    apparent: size,
                    ..DuRow::default()
                };
                extents(image, ino, &mut |source, len| {
                    if let ExtentSource::Block { block, offset } = source {
                        row.stored = row.stored.saturating_add(blocks.share(block, len));
                        row.shared = row.shared.saturating_add(ranges.within(block, offset, len));
                    }
                })?;
                rows.file(row, ino)?;
            }
        }
        Ok(())
    })?;
    rows.leave(b"")
}

/// The rows on the way.
struct Rows<'a> {
    options: &'a DuOptions,
    visit: &'a mut dyn FnMut(DuRow) -> Result<()>,
    open: Vec<Open>,
}

impl Rows<'_> {
    /// Returns the depth of an entry of the innermost directory.
    fn depth(&self, ino: Ino) -> Option<usize> {
        match self.open.last().and_then(|open| open.depth) {
            Some(depth) => Some(depth + 1),
            None => self.options.starts.contains(&ino).then_some(0),
        }
    }

    fn is_shown(&self, depth: Option<usize>) -> bool {
        depth.is_some_and(|depth| self.options.max_depth.is_none_or(|max| depth <= max))
    }

    fn enter(&mut self, ino: Ino) {
        self.open.push(Open {
            row: DuRow::default(),
            depth: self.depth(ino),
        });
    }

    fn leave(&mut self, path: &[u8]) -> Result<()> {
        let Some(done) = self.open.pop() else {
            return Ok(());
        };
        if let Some(above) = self.open.last_mut() {
            above.row.add(&done.row);
        }
        if !self.is_shown(done.depth) {
            return Ok(());
        }
        (self.visit)(DuRow {
            path: path.to_vec(),
            ..done.row
        })
    }

    fn file(&mut self, row: DuRow, ino: Ino) -> Result<()> {
        let depth = self.depth(ino);
        if let Some(above) = self.open.last_mut() {
            above.row.add(&row);
        }
        let is_start = depth == Some(0);
        if self.is_shown(depth) && (self.options.files || is_start) {
            (self.visit)(row)?;
        }
        Ok(())
    }
}
