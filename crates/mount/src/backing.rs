//! A computed file, and an image with only that file, on which the kernel's own file system can be
//! mounted.
//!
//! Enters a `Backing`; leaves an `Image`. **Invariant:** a read returns the whole range or an
//! error, since the kernel takes missing bytes for zeros.

use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_model::{
    Backing, Capability, Cursor, Dirent, Error, Extent, ExtentSource, FileType, FsInfo, Image,
    ImageInfo, Ino, Inode, Meta, Rdev, Result,
};

const ROOT: Ino = Ino(0);
const FILE: Ino = Ino(1);

/// An image with one file.
pub(crate) struct OneFile {
    file: Arc<dyn Backing>,
    /// The names of the file; the first one is listed.
    names: Vec<Vec<u8>>,
    info: ImageInfo,
}

impl OneFile {
    pub(crate) fn new(file: Arc<dyn Backing>, names: Vec<Vec<u8>>) -> Self {
        let totals = FsInfo {
            inodes: 2,
            bytes: Some(file.size()),
            stored: file.size(),
            block_size: 4096,
        };
        let capability = Capability {
            xattrs: false,
            special_hard_links: false,
            holes: false,
            all_times: false,
            time_unit: 1,
        };
        Self {
            file,
            names,
            info: ImageInfo {
                format: "backing",
                version: String::new(),
                root: ROOT,
                totals,
                capability,
                checked_in_order: false,
            },
        }
    }
}

impl Image for OneFile {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let (kind, mode, nlink, size) = match ino {
            ROOT => (FileType::Directory, 0o500, 2, 0),
            FILE => (FileType::File, 0o400, 1, self.file.size()),
            _ => return Err(Error::not_found("no such inode")),
        };
        Ok(Inode {
            ino,
            kind,
            meta: Meta {
                mode,
                ..Meta::default()
            },
            nlink,
            size,
            allocated: size,
            rdev: Rdev::default(),
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if let Some(name) = self
            .names
            .first()
            .filter(|_| dir == ROOT && from == Cursor::START)
        {
            let _ = visit(Dirent {
                name,
                ino: FILE,
                kind: FileType::File,
                next: Cursor(1),
            });
        }
        Ok(())
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        Ok((dir == ROOT && self.names.iter().any(|known| known == name)).then_some(FILE))
    }

    fn parent(&self, _: Ino) -> Result<Ino> {
        Ok(ROOT)
    }

    fn read_link(&self, _: Ino) -> Result<Vec<u8>> {
        Err(Error::invalid("not a symlink"))
    }

    fn extents(
        &self,
        _: Ino,
        _: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let _ = visit(Extent {
            offset: 0,
            len: self.file.size(),
            source: ExtentSource::Block {
                block: 0,
                offset: 0,
            },
        });
        Ok(())
    }

    fn read_at(&self, _: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let left = self.file.size().saturating_sub(offset);
        let count = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len()));
        self.file.fill(offset, buf.split_at_mut(count).0)?;
        Ok(count)
    }
}
