//! The image: an arena of nodes, file content in blocks of a fixed size as a solid format has it.
//!
//! **Invariant:** follows the contract of `sinterfs_model::Image`, except for names, which may be
//! hostile.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::Mutex;

use sinterfs_model::{
    Capability, Cursor, Dirent, Error, Extent, ExtentSource, FileType, FsInfo, Image, ImageInfo,
    Ino, Inode, Meta, Rdev, Result, Xattrs,
};

/// Names a node while an image is built and afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id(usize);

/// A part of a file's content.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Bytes that are stored.
    Data(Vec<u8>),
    /// A number of zeros that are not stored.
    Hole(u64),
    /// Content shared with another file: whole extents of it, by their indexes.
    Again(Id, Range<usize>),
}

/// Names with the nodes they name.
type Entries = Vec<(Vec<u8>, usize)>;

#[derive(Debug)]
enum NodeContent {
    Directory {
        parent: usize,
        entries: Vec<(Vec<u8>, usize)>,
    },
    File(Vec<Extent>),
    Symlink(Vec<u8>),
    Special,
}

#[derive(Debug)]
struct MemNode {
    kind: FileType,
    meta: Meta,
    rdev: Rdev,
    names: u32,
    body: NodeContent,
    xattrs: Xattrs,
}

/// Builds a `MemImage` node by node.
#[derive(Debug)]
pub struct Builder {
    nodes: Vec<MemNode>,
    blocks: Vec<Vec<u8>>,
    block_size: usize,
    xattrs: bool,
}

impl Builder {
    /// Starts an image with a root directory and a block size in bytes.
    pub fn new(root: Meta, block_size: usize) -> Self {
        let mut builder = Self {
            nodes: Vec::new(),
            blocks: Vec::new(),
            block_size,
            xattrs: false,
        };
        builder.push(
            FileType::Directory,
            root,
            NodeContent::Directory {
                parent: 0,
                entries: Vec::new(),
            },
        );
        builder
    }

    /// The root directory.
    pub const ROOT: Id = Id(0);

    fn push(&mut self, kind: FileType, meta: Meta, body: NodeContent) -> usize {
        let (rdev, xattrs) = (Rdev::default(), Xattrs::new());
        self.nodes.push(MemNode {
            kind,
            meta,
            rdev,
            names: 0,
            body,
            xattrs,
        });
        self.nodes.len() - 1
    }

    /// Returns a node one more name; the name is not checked.
    pub fn link(&mut self, dir: Id, name: &[u8], node: Id) {
        let NodeContent::Directory { entries, .. } = &mut self.nodes[dir.0].body else {
            panic!("not a directory")
        };
        entries.push((name.to_vec(), node.0));
        self.nodes[node.0].names += 1;
    }

    /// Adds a directory.
    pub fn dir(&mut self, dir: Id, name: &[u8], meta: Meta) -> Id {
        let body = NodeContent::Directory {
            parent: dir.0,
            entries: Vec::new(),
        };
        let id = Id(self.push(FileType::Directory, meta, body));
        self.link(dir, name, id);
        id
    }

    /// Adds a regular file.
    pub fn file(&mut self, dir: Id, name: &[u8], meta: Meta, pieces: &[Piece]) -> Id {
        let mut extents = Vec::new();
        let mut at = 0;
        for piece in pieces {
            match piece {
                Piece::Hole(len) => {
                    extents.push(Extent {
                        offset: at,
                        len: *len,
                        source: ExtentSource::Hole,
                    });
                    at += len;
                }
                Piece::Data(data) => self.store(data, &mut at, &mut extents),
                Piece::Again(file, range) => {
                    let NodeContent::File(known) = &self.nodes[file.0].body else {
                        panic!("not a regular file")
                    };
                    for extent in &known[range.clone()] {
                        extents.push(Extent {
                            offset: at,
                            ..*extent
                        });
                        at += extent.len;
                    }
                }
            }
        }
        let id = Id(self.push(FileType::File, meta, NodeContent::File(extents)));
        self.link(dir, name, id);
        id
    }

    fn store(&mut self, mut data: &[u8], at: &mut u64, extents: &mut Vec<Extent>) {
        while !data.is_empty() {
            if self
                .blocks
                .last()
                .is_none_or(|block| block.len() >= self.block_size)
            {
                self.blocks.push(Vec::new());
            }
            let number = self.blocks.len() - 1;
            let block = &mut self.blocks[number];
            let (now, later) = data.split_at(data.len().min(self.block_size - block.len()));
            let source = ExtentSource::Block {
                block: number as u64,
                offset: block.len() as u64,
            };
            block.extend_from_slice(now);
            extents.push(Extent {
                offset: *at,
                len: now.len() as u64,
                source,
            });
            *at += now.len() as u64;
            data = later;
        }
    }

    /// Adds a symlink.
    pub fn symlink(&mut self, dir: Id, name: &[u8], meta: Meta, target: &[u8]) -> Id {
        let id = Id(self.push(
            FileType::Symlink,
            meta,
            NodeContent::Symlink(target.to_vec()),
        ));
        self.link(dir, name, id);
        id
    }

    /// Adds a device, fifo or socket.
    pub fn special(&mut self, dir: Id, name: &[u8], meta: Meta, kind: FileType, rdev: Rdev) -> Id {
        let id = Id(self.push(kind, meta, NodeContent::Special));
        self.nodes[id.0].rdev = rdev;
        self.link(dir, name, id);
        id
    }

    /// Adds an extended attribute.
    pub fn xattr(&mut self, node: Id, name: &[u8], value: &[u8]) {
        self.xattrs = true;
        let xattrs = &mut self.nodes[node.0].xattrs;
        xattrs.push((name.to_vec(), value.to_vec()));
        xattrs.sort();
    }

    /// Ends building; inode numbers are the node numbers with the bits of `mask` turned.
    pub fn finish(mut self, mask: u64) -> MemImage {
        let mut bytes = 0;
        for node in &mut self.nodes {
            match &mut node.body {
                NodeContent::Directory { entries, .. } => entries.sort(),
                NodeContent::File(extents) => {
                    bytes += extents.iter().map(|extent| extent.len).sum::<u64>();
                }
                NodeContent::Symlink(_) | NodeContent::Special => {}
            }
        }
        let info = ImageInfo {
            format: "memory",
            version: "1".into(),
            root: Ino(mask),
            totals: FsInfo {
                inodes: self.nodes.len() as u64,
                bytes: Some(bytes),
                stored: self.blocks.iter().map(|block| block.len() as u64).sum(),
                block_size: self.block_size as u64,
            },
            checked_in_order: false,
            capability: Capability {
                xattrs: self.xattrs,
                special_hard_links: true,
                holes: true,
                all_times: true,
                time_unit: 1,
            },
        };
        MemImage {
            info,
            mask,
            nodes: self.nodes,
            blocks: self.blocks,
            damaged: Mutex::new(HashSet::new()),
            touched: Mutex::new(Vec::new()),
            kept: Mutex::default(),
            foreign_parents: HashMap::new(),
        }
    }
}

/// The state of a cache without bounds.
#[derive(Debug, Clone, Default)]
pub struct CacheModel {
    /// Blocks that were read and not released since.
    pub now: HashSet<u64>,
    /// The largest number of these at a time.
    pub most: usize,
    /// Blocks that were not cached when they were read, in order.
    pub missed: Vec<u64>,
}

/// An image in memory.
#[derive(Debug)]
pub struct MemImage {
    info: ImageInfo,
    mask: u64,
    nodes: Vec<MemNode>,
    blocks: Vec<Vec<u8>>,
    damaged: Mutex<HashSet<u64>>,
    touched: Mutex<Vec<u64>>,
    kept: Mutex<CacheModel>,
    foreign_parents: HashMap<usize, Ino>,
}

impl MemImage {
    /// Returns the inode number of a node.
    pub fn ino(&self, id: Id) -> Ino {
        Ino(id.0 as u64 ^ self.mask)
    }

    /// Declares that content is compared with digests in the order of each file.
    pub fn checked_in_order(mut self) -> Self {
        self.info.checked_in_order = true;
        self
    }

    /// Damages the block that holds a byte of a file.
    pub fn damage(&self, file: Ino, at: u64) {
        self.extents(file, at, &mut |extent| {
            let ExtentSource::Block { block, .. } = extent.source else {
                panic!("a hole")
            };
            self.damaged.lock().unwrap().insert(block);
            ControlFlow::Break(())
        })
        .unwrap();
    }

    /// Makes `parent` return a wrong parent of a directory.
    pub fn lie_about_parent(&mut self, dir: Id, parent: Ino) {
        self.foreign_parents.insert(dir.0, parent);
    }

    /// Returns the blocks that reads went to, in order, without repetitions that follow each other.
    pub fn touched(&self) -> Vec<u64> {
        self.touched.lock().unwrap().clone()
    }

    /// Returns what a cache would have done since it was last asked.
    pub fn take_kept(&self) -> CacheModel {
        std::mem::take(&mut *self.kept.lock().unwrap())
    }

    fn node(&self, ino: Ino) -> Result<(usize, &MemNode)> {
        let index = usize::try_from(ino.0 ^ self.mask).unwrap_or(usize::MAX);
        let node = self.nodes.get(index);
        Ok((
            index,
            node.ok_or_else(|| Error::not_found(format!("no inode {}", ino.0)))?,
        ))
    }

    fn entries(&self, ino: Ino) -> Result<(usize, &Entries)> {
        match &self.node(ino)?.1.body {
            NodeContent::Directory { parent, entries } => Ok((*parent, entries)),
            _ => Err(Error::invalid("not a directory")),
        }
    }

    fn read_block(&self, block: u64, offset: u64, into: &mut [u8]) -> Result<()> {
        let mut touched = self.touched.lock().unwrap();
        if touched.last() != Some(&block) {
            touched.push(block);
        }
        drop(touched);
        let mut kept = self.kept.lock().unwrap();
        if kept.now.insert(block) {
            kept.most = kept.most.max(kept.now.len());
            kept.missed.push(block);
        }
        drop(kept);
        if self.damaged.lock().unwrap().contains(&block) {
            return Err(Error::corrupt("checksum does not match").at("block", block));
        }
        let offset = offset as usize;
        into.copy_from_slice(&self.blocks[block as usize][offset..offset + into.len()]);
        Ok(())
    }
}

impl Image for MemImage {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let (_, node) = self.node(ino)?;
        let (mut nlink, mut size, mut allocated) = (node.names, 0, 0);
        match &node.body {
            NodeContent::Directory { entries, .. } => {
                let dirs = entries.iter().filter(|(_, child)| {
                    matches!(self.nodes[*child].body, NodeContent::Directory { .. })
                });
                nlink = 2 + dirs.count() as u32;
                size = entries.len() as u64;
            }
            NodeContent::File(extents) => {
                size = extents.iter().map(|extent| extent.len).sum();
                allocated = extents
                    .iter()
                    .filter(|extent| extent.source != ExtentSource::Hole)
                    .map(|extent| extent.len)
                    .sum();
            }
            NodeContent::Symlink(target) => size = target.len() as u64,
            NodeContent::Special => {}
        }
        let (kind, meta, rdev) = (node.kind, node.meta, node.rdev);
        Ok(Inode {
            ino,
            kind,
            meta,
            nlink,
            size,
            allocated,
            rdev,
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (_, entries) = self.entries(dir)?;
        let from = usize::try_from(from.0)
            .unwrap_or(usize::MAX)
            .min(entries.len());
        for (position, (name, child)) in entries.iter().enumerate().skip(from) {
            let (ino, kind) = (self.ino(Id(*child)), self.nodes[*child].kind);
            let next = Cursor(position as u64 + 1);
            if visit(Dirent {
                name,
                ino,
                kind,
                next,
            })
            .is_break()
            {
                break;
            }
        }
        Ok(())
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let (_, entries) = self.entries(dir)?;
        let at = entries.binary_search_by(|(other, _)| other.as_slice().cmp(name));
        Ok(at.ok().map(|at| self.ino(Id(entries[at].1))))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let (index, _) = self.node(dir)?;
        if let Some(parent) = self.foreign_parents.get(&index) {
            return Ok(*parent);
        }
        Ok(self.ino(Id(self.entries(dir)?.0)))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        match &self.node(ino)?.1.body {
            NodeContent::Symlink(target) => Ok(target.clone()),
            _ => Err(Error::invalid("not a symlink")),
        }
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let NodeContent::File(extents) = &self.node(ino)?.1.body else {
            return Err(Error::invalid("not a regular file"));
        };
        for extent in extents
            .iter()
            .filter(|extent| extent.offset + extent.len > from)
        {
            if visit(*extent).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        let mut failed = None;
        self.extents(ino, offset, &mut |extent| {
            let skip = (offset + filled as u64) - extent.offset;
            let len = buf.len() - filled;
            let len = len.min(usize::try_from(extent.len - skip).unwrap_or(usize::MAX));
            let part = &mut buf[filled..filled + len];
            match extent.source {
                ExtentSource::Hole => part.fill(0),
                ExtentSource::Block { block, offset } => {
                    if let Err(error) = self.read_block(block, offset + skip, part) {
                        failed = Some(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            filled += len;
            if filled == buf.len() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        failed.map_or(Ok(filled), Err)
    }

    fn release(&self, block: u64) {
        self.kept.lock().unwrap().now.remove(&block);
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        Ok(self.node(ino)?.1.xattrs.clone())
    }
}
