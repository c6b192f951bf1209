//! `sinterfs_model::Image` for an opened file system.
//!
//! **Invariant:** inodes have the numbers of the file system.

use std::ops::ControlFlow;

use sinterfs_model::{
    Cursor, Dirent, Error, Extent, ExtentSource, FileType, Image, ImageInfo, Ino, Inode, Meta,
    Rdev, Result, Xattrs,
};

use super::open::{Ext, located};
use crate::layout::{ExtInode, InodeFlags, POINTERS_LEN};

/// The longest target of a symlink in bytes.
const TARGET_MAX: u64 = 1 << 16;

/// The bytes in which stored blocks are counted.
const SECTOR: u64 = 512;

/// Returns the number of an inode that an entry may have.
fn number(ino: Ino) -> Result<u32> {
    u32::try_from(ino.0).map_err(|_| Error::no_inode(ino.0))
}

fn kind(fields: &ExtInode, number: u32) -> Result<FileType> {
    let mode = fields.mode;
    FileType::from_mode(mode.into())
        .ok_or_else(|| Error::corrupt(format!("mode {mode:#o}")).within(format!("inode {number}")))
}

impl Ext {
    /// Returns the number and the fields of an inode of a type.
    fn fields_of(&self, ino: Ino, expected: FileType, what: &str) -> Result<(u32, ExtInode)> {
        let number = number(ino)?;
        let fields = self.fields(number)?;
        if kind(&fields, number)? == expected {
            return Ok((number, fields));
        }
        Err(Error::invalid(format!("inode {number} is not a {what}")))
    }
}

impl Image for Ext {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let number = number(ino)?;
        let fields = self.fields(number)?;
        let kind = kind(&fields, number)?;
        let size = match kind {
            FileType::File | FileType::Symlink | FileType::Directory => fields.size,
            _ => 0,
        };
        let is_device = matches!(kind, FileType::BlockDevice | FileType::CharDevice);
        Ok(Inode {
            ino,
            kind,
            meta: Meta {
                mode: fields.mode & 0o7777,
                uid: fields.uid,
                gid: fields.gid,
                times: fields.times,
            },
            nlink: u32::from(fields.links).max(1),
            size,
            allocated: if fields.flags.has(InodeFlags::INLINE) {
                size
            } else {
                size.min(fields.sectors.saturating_mul(SECTOR))
            },
            rdev: if is_device {
                fields.rdev()
            } else {
                Rdev::default()
            },
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (at, fields) = self.fields_of(dir, FileType::Directory, "directory")?;
        let listing = self.listing(at, &fields)?;
        let start = usize::try_from(from.0).unwrap_or(usize::MAX);
        for (position, entry) in (from.0..).zip(listing.names.iter().skip(start)) {
            let dirent = Dirent {
                name: &entry.name,
                ino: Ino(entry.number.into()),
                // one that cannot be read hides no other name, and reading it is an error
                kind: match self.fields(entry.number) {
                    Ok(fields) => kind(&fields, entry.number).unwrap_or(FileType::File),
                    Err(error) if error.is_about_image() => FileType::File,
                    Err(error) => return Err(error),
                },
                next: Cursor(position + 1),
            };
            if visit(dirent).is_break() {
                return Ok(());
            }
        }
        self.left_out.end(dir)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let (at, fields) = self.fields_of(dir, FileType::Directory, "directory")?;
        let names = &self.listing(at, &fields)?.names;
        let found = names.binary_search_by(|entry| entry.name.as_ref().cmp(name));
        let found = found.ok().and_then(|index| names.get(index));
        Ok(found.map(|entry| Ino(entry.number.into())))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let (at, fields) = self.fields_of(dir, FileType::Directory, "directory")?;
        Ok(Ino(self.listing(at, &fields)?.parent.into()))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        let (at, fields) = self.fields_of(ino, FileType::Symlink, "symlink")?;
        let located = |error: Error| located(error, at);
        if fields.size > TARGET_MAX {
            let what = format!("a symlink with a target of {} bytes", fields.size);
            return Err(located(Error::corrupt(what)));
        }
        if fields.flags.has(InodeFlags::ENCRYPTED) {
            return Err(located(Error::unsupported("an encrypted symlink")));
        }
        let mut target = vec![0; usize::try_from(fields.size).unwrap_or(0)];
        let is_inline = fields.flags.has(InodeFlags::INLINE);
        let has_blocks = fields.flags.has(InodeFlags::EXTENTS) || target.len() >= POINTERS_LEN;
        if is_inline {
            let read = self.read_inline(at, &fields, 0, &mut target);
            read.map_err(located)?;
        } else if has_blocks {
            self.read_content(&fields, 0, &mut target)
                .map_err(located)?;
        } else {
            for (to, from) in target.iter_mut().zip(fields.pointers) {
                *to = from;
            }
        }
        if target.contains(&0) {
            let error = Error::corrupt("a symlink with a NUL in its target");
            return Err(located(error));
        }
        Ok(target)
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let (at, fields) = self.fields_of(ino, FileType::File, "file")?;
        if fields.flags.has(InodeFlags::INLINE) {
            if from < fields.size {
                let _ = visit(self.inline_extent(at, &fields));
            }
            return Ok(());
        }
        let unit = u64::from(self.head.block_size);
        let mut end = from / unit * unit;
        let mut flow = ControlFlow::Continue(());
        let runs = self.runs(&fields, from / unit..u64::MAX, &mut |run| {
            // blocks past the end of the file belong to no range of it
            let start = run.first.saturating_mul(unit).min(fields.size);
            let stop = run.first.saturating_add(run.count).saturating_mul(unit);
            let stop = stop.min(fields.size);
            if start > end {
                flow = visit(hole(end, start));
                end = start;
            }
            if flow.is_continue() && start < stop {
                flow = visit(Extent {
                    offset: start,
                    len: stop - start,
                    source: ExtentSource::Block {
                        block: run.stored,
                        offset: 0,
                    },
                });
                end = stop;
            }
            flow
        });
        runs.map_err(|error| located(error, at))?;
        if flow.is_continue() && end < fields.size {
            let _ = visit(hole(end, fields.size));
        }
        Ok(())
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let (at, fields) = self.fields_of(ino, FileType::File, "file")?;
        let read = if fields.flags.has(InodeFlags::INLINE) {
            self.read_inline(at, &fields, offset, buf)
        } else {
            self.read_content(&fields, offset, buf)
        };
        read.map_err(|error| located(error, at))
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let number = number(ino)?;
        let fields = self.fields(number)?;
        let found = self.attributes(number, &fields);
        found.map_err(|error| located(error, number))
    }
}

fn hole(from: u64, to: u64) -> Extent {
    Extent {
        offset: from,
        len: to.saturating_sub(from),
        source: ExtentSource::Hole,
    }
}
