//! Lays out an image, directory by directory: inodes get their offsets, directories their content.
//!
//! In: the image. Out: the parts of a lookalike. **Invariant:** no recursion; the inodes of a
//! directory are together, in the order in which `ls -R` and `find` visit them. An inode that
//! cannot be read is zeros, which the kernel takes for damage: its name is listed, and using it is
//! an error.

#![expect(
    clippy::cast_possible_truncation,
    reason = "every region of the address space is limited before a value is stored"
)]

use std::collections::{HashMap, HashSet};

use sinterfs_model::{Error, FileType, Image, Ino, Inode, Loss, Result};

use super::attributes::Shown;
use super::content::{self, Body};
use super::inodes::{ShownInode, put};
use super::listing::{DirectoryListing, is_damage};
use super::pool::Pool;
use super::regions::{CONTENT, DIRECTORIES, INODES, XATTRS};
use super::space::Space;
use crate::layout::INODE_SLOT;
use crate::write::inode_offsets::{InodeOffsets, InodeSize};
use crate::write::{BLOCK, BlockSize};

/// The most bytes of names that are kept until the content of their directories is made.
const MAX_KEPT_NAMES: usize = 16 << 20;

/// A directory whose inode has its offset, and whose content is still to be made.
#[derive(Debug)]
struct Waiting {
    ino: Ino,
    nid: u64,
    parent: u64,
    /// The offsets of its inline tail among the inodes, and of its blocks among the directory
    /// blocks.
    tail: usize,
    blocks: usize,
    /// Its names, unless they would take too much memory.
    names: Option<DirectoryListing>,
}

/// The metadata made so far.
pub(super) struct Scan<'a> {
    image: &'a dyn Image,
    shown: Shown,
    offsets: InodeOffsets,
    pub(super) inodes: Vec<u8>,
    pub(super) directories: Vec<u8>,
    pub(super) xattrs: Vec<u8>,
    pool: Pool,
    pub(super) content: Space,
    /// Bytes of maps of chunks.
    mapped: u64,
    /// The numbers of inodes with several names.
    links: HashMap<Ino, u64>,
    seen: HashSet<Ino>,
    waiting: Vec<Waiting>,
    /// Inodes.
    pub(super) count: u64,
    /// Bytes of all files.
    pub(super) bytes: u64,
    /// The number of inodes with times that are lost.
    times: u64,
    /// Bytes of the names of waiting directories.
    kept: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(image: &'a dyn Image, shown: Shown) -> Self {
        Self {
            image,
            shown,
            offsets: InodeOffsets::default(),
            inodes: Vec::new(),
            directories: Vec::new(),
            xattrs: Vec::new(),
            pool: Pool::default(),
            content: Space::new(),
            mapped: 0,
            links: HashMap::new(),
            seen: HashSet::new(),
            waiting: Vec::new(),
            count: 0,
            bytes: 0,
            times: 0,
            kept: 0,
        }
    }

    /// Makes everything.
    pub(super) fn run(mut self) -> Result<Self> {
        let root = self.image.info().root;
        let nid = self.place(root, None)?;
        debug_assert_eq!(nid, INODES / INODE_SLOT);
        while let Some(mut dir) = self.waiting.pop() {
            let names = match dir.names.take() {
                Some(names) => {
                    self.kept -= names.memory();
                    names
                }
                None => DirectoryListing::of(self.image, dir.ino)?,
            };
            self.fill(&dir, names)?;
        }
        self.xattrs = std::mem::take(&mut self.pool.bytes);
        Ok(self)
    }

    /// Returns the losses.
    pub(super) fn losses(&self) -> Vec<Loss> {
        let mut losses = self.pool.dropped.losses();
        if self.times > 0 {
            losses.push(Loss::new(
                "access or inode change times that differ from the modification time",
                self.times,
            ));
        }
        losses
    }

    /// Assigns offsets to the entries of a directory, and makes its content.
    fn fill(&mut self, dir: &Waiting, mut names: DirectoryListing) -> Result<()> {
        let first = self.waiting.len();
        for at in 0..names.len() {
            let (ino, kind) = names.inode(at);
            let nid = match self.links.get(&ino) {
                Some(&nid) if kind != FileType::Directory => nid,
                _ => self.place(ino, Some(dir.nid))?,
            };
            names.set_nid(at, nid);
        }
        // the first comes out of the stack first
        self.waiting.get_mut(first..).unwrap_or_default().reverse();
        let bytes = names.content(dir.nid, dir.parent);
        let tail = crate::write::inodes::tail_of(bytes.len() as u64, BlockSize::default()) as usize;
        let (body, tail) = bytes.split_at(bytes.len() - tail);
        put(&mut self.directories, dir.blocks, body)?;
        put(&mut self.inodes, dir.tail, tail)
    }

    /// Makes an inode; the content of a directory is made later.
    fn place(&mut self, ino: Ino, parent: Option<u64>) -> Result<u64> {
        // hostile directories may name more inodes than the image declares
        if self.count >= self.image.info().totals.inodes {
            return Err(Error::corrupt("there are more inodes than the image says"));
        }
        let read = self.image.inode(ino);
        let made = read.and_then(|inode| self.make(ShownInode::show(inode, self.shown)));
        let (made, names) = match made {
            Err(error) if parent.is_some() && is_damage(&error) => return self.damaged(),
            made => made.map_err(|error| error.path(format!("inode {}", ino.0)))?,
        };
        let inode = made.shown;
        let extent = made.extent();
        let place = self.offsets.next(extent);
        if INODES + self.offsets.end > XATTRS {
            return Err(Error::limit("4 GiB of inodes"));
        }
        let nid = (INODES + place) / INODE_SLOT;
        let at = usize::try_from(place).map_err(|_| Error::limit("the inodes"))?;
        let end = usize::try_from(self.offsets.end).map_err(|_| Error::limit("the inodes"))?;
        self.inodes.resize(end, 0);
        let tail = at + extent.fixed as usize;
        made.write(
            self.count + 1,
            self.inodes.get_mut(at..tail).unwrap_or_default(),
        )?;
        self.count += 1;
        match inode.kind {
            FileType::Directory => {
                let Body::Flat(start) = made.body else {
                    return Err(Error::invalid("a directory in chunks"));
                };
                let names = names.and_then(|names| self.keep(names));
                self.waiting.push(Waiting {
                    ino,
                    nid,
                    parent: parent.unwrap_or(nid),
                    tail,
                    blocks: (start.saturating_mul(BLOCK).saturating_sub(DIRECTORIES)) as usize,
                    names,
                });
            }
            FileType::Symlink => self.write_target(ino, &made, tail)?,
            _ => {}
        }
        if inode.nlink > 1 && inode.kind != FileType::Directory {
            self.links.insert(ino, nid);
        }
        let times = inode.meta.times;
        let differ = times.accessed != times.modified || times.changed != times.modified;
        self.times += u64::from(differ);
        Ok(nid)
    }

    /// Makes an inode that the kernel refuses, for one that cannot be read.
    fn damaged(&mut self) -> Result<u64> {
        let place = self.offsets.next(InodeSize {
            inode: INODE_SLOT,
            fixed: INODE_SLOT,
            tail: 0,
        });
        if INODES + self.offsets.end > XATTRS {
            return Err(Error::limit("4 GiB of inodes"));
        }
        let end = usize::try_from(self.offsets.end).map_err(|_| Error::limit("the inodes"))?;
        self.inodes.resize(end, 0);
        self.count += 1;
        Ok((INODES + place) / INODE_SLOT)
    }

    /// Returns names that wait for the content of their directory, if there is memory for them.
    fn keep(&mut self, names: DirectoryListing) -> Option<DirectoryListing> {
        let kept = self.kept + names.memory();
        (kept <= MAX_KEPT_NAMES).then(|| {
            self.kept = kept;
            names
        })
    }

    /// Finds where content will be; returns the names of a directory, too.
    fn make(&mut self, mut inode: Inode) -> Result<(ShownInode, Option<DirectoryListing>)> {
        let mut names = None;
        let xattrs = if self.image.info().capability.xattrs {
            self.pool.inline(&self.image.xattrs(inode.ino)?)?
        } else {
            Vec::new()
        };
        let body = match inode.kind {
            FileType::File => {
                if i64::try_from(inode.size).is_err() {
                    return Err(Error::limit("a file of 8 EiB"));
                }
                self.bytes = self.bytes.saturating_add(inode.size);
                content::place(self.image, &inode, &mut self.content, &mut self.mapped)?
            }
            FileType::Directory => {
                if !self.seen.insert(inode.ino) {
                    return Err(Error::corrupt("a directory has two names"));
                }
                let listing = DirectoryListing::of(self.image, inode.ino)?;
                inode.size = listing.content_len();
                names = Some(listing);
                self.blocks(inode.size)?
            }
            FileType::Symlink => {
                inode.size = self.image.read_link(inode.ino)?.len() as u64;
                if inode.size > BLOCK {
                    let what = format!("a symlink's target of {} bytes", inode.size);
                    return Err(Error::limit(what));
                }
                self.blocks(inode.size)?
            }
            _ => {
                inode.size = 0;
                Body::Flat(0)
            }
        };
        let made = ShownInode {
            shown: inode,
            body,
            xattrs,
        };
        Ok((made, names))
    }

    /// Reserves the blocks of a directory or symlink, without its inline tail.
    fn blocks(&mut self, size: u64) -> Result<Body> {
        let body = size - crate::write::inodes::tail_of(size, BlockSize::default());
        let start = DIRECTORIES + self.directories.len() as u64;
        let len = body.next_multiple_of(BLOCK);
        if start + len > CONTENT {
            return Err(Error::limit("8 GiB of directories"));
        }
        let end = self.directories.len() + len as usize;
        self.directories.resize(end, 0);
        Ok(Body::Flat(start / BLOCK))
    }

    fn write_target(&mut self, ino: Ino, made: &ShownInode, tail: usize) -> Result<()> {
        let target = self.image.read_link(ino)?;
        match made.tail() {
            0 => {
                let start = self.directories.len().saturating_sub(BLOCK as usize);
                put(&mut self.directories, start, &target)
            }
            _ => put(&mut self.inodes, tail, &target),
        }
    }
}
