//! What checking and dumping ask for beyond `sinterfs_model::Image`: entries as they are, inodes
//! with all that belongs to them.
//!
//! **Invariant:** looks at metadata only; content is not decoded.

use std::ops::ControlFlow;

use sinterfs_model::{Error, ExtentSource, FileType, Ino, Result};

use super::Erofs;
use super::config::Algorithm;
use super::inode::Node;
use super::map::{Map, Place, Run};

/// An entry of a directory as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawEntry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) nid: u64,
    /// The type, where the entry knows it.
    pub(crate) kind: Option<FileType>,
}

/// Where content of a file is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRun {
    /// Its number in extents.
    pub block: u64,
    /// Bytes in the image.
    pub stored: u64,
    /// What encoded it; `None` if it is as it was.
    pub algorithm: Option<Algorithm>,
}

/// What looking at an inode found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inspected {
    pub(crate) kind: FileType,
    pub(crate) nlink: u32,
}

impl Erofs {
    /// Shows all entries of a directory, `.` and `..` too. `Corrupt` where they are not in order.
    pub(crate) fn entries(&self, dir: u64, visit: &mut dyn FnMut(RawEntry<'_>)) -> Result<()> {
        let node = self.node(dir)?;
        if node.kind != FileType::Directory {
            return Err(Error::invalid(format!("inode {dir:#x} is not a directory")));
        }
        let mut last = Vec::new();
        for index in 0..self.dir_blocks(&node) {
            let block = self.dir_block(&node, index)?;
            let located = |error| self.in_block(&node, index, error);
            for number in 0..block.len() {
                let entry = block.entry(number).map_err(located)?;
                if last.as_slice() >= entry.name {
                    return Err(located(Error::corrupt("names are not in order")));
                }
                last.clear();
                last.extend_from_slice(entry.name);
                visit(RawEntry {
                    name: entry.name,
                    nid: entry.nid,
                    kind: entry.file_type(),
                });
            }
        }
        Ok(())
    }

    /// Returns whether a directory need not have an entry `.`.
    pub(crate) fn omits_dot(&self, dir: u64) -> bool {
        self.node(dir).is_ok_and(|node| node.dot_omitted)
    }

    /// Looks at an inode, its extended attributes, and where each part of its content is.
    pub(crate) fn inspect(&self, nid: u64) -> Result<Inspected> {
        let node = self.node(nid)?;
        self.xattrs_of(&node)?;
        self.runs(&node, &mut |_| ())?;
        Ok(Inspected {
            kind: node.kind,
            nlink: node.nlink,
        })
    }

    /// Shows where a file's content is stored, without holes and what other files hold.
    pub fn stored_runs(&self, file: Ino, visit: &mut dyn FnMut(StoredRun)) -> Result<()> {
        let node = self.node(file.0)?;
        self.pieces(&node, 0, &mut |extent, run| {
            let ExtentSource::Block { block, .. } = extent.source else {
                return ControlFlow::Continue(());
            };
            let (stored, algorithm) = match run.place {
                Place::Cluster(cluster) => (cluster.stored, Some(cluster.algorithm)),
                _ => (run.len, None),
            };
            visit(StoredRun {
                block,
                stored,
                algorithm,
            });
            ControlFlow::Continue(())
        })
    }

    /// Shows the runs of an inode's content.
    pub(crate) fn runs(&self, node: &Node, visit: &mut dyn FnMut(&Run)) -> Result<()> {
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
            let run = map.run_at(at)?;
            visit(&run);
            at = run.end();
        }
        Ok(())
    }
}
