//! An image as a file system, independent of any kernel interface.
//!
//! Enters inode numbers of FUSE; leaves attributes, names and bytes. **Invariant:** no state but
//! the image; every method may be called at any time by any thread.

use std::ops::ControlFlow;
use std::sync::Arc;

use rustix::io::Errno;
use sinterfs_model::posix_acl::{self, tag};
use sinterfs_model::{Cursor, Error, ExtentSource, FileType, FsInfo, Image, Ino, Inode, Result};

use crate::errno::{Answer, errno};
use crate::ino_map::InoMap;
use crate::options::MountOptions;

/// The maximum length of names that statfs(2) reports; images may have longer ones.
pub(crate) const NAME_MAX: u32 = 255;

/// Directory offsets of FUSE: 1 is after `.`, 2 is after `..`, then cursors plus 2.
const AFTER_DOT: u64 = 1;
const AFTER_DOT_DOT: u64 = 2;

/// An inode with its FUSE number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attr {
    pub(crate) number: u64,
    pub(crate) inode: Inode,
}

/// A directory entry with its FUSE number.
#[derive(Debug)]
pub(crate) struct FuseDirent<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) number: u64,
    pub(crate) kind: FileType,
    /// The offset after this entry.
    pub(crate) next: u64,
    /// The attributes, if requested.
    pub(crate) attr: Option<Attr>,
}

/// Receives entries; breaks when the reply is full, without the entry.
pub(crate) type DirentSink<'a> = &'a mut dyn FnMut(FuseDirent<'_>) -> ControlFlow<()>;

/// An image as a file system.
pub(crate) struct View {
    image: Arc<dyn Image>,
    inos: InoMap,
    options: MountOptions,
}

impl View {
    pub(crate) fn new(image: Arc<dyn Image>, options: &MountOptions) -> Self {
        let inos = InoMap::new(image.info().root);
        Self {
            image,
            inos,
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

    /// Converts an error to `errno` and reports damage to the observer.
    fn answer<T>(&self, result: Result<T>) -> Answer<T> {
        result.map_err(|error| {
            let errno = errno(&error);
            if errno == Errno::IO {
                self.options.observer.warn(&error);
            }
            errno
        })
    }

    /// Returns the attributes of an inode that the image names: one that is missing is damage.
    fn attr_of(&self, ino: Ino) -> Answer<Attr> {
        let inode = self.image.inode(ino).map_err(Error::into_corrupt_entry);
        self.shown(self.answer(inode)?)
    }

    /// Returns the attributes of an inode as the options show them.
    fn shown(&self, mut inode: Inode) -> Answer<Attr> {
        inode.meta.uid = self.options.uid.unwrap_or(inode.meta.uid);
        inode.meta.gid = self.options.gid.unwrap_or(inode.meta.gid);
        if inode.kind != FileType::Symlink {
            inode.meta.mode &= !self.options.umask;
        }
        Ok(Attr {
            number: self.inos.to_fuse(inode.ino)?,
            inode,
        })
    }

    /// Returns the attributes of an inode.
    pub(crate) fn attr(&self, number: u64) -> Answer<Attr> {
        let inode = self.image.inode(self.inos.to_image(number)?);
        self.shown(self.answer(inode)?)
    }

    /// Looks up a name, which may be `.` or `..`, as NFS servers need.
    pub(crate) fn lookup(&self, dir: u64, name: &[u8]) -> Answer<Option<Attr>> {
        let dir = self.inos.to_image(dir)?;
        let found = match name {
            b"." => Some(dir),
            b".." => Some(self.answer(self.image.parent(dir))?),
            name => self.answer(self.image.lookup(dir, name))?,
        };
        if found.is_none() && name.len() > NAME_MAX as usize {
            return Err(Errno::NAMETOOLONG);
        }
        found.map(|ino| self.attr_of(ino)).transpose()
    }

    /// Returns the target of a symlink.
    pub(crate) fn read_link(&self, number: u64) -> Answer<Vec<u8>> {
        self.answer(self.image.read_link(self.inos.to_image(number)?))
    }

    /// Passes entries from an offset on to `sink`, with attributes if `plus` and where they can be
    /// read: a damaged inode hides no other name. Fails if nothing was passed before the damage.
    pub(crate) fn read_dir(
        &self,
        dir: u64,
        from: u64,
        plus: bool,
        sink: DirentSink<'_>,
    ) -> Answer<()> {
        let ino = self.inos.to_image(dir)?;
        for (name, next) in [(&b"."[..], AFTER_DOT), (b"..", AFTER_DOT_DOT)] {
            if from >= next {
                continue;
            }
            let of = match next {
                AFTER_DOT => ino,
                _ => self.answer(self.image.parent(ino))?,
            };
            let number = self.inos.to_fuse(of)?;
            let attr = plus.then(|| self.attr_of(of)).transpose()?;
            let kind = FileType::Directory;
            if sink(FuseDirent {
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
        let (mut failed, mut passed) = (None, from < AFTER_DOT_DOT);
        let from = Cursor(from.saturating_sub(AFTER_DOT_DOT));
        let listed = self.answer(self.image.read_dir(ino, from, &mut |dirent| {
            let out = self.inos.to_fuse(dirent.ino).and_then(|number| {
                let (name, kind) = (dirent.name, dirent.kind);
                let next = dirent
                    .next
                    .0
                    .checked_add(AFTER_DOT_DOT)
                    .ok_or(Errno::OVERFLOW)?;
                let attr = plus.then(|| self.attr_of(dirent.ino).ok()).flatten();
                Ok(FuseDirent {
                    name,
                    number,
                    kind,
                    next,
                    attr,
                })
            });
            match out {
                Ok(out) => {
                    let flow = sink(out);
                    passed |= flow.is_continue();
                    flow
                }
                Err(errno) => {
                    failed = Some(errno);
                    ControlFlow::Break(())
                }
            }
        }));
        match (listed, failed) {
            // the next call begins after the entries that were passed, and fails
            (Err(_), _) | (Ok(()), Some(_)) if passed => Ok(()),
            (Err(errno), _) | (Ok(()), Some(errno)) => Err(errno),
            (Ok(()), None) => Ok(()),
        }
    }

    /// Reads the whole range, less only at the end of the file.
    ///
    /// Damage in any part fails the whole request: the kernel takes a short reply for the end of
    /// the file and would show zeros. It then requests single pages, so that a program gets `EIO`
    /// for damaged pages only.
    pub(crate) fn read(&self, number: u64, offset: u64, buf: &mut [u8]) -> Answer<usize> {
        let ino = self.inos.to_image(number)?;
        self.answer(
            self.image
                .read_at(ino, offset, buf)
                .map_err(|error| with_inode(error, ino)),
        )
    }

    /// Reads the range up to the first damage; for reads that bypass the page cache, whose replies
    /// may be short.
    pub(crate) fn read_until_damage(
        &self,
        number: u64,
        offset: u64,
        buf: &mut [u8],
    ) -> Answer<usize> {
        let ino = self.inos.to_image(number)?;
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
            self.answer(Err(with_inode(error, ino)))
        } else {
            Ok(filled)
        }
    }

    /// Returns the offset of the next data (or hole) from an offset on. `ENXIO` if there is none,
    /// or past the end.
    pub(crate) fn seek(&self, number: u64, offset: u64, hole: bool) -> Answer<u64> {
        let ino = self.inos.to_image(number)?;
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
        // there is a hole at the end of every file
        found.or(hole.then_some(size)).ok_or(Errno::NXIO)
    }

    /// Returns the names of all extended attributes, each followed by a zero byte.
    pub(crate) fn xattr_names(&self, number: u64) -> Answer<Vec<u8>> {
        let all = self.answer(self.image.xattrs(self.inos.to_image(number)?))?;
        Ok(all
            .into_iter()
            .flat_map(|(name, _)| [name, vec![0]].concat())
            .collect())
    }

    /// Returns the value of an extended attribute; `ENODATA` if there is none of that name.
    pub(crate) fn xattr(&self, number: u64, name: &[u8]) -> Answer<Vec<u8>> {
        let all = self.answer(self.image.xattrs(self.inos.to_image(number)?))?;
        let found = all.into_iter().find(|(other, _)| other == name);
        let (_, mut value) = found.ok_or(Errno::NODATA)?;
        if name == posix_acl::ACCESS {
            mask_access_list(&mut value, self.options.umask);
        }
        Ok(value)
    }

    /// Reports a request without a reply to the observer.
    pub(crate) fn report_lost_request(&self, what: &'static str) {
        self.options
            .observer
            .warn(&Error::new(sinterfs_model::Kind::Io, what));
    }
}

/// Takes from the entries of an access list what the umask takes from the bits of their class.
fn mask_access_list(value: &mut [u8], umask: u16) {
    // a version of four bytes, then of each entry tag, permissions and ID
    for entry in value.get_mut(4..).unwrap_or_default().chunks_exact_mut(8) {
        let [tag0, tag1, low, ..] = entry else {
            continue;
        };
        let taken = match u16::from_le_bytes([*tag0, *tag1]) {
            tag::OWNER => umask >> 6,
            tag::OTHERS => umask,
            _ => umask >> 3,
        };
        *low &= !(taken as u8 & 7);
    }
}

/// Adds the inode to an error, since the path is not known here.
fn with_inode(error: Error, ino: Ino) -> Error {
    error.path(format!("inode {}", ino.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_umask_also_masks_access_lists() {
        let list = |permissions: [u8; 5]| {
            let tags = [0x01, 0x02, 0x04, 0x10, 0x20];
            let entries = tags.iter().zip(permissions);
            let entries = entries.flat_map(|(tag, rights)| [*tag, 0, rights, 0, 9, 0, 0, 0]);
            [2, 0, 0, 0].into_iter().chain(entries).collect::<Vec<u8>>()
        };
        let mut value = list([7, 7, 5, 7, 4]);
        mask_access_list(&mut value, 0);
        assert_eq!(value, list([7, 7, 5, 7, 4]));
        mask_access_list(&mut value, 0o027);
        assert_eq!(value, list([7, 5, 5, 5, 0]));
        let mut cut = vec![2, 0, 0, 0, 1, 0];
        mask_access_list(&mut cut, 0o777);
        assert_eq!(cut, [2, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn dot_and_dot_dot_are_looked_up() {
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
