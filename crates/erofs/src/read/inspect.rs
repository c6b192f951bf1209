//! Additional access for checking and dumping, beyond `sinterfs_model::Image`: entries as they are
//! stored, inodes with all that belongs to them.
//!
//! **Invariant:** reads metadata only; content is not decoded.

use std::ops::ControlFlow;

use sinterfs_model::{Error, ExtentSource, FileType, Ino, Result};

use super::erofs::Erofs;
use super::map::{ContentLocation, Map, MappedExtent};
use super::node::ErofsInode;
use crate::layout::Algorithm;

/// An entry of a directory as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawEntry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) nid: u64,
    /// The file type, where the entry has one.
    pub(crate) kind: Option<FileType>,
}

/// The location of content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRun {
    /// Its number in extents.
    pub block: u64,
    /// Stored bytes.
    pub stored: u64,
    /// The algorithm; `None` for uncompressed content.
    pub algorithm: Option<Algorithm>,
}

/// The result of inspecting an inode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inspected {
    pub(crate) kind: FileType,
    pub(crate) nlink: u32,
}

impl Erofs {
    /// Visits all entries of a directory, `.` and `..` among them, but those that are damaged or
    /// not in order: with these it fails with `Corrupt` at the end.
    pub(crate) fn entries(&self, dir: u64, visit: &mut dyn FnMut(RawEntry<'_>)) -> Result<()> {
        let node = self.node(dir)?;
        if node.kind != FileType::Directory {
            return Err(Error::invalid(format!("inode {dir:#x} is not a directory")));
        }
        let (mut last, mut first) = (Vec::new(), None);
        for index in 0..self.dir_blocks(&node) {
            let mut note = |error: Error| {
                if !error.is_about_image() {
                    return Err(error);
                }
                first.get_or_insert(self.in_block(&node, index, error));
                Ok(())
            };
            let block = match self.dir_block(&node, index) {
                Ok(block) => block,
                Err(error) => {
                    note(error)?;
                    continue;
                }
            };
            for number in 0..block.len() {
                let entry = match block.entry(number) {
                    Ok(entry) if last.as_slice() < entry.name => entry,
                    Ok(_) => {
                        note(Error::corrupt("names are not in order"))?;
                        continue;
                    }
                    Err(error) => {
                        note(error)?;
                        continue;
                    }
                };
                last.clear();
                last.extend_from_slice(entry.name);
                visit(RawEntry {
                    name: entry.name,
                    nid: entry.nid,
                    kind: entry.file_type(),
                });
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Returns whether a directory may have no entry `.`.
    pub(crate) fn omits_dot(&self, dir: u64) -> bool {
        self.node(dir).is_ok_and(|node| node.dot_omitted)
    }

    /// Reads an inode, its extended attributes, and its whole map.
    pub(crate) fn inspect(&self, nid: u64) -> Result<Inspected> {
        let node = self.node(nid)?;
        self.xattrs_of(&node)?;
        self.runs(&node, &mut |_| ())?;
        Ok(Inspected {
            kind: node.kind,
            nlink: node.nlink,
        })
    }

    /// Visits where a file's content is stored, without holes and fragments.
    pub fn stored_runs(&self, file: Ino, visit: &mut dyn FnMut(StoredRun)) -> Result<()> {
        let node = self.node(file.0)?;
        self.pieces(&node, 0, &mut |extent, mapped| {
            let ExtentSource::Block { block, .. } = extent.source else {
                return ControlFlow::Continue(());
            };
            let (stored, algorithm) = match mapped.location {
                ContentLocation::Pcluster(cluster) => (cluster.stored, Some(cluster.algorithm)),
                _ => (mapped.len, None),
            };
            visit(StoredRun {
                block,
                stored,
                algorithm,
            });
            ControlFlow::Continue(())
        })
    }

    /// Visits the mapped extents of an inode.
    pub(crate) fn runs(
        &self,
        node: &ErofsInode,
        visit: &mut dyn FnMut(&MappedExtent),
    ) -> Result<()> {
        let has_content = matches!(
            node.kind,
            FileType::File | FileType::Directory | FileType::Symlink
        );
        if !has_content || node.size == 0 {
            return Ok(());
        }
        let mut map = Map::new(self, node)?;
        let mut at = 0;
        while at < node.size {
            let mapped = map.find(at)?;
            visit(&mapped);
            at = mapped.end();
        }
        Ok(())
    }
}
