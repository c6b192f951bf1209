//! The file system that an image looks like: plain answers to the questions of a kernel.
//!
//! Enters inode numbers as the kernel has them, leaves attributes, names and bytes.
//! **Invariant:** no state but the image; every question can come at any time, from any thread.

use std::ops::ControlFlow;
use std::sync::Arc;

use rustix::io::Errno;
use sinterfs_model::{Cursor, Error, ExtentSource, FileType, FsInfo, Image, Ino, Inode, Result};

use crate::errno::{Answer, errno};
use crate::ino_map::Numbers;
use crate::options::MountOptions;

/// Directory positions of the kernel: 1 follows `.`, 2 follows `..`, then cursors plus 2.
const AFTER_DOT: u64 = 1;
const AFTER_DOTS: u64 = 2;

/// An inode as the kernel is to see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attr {
    pub(crate) number: u64,
    pub(crate) inode: Inode,
}

/// A name in a directory as the kernel is to see it.
#[derive(Debug)]
pub(crate) struct NameOut<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) number: u64,
    pub(crate) kind: FileType,
    /// Where to go on after this name.
    pub(crate) next: u64,
    /// What `stat` tells, where that was asked for.
    pub(crate) attr: Option<Attr>,
}

/// Takes names until it is full: then it takes no more and says so.
pub(crate) type NameSink<'a> = &'a mut dyn FnMut(NameOut<'_>) -> ControlFlow<()>;

/// An image as a file system.
pub(crate) struct View {
    image: Arc<dyn Image>,
    numbers: Numbers,
    options: MountOptions,
}

impl View {
    pub(crate) fn new(image: Arc<dyn Image>, options: &MountOptions) -> Self {
        let numbers = Numbers::new(image.info().root);
        Self {
            image,
            numbers,
            options: options.clone(),
        }
    }

    pub(crate) fn options(&self) -> &MountOptions {
        &self.options
    }

    pub(crate) fn has_xattrs(&self) -> bool {
        self.image.info().capability.xattrs
    }

    pub(crate) fn totals(&self) -> FsInfo {
        self.image.info().totals
    }

    /// Returns the observer of damage, and the kernel a number.
    fn answer<T>(&self, result: Result<T>) -> Answer<T> {
        result.map_err(|error| {
            let errno = errno(&error);
            if errno == Errno::IO {
                self.options.observer.warn(&error);
            }
            errno
        })
    }

    fn attr_of(&self, ino: Ino) -> Answer<Attr> {
        let mut inode = self.answer(self.image.inode(ino))?;
        inode.meta.uid = self.options.uid.unwrap_or(inode.meta.uid);
        inode.meta.gid = self.options.gid.unwrap_or(inode.meta.gid);
        if inode.kind != FileType::Symlink {
            inode.meta.mode &= !self.options.umask;
        }
        Ok(Attr {
            number: self.numbers.of(ino)?,
            inode,
        })
    }

    /// Returns what `stat` tells.
    pub(crate) fn attr(&self, number: u64) -> Answer<Attr> {
        self.attr_of(self.numbers.ino(number)?)
    }

    /// Finds a name; `.` and `..` too, which servers of NFS ask for.
    pub(crate) fn lookup(&self, dir: u64, name: &[u8]) -> Answer<Option<Attr>> {
        let dir = self.numbers.ino(dir)?;
        let found = match name {
            b"." => Some(dir),
            b".." => Some(self.answer(self.image.parent(dir))?),
            name => self.answer(self.image.lookup(dir, name))?,
        };
        found.map(|ino| self.attr_of(ino)).transpose()
    }

    /// Returns a symlink's target.
    pub(crate) fn read_link(&self, number: u64) -> Answer<Vec<u8>> {
        self.answer(self.image.read_link(self.numbers.ino(number)?))
    }

    /// Shows names from a position on, each with its attributes if `plus`.
    pub(crate) fn read_dir(
        &self,
        dir: u64,
        from: u64,
        plus: bool,
        sink: NameSink<'_>,
    ) -> Answer<()> {
        let ino = self.numbers.ino(dir)?;
        for (name, next) in [(&b"."[..], AFTER_DOT), (b"..", AFTER_DOTS)] {
            if from >= next {
                continue;
            }
            let of = match next {
                AFTER_DOT => ino,
                _ => self.answer(self.image.parent(ino))?,
            };
            let number = self.numbers.of(of)?;
            let attr = plus.then(|| self.attr_of(of)).transpose()?;
            let kind = FileType::Directory;
            if sink(NameOut {
                name,
                number,
                kind,
                next,
                attr,
            })
            .is_break()
            {
                return Ok(());
            }
        }
        let mut failed = None;
        let from = Cursor(from.saturating_sub(AFTER_DOTS));
        self.answer(self.image.read_dir(ino, from, &mut |dirent| {
            let out = self.numbers.of(dirent.ino).and_then(|number| {
                let (name, kind) = (dirent.name, dirent.kind);
                let next = dirent
                    .next
                    .0
                    .checked_add(AFTER_DOTS)
                    .ok_or(Errno::OVERFLOW)?;
                let attr = plus.then(|| self.attr_of(dirent.ino)).transpose()?;
                Ok(NameOut {
                    name,
                    number,
                    kind,
                    next,
                    attr,
                })
            });
            match out {
                Ok(out) => sink(out),
                Err(errno) => {
                    failed = Some(errno);
                    ControlFlow::Break(())
                }
            }
        }))?;
        failed.map_or(Ok(()), Err)
    }

    /// Reads all that was asked for, less only at the end of the file.
    ///
    /// If any of it is damaged, all fails: the kernel takes a short answer for the end of the
    /// file and would show zeros instead. It asks again for single pages, so that a program gets
    /// `EIO` for no more than the page that is damaged.
    pub(crate) fn read(&self, number: u64, offset: u64, buf: &mut [u8]) -> Answer<usize> {
        let ino = self.numbers.ino(number)?;
        self.answer(
            self.image
                .read_at(ino, offset, buf)
                .map_err(|error| name(error, ino)),
        )
    }

    /// Reads as much as there is before what is damaged; for reads past the page cache, where a
    /// short answer means just that.
    pub(crate) fn read_front(&self, number: u64, offset: u64, buf: &mut [u8]) -> Answer<usize> {
        let ino = self.numbers.ino(number)?;
        let error = match self.image.read_at(ino, offset, buf) {
            Ok(count) => return Ok(count),
            Err(error) => error,
        };
        let mut filled = 0_usize;
        let end = offset.saturating_add(buf.len() as u64);
        self.answer(self.image.extents(ino, offset, &mut |extent| {
            let at = offset + filled as u64;
            let stop = extent.offset.saturating_add(extent.len).min(end);
            let len = usize::try_from(stop.saturating_sub(at)).unwrap_or(usize::MAX);
            let part = buf
                .get_mut(filled..filled.saturating_add(len))
                .unwrap_or_default();
            match self.image.read_at(ino, at, part) {
                Ok(count) if count == len && stop < end => {
                    filled += count;
                    ControlFlow::Continue(())
                }
                Ok(count) => {
                    filled += count;
                    ControlFlow::Break(())
                }
                Err(_) => ControlFlow::Break(()),
            }
        }))?;
        if filled == 0 {
            self.answer(Err(name(error, ino)))
        } else {
            Ok(filled)
        }
    }

    /// Finds the next data (or hole) from a position on. `ENXIO` if there is none, or behind the
    /// end.
    pub(crate) fn seek(&self, number: u64, offset: u64, hole: bool) -> Answer<u64> {
        let ino = self.numbers.ino(number)?;
        let size = self.answer(self.image.inode(ino))?.size;
        if offset >= size {
            return Err(Errno::NXIO);
        }
        let mut found = None;
        self.answer(self.image.extents(ino, offset, &mut |extent| {
            if (extent.source == ExtentSource::Hole) != hole {
                return ControlFlow::Continue(());
            }
            found = Some(extent.offset.max(offset));
            ControlFlow::Break(())
        }))?;
        // The end of a file counts as a hole.
        found.or(hole.then_some(size)).ok_or(Errno::NXIO)
    }

    /// Returns the names of all extended attributes, each with a zero byte behind it.
    pub(crate) fn xattr_names(&self, number: u64) -> Answer<Vec<u8>> {
        let all = self.answer(self.image.xattrs(self.numbers.ino(number)?))?;
        Ok(all
            .into_iter()
            .flat_map(|(name, _)| [name, vec![0]].concat())
            .collect())
    }

    /// Returns an extended attribute; `ENODATA` if there is none of that name.
    pub(crate) fn xattr(&self, number: u64, name: &[u8]) -> Answer<Vec<u8>> {
        let all = self.answer(self.image.xattrs(self.numbers.ino(number)?))?;
        let found = all.into_iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value).ok_or(Errno::NODATA)
    }

    /// Returns the observer of a request that could not be answered at all.
    pub(crate) fn lost(&self, what: &'static str) {
        self.options
            .observer
            .warn(&Error::new(sinterfs_model::Kind::Io, what));
    }
}

/// Says which file an error is about: its path is not known here.
fn name(error: Error, ino: Ino) -> Error {
    error.path(format!("inode {}", ino.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_up_is_found_by_name() {
        let image = Arc::new(sinterfs_testkit::sample(7));
        let view = View::new(image, &MountOptions::default());
        let number = |dir, name: &[u8]| view.lookup(dir, name).unwrap().map(|attr| attr.number);
        let docs = number(1, b"docs").unwrap();
        assert_eq!(number(docs, b"."), Some(docs));
        assert_eq!(number(docs, b".."), Some(1));
        assert_eq!(number(1, b".."), Some(1));
        assert_eq!(number(1, b"none"), None);
        assert_eq!(view.attr(0).unwrap_err(), Errno::NOENT);
        assert_eq!(view.attr(1 << 50).unwrap_err(), Errno::NOENT);
    }

    #[test]
    fn directories_can_be_read_from_anywhere() {
        let view = View::new(
            Arc::new(sinterfs_testkit::sample(7)),
            &MountOptions::default(),
        );
        let names = |from, most| {
            let mut names = Vec::new();
            view.read_dir(1, from, true, &mut |out| {
                assert_eq!(out.attr.unwrap().number, out.number);
                names.push((out.name.to_vec(), out.next));
                if names.len() == most {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .unwrap();
            names
        };
        let all = names(0, 99);
        assert_eq!(all.len(), 15);
        assert_eq!((&all[0].0[..], &all[1].0[..]), (&b"."[..], &b".."[..]));
        for (index, (_, next)) in all.iter().enumerate() {
            assert_eq!(names(*next, 99), all[index + 1..]);
            assert_eq!(
                names(*next, 1),
                all[index + 1..].iter().take(1).cloned().collect::<Vec<_>>()
            );
        }
    }
}
