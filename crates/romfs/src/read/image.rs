//! `sinterfs_model::Image` for an opened romfs image.
//!
//! **Invariant:** the number of an inode is its index, from 1 on. Owners and times are zero;
//! permissions follow from the type and the executable bit.

use std::ops::ControlFlow;

use sinterfs_block::ReadAt;
use sinterfs_model::{
    Cursor, Dirent, Error, Extent, ExtentSource, FileType, Image, ImageInfo, Ino, Inode, Meta,
    Rdev, Result, Times,
};

use super::inodes::{NOTHING, RomfsNode};
use super::open::Romfs;

/// The longest target of a symlink in bytes.
const TARGET_MAX: u32 = 1 << 16;

impl Romfs {
    fn node(&self, ino: Ino) -> Result<&RomfsNode> {
        if ino == number(NOTHING) {
            let error = Error::corrupt("a hard link that stands for no file");
            return Err(error.within("file header"));
        }
        let index = ino
            .0
            .checked_sub(1)
            .and_then(|index| usize::try_from(index).ok());
        let node = index.and_then(|index| self.inodes.nodes.get(index));
        node.ok_or_else(|| Error::no_inode(ino.0))
    }

    fn node_of(&self, ino: Ino, kind: FileType, what: &str) -> Result<&RomfsNode> {
        let node = self.node(ino)?;
        if node.kind == kind {
            return Ok(node);
        }
        Err(Error::invalid(format!(
            "inode {:#x} is not a {what}",
            ino.0
        )))
    }

    /// Returns an inode of a type with content, which is within the image.
    fn content_of(&self, ino: Ino, kind: FileType, what: &str) -> Result<&RomfsNode> {
        let node = self.node_of(ino, kind, what)?;
        self.has_content(node).map(|()| node)
    }

    /// Fails if the content of an inode is not within the image.
    pub(crate) fn has_content(&self, node: &RomfsNode) -> Result<()> {
        let (at, size) = (node.fields.content, node.fields.size);
        if u64::from(at) + u64::from(size) <= self.window.len() {
            return Ok(());
        }
        let what = format!("{size} bytes of content at {at:#x} are not within the image");
        let header = self.offset().saturating_add(node.at.into());
        Err(Error::corrupt(what).at("file header", header))
    }

    fn link_count(&self, node: &RomfsNode) -> u32 {
        if node.kind != FileType::Directory {
            return node.links;
        }
        let entries = node
            .names
            .clone()
            .filter_map(|index| self.inodes.name(index));
        let kinds = entries.filter_map(|entry| self.inodes.nodes.get(entry.node as usize));
        let directories = kinds
            .filter(|node| node.kind == FileType::Directory)
            .count();
        u32::try_from(directories).map_or(u32::MAX, |count| count.saturating_add(2))
    }
}

/// Returns the number of an inode with an index.
fn number(index: u32) -> Ino {
    Ino(u64::from(index) + 1)
}

/// Returns the permissions of an inode, as Linux shows them.
fn mode(node: &RomfsNode) -> u16 {
    let mode = match node.kind {
        FileType::Symlink => 0o777,
        FileType::BlockDevice | FileType::CharDevice => 0o600,
        FileType::Directory | FileType::File | FileType::Socket | FileType::Fifo => 0o644,
    };
    let may_execute = matches!(node.kind, FileType::Directory | FileType::File);
    if may_execute && node.fields.executable {
        mode | 0o111
    } else {
        mode
    }
}

impl Image for Romfs {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let node = self.node(ino)?;
        let size = match node.kind {
            FileType::File | FileType::Symlink => node.fields.size.into(),
            FileType::Directory => node.names.len() as u64,
            _ => 0,
        };
        let rdev = match node.kind {
            FileType::BlockDevice | FileType::CharDevice => Rdev {
                major: node.fields.info >> 16,
                minor: node.fields.info & 0xffff,
            },
            _ => Rdev::default(),
        };
        Ok(Inode {
            ino,
            kind: node.kind,
            meta: Meta {
                mode: mode(node),
                uid: 0,
                gid: 0,
                times: Times::default(),
            },
            nlink: self.link_count(node),
            size,
            allocated: size,
            rdev,
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let names = self
            .node_of(dir, FileType::Directory, "directory")?
            .names
            .clone();
        let start = u32::try_from(from.0).unwrap_or(u32::MAX);
        let start = names.start.saturating_add(start);
        for (position, index) in (from.0..).zip(start..names.end) {
            let Some(entry) = self.inodes.name(index) else {
                break;
            };
            let node = self.inodes.nodes.get(entry.node as usize);
            let dirent = Dirent {
                name: &entry.name,
                ino: number(entry.node),
                // one that stands for nothing hides no other name, and reading it is an error
                kind: node.map_or(FileType::File, |node| node.kind),
                next: Cursor(position + 1),
            };
            if visit(dirent).is_break() {
                return Ok(());
            }
        }
        self.inodes.left_out.end(dir)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let dir = self.node_of(dir, FileType::Directory, "directory")?;
        Ok(self.inodes.find(dir, name).map(number))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let dir = self.node_of(dir, FileType::Directory, "directory")?;
        Ok(number(dir.parent))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        let node = self.content_of(ino, FileType::Symlink, "symlink")?;
        let located = |error: Error| error.at("file header", self.offset() + u64::from(node.at));
        let len = node.fields.size;
        if len > TARGET_MAX {
            let what = format!("a symlink with a target of {len} bytes");
            return Err(located(Error::corrupt(what)));
        }
        let target = self
            .window
            .read(node.fields.content.into(), len.into())?
            .to_vec();
        if target.contains(&0) {
            return Err(located(Error::corrupt(
                "a symlink with a NUL in its target",
            )));
        }
        Ok(target)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let fields = &self.content_of(ino, FileType::File, "file")?.fields;
        let len = u64::from(fields.size);
        if from < len {
            let source = ExtentSource::Block {
                block: fields.content.into(),
                offset: 0,
            };
            let _ = visit(Extent {
                offset: 0,
                len,
                source,
            });
        }
        Ok(())
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let fields = &self.content_of(ino, FileType::File, "file")?.fields;
        let left = u64::from(fields.size).saturating_sub(offset);
        let len = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        if len > 0 {
            let (now, _) = buf.split_at_mut(len);
            self.window
                .read_at(u64::from(fields.content) + offset, now)?;
        }
        Ok(len)
    }
}
