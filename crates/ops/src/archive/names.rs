//! The attributes of a name, read from the image and changed by the options.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::PoisonError;

use sinterfs_archive::{LinkTarget, Outgoing};
use sinterfs_model::{Error, FileType, Inode, Result, Times, Xattrs};

use super::job::ArchiveJob;
use super::options::ArchiveFormat;
use super::sequence::{Name, name_ref};
use crate::runs::{Run, runs};

/// A name with its attributes, as writers need them.
#[derive(Debug)]
pub(super) struct Known {
    path: Vec<u8>,
    pub(super) inode: Inode,
    target: Vec<u8>,
    /// Whether it is a further name, and the target the first.
    is_further: bool,
    xattrs: Xattrs,
    /// The data ranges of a file.
    pub(super) data: Vec<Range<u64>>,
    /// Whether the archive has a map of them.
    pub(super) is_mapped: bool,
    /// The leaf whose content follows.
    pub(super) content: Option<u32>,
}

impl Known {
    /// Lends it to a writer.
    pub(super) fn outgoing(&self) -> Outgoing<'_> {
        Outgoing {
            path: &self.path,
            inode: &self.inode,
            link: match (self.is_further, self.inode.kind) {
                (true, _) => LinkTarget::Hard(&self.target),
                (false, FileType::Symlink) => LinkTarget::Symbolic(&self.target),
                _ => LinkTarget::None,
            },
            xattrs: &self.xattrs,
            data: self.is_mapped.then_some(&self.data),
        }
    }
}

impl Known {
    /// Returns the bytes of holes that the archive has as zeros.
    pub(super) fn unmapped_holes(&self) -> u64 {
        if self.is_mapped || self.content.is_none() {
            return 0;
        }
        let held: u64 = self.data.iter().map(|run| run.end - run.start).sum();
        self.inode.size.saturating_sub(held)
    }
}

impl ArchiveJob<'_> {
    /// Reads the attributes of a name; `missing` are leaves whose first names are not in the
    /// archive.
    pub(super) fn know(&self, name: Name, missing: &HashSet<u32>) -> Result<Known> {
        let plan = &self.plan;
        let (item, first) = match name {
            Name::Dir(dir) | Name::Early(dir) => (plan.dir(dir), None),
            Name::Leaf(leaf) => (plan.leaf(leaf), None),
            Name::Alias(alias) => {
                let first = plan.alias(alias).first;
                (plan.leaf(first), Some(first))
            }
        };
        if first.is_some_and(|first| missing.contains(&first)) {
            let what = "the first name of this hard link is not in the archive";
            return Err(Error::not_found(what));
        }
        let inode = self.wanted(name, item.inode(self.image)?);
        // in cpio and mtree a further name is one like the first
        let is_further = first.is_some() && self.options.format == ArchiveFormat::Tar;
        let target = match item.kind {
            _ if is_further => self.path(Name::Leaf(first.unwrap_or(0))),
            FileType::Symlink => self.image.read_link(item.ino)?,
            _ => Vec::new(),
        };
        let xattrs = if self.options.xattrs && first.is_none() {
            self.image.xattrs(item.ino)?
        } else {
            Xattrs::new()
        };
        let content = match self.options.format {
            ArchiveFormat::Mtree => None,
            _ => self.sequence.content_of(plan, name),
        };
        let data = match content {
            Some(_) => self.data(&inode)?,
            None => Vec::new(),
        };
        let held: u64 = data.iter().map(|run| run.end - run.start).sum();
        let maps = self.options.sparse && self.options.format == ArchiveFormat::Tar;
        Ok(Known {
            path: self.path(name),
            is_mapped: maps && content.is_some() && held < inode.size,
            inode,
            target,
            is_further,
            xattrs,
            data,
            content,
        })
    }

    fn path(&self, name: Name) -> Vec<u8> {
        match name {
            Name::Dir(0) => Vec::new(),
            name => {
                let last = self.last_path.lock();
                let mut last = last.unwrap_or_else(PoisonError::into_inner);
                last.of(&self.plan, name_ref(&self.plan, name)).to_vec()
            }
        }
    }

    /// Applies the options to an inode.
    fn wanted(&self, name: Name, mut inode: Inode) -> Inode {
        if !self.options.owner {
            (inode.meta.uid, inode.meta.gid) = (0, 0);
        }
        if !self.options.times {
            inode.meta.times = Times::default();
        }
        inode.nlink = match name {
            Name::Dir(_) | Name::Early(_) => inode.nlink,
            Name::Leaf(leaf) => self.sequence.links(leaf),
            Name::Alias(alias) => self.sequence.links(self.plan.alias(alias).first),
        };
        inode
    }

    /// Finds the data ranges of a file.
    fn data(&self, inode: &Inode) -> Result<Vec<Range<u64>>> {
        let mut data = Vec::new();
        runs(self.image, inode.ino, 0..inode.size, &mut |run| {
            if let Run::Data(range) = run {
                data.push(range);
            }
            Ok(())
        })?;
        Ok(data)
    }
}
