//! An archive as an image, for what only looks into it: it is scanned once, and its files are read
//! where they are in it (in a scratch file, if it is compressed or a pipe).
//!
//! Enters the path of an archive; leaves an [`Image`]. **Invariant:** inode n + 1 is node n of
//! the scanned tree, which does not change.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_format::{Handle, InfoRows, InfoValue, uncompressed_blocks};
use sinterfs_model::{
    Capability, Content, Cursor, Dirent, Error, Extent, ExtentSource, FileContent, FileType,
    FsInfo, Image as ModelImage, ImageInfo, Ino, Inode, Loss, NodeId, Rdev, Result, Source, Tree,
    Xattrs,
};
use sinterfs_ops::StoredBlock;
use sinterfs_platform::Scratch;
use sinterfs_source::archive::{ImpliedDirectories, Options};
use sinterfs_source::{Archive, Exclude};

use crate::image::Image;
use crate::kept_warnings::{KeptWarnings, copy};

/// The name that archives have among the formats.
const NAME: &str = "archive";

/// Opens the archive in a file, or that from standard input for `-`.
pub(crate) fn open(path: &Path) -> Result<Image> {
    let options = Options {
        exclude: Exclude::default(),
        root: None,
        implied: ImpliedDirectories::default(),
        scratch: Scratch::new(std::env::temp_dir()),
    };
    let archive = if path.as_os_str() == "-" {
        Archive::stdin(options)
    } else {
        Archive::open(path, options)
    };
    let archive = archive?;
    let kept = KeptWarnings::default();
    let tree = archive.scan(&kept)?;
    let mut left_out = kept.into_warnings();
    let losses = archive.losses().into_iter();
    left_out.extend(losses.map(|loss: Loss| Error::unsupported(loss.to_string())));
    let image = Arc::new(ArchiveImage {
        info: info(&tree),
        archive,
        tree,
    });
    let handle = Opened {
        image: Arc::clone(&image) as _,
        cache: Arc::new(BlockCache::new(0, 1 << 12)),
        left_out,
    };
    Ok(Image::new(NAME, Box::new(handle), None, None, None, None))
}

fn info(tree: &Tree) -> ImageInfo {
    let bytes = tree.stats().bytes;
    ImageInfo {
        format: NAME,
        version: String::new(),
        root: ino(NodeId::ROOT),
        totals: FsInfo {
            inodes: tree.nodes().len() as u64,
            bytes: Some(bytes),
            stored: bytes,
            block_size: 1 << 12,
        },
        checked_in_order: false,
        capability: Capability {
            xattrs: true,
            special_hard_links: true,
            holes: true,
            all_times: true,
            time_unit: 1,
        },
    }
}

/// A scanned archive.
struct ArchiveImage {
    archive: Archive,
    tree: Tree,
    info: ImageInfo,
}

fn ino(node: NodeId) -> Ino {
    Ino(u64::from(node.0) + 1)
}

impl ArchiveImage {
    /// Returns the node of an inode.
    fn node(&self, ino: Ino) -> Result<NodeId> {
        let index = ino.0.checked_sub(1).map(u32::try_from);
        let known = index.and_then(|index| index.ok().map(NodeId));
        let known = known.filter(|node| node.index() < self.tree.nodes().len());
        known.ok_or_else(|| Error::no_inode(ino.0))
    }

    /// Returns a node that must be a directory.
    fn directory(&self, ino: Ino) -> Result<NodeId> {
        let node = self.node(ino)?;
        match self.kind(node) {
            FileType::Directory => Ok(node),
            _ => Err(Error::invalid("not a directory")),
        }
    }

    fn kind(&self, node: NodeId) -> FileType {
        self.tree.node(node).content.kind()
    }

    fn content(&self, node: NodeId) -> Result<Box<dyn FileContent>> {
        match self.kind(node) {
            FileType::File => self.archive.open(&self.tree, node),
            _ => Err(Error::invalid("not a regular file")),
        }
    }

    /// Returns how many names a node has, as `stat` counts them.
    fn names(&self, node: NodeId) -> u32 {
        let directories = self.tree.children(node).iter();
        let directories = directories.filter(|link| self.kind(link.node) == FileType::Directory);
        match self.kind(node) {
            FileType::Directory => {
                u32::try_from(directories.count()).map_or(u32::MAX, |below| below.saturating_add(2))
            }
            _ => self.tree.node(node).links.max(1),
        }
    }

    /// Returns the size of a node, and how many bytes of it are not in holes.
    fn size(&self, node: NodeId) -> Result<(u64, u64)> {
        let size = match self.tree.node(node).content {
            Content::File { size } => {
                let extents = self.content(node)?.extents()?;
                let data = extents.iter();
                let data = data.filter(|extent| extent.source != ExtentSource::Hole);
                return Ok((size, data.map(|extent| extent.len).sum()));
            }
            Content::Symlink(target) => self.tree.bytes(target).len() as u64,
            Content::Directory { count, .. } => count.into(),
            _ => 0,
        };
        Ok((size, size))
    }
}

impl ModelImage for ArchiveImage {
    fn info(&self) -> &ImageInfo {
        &self.info
    }

    fn inode(&self, ino: Ino) -> Result<Inode> {
        let node = self.node(ino)?;
        let fields = self.tree.node(node);
        let (size, allocated) = self.size(node)?;
        Ok(Inode {
            ino,
            kind: fields.content.kind(),
            meta: fields.meta,
            nlink: self.names(node),
            size,
            allocated,
            rdev: match fields.content {
                Content::CharDevice(rdev) | Content::BlockDevice(rdev) => rdev,
                _ => Rdev::default(),
            },
        })
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let links = self.tree.children(self.directory(dir)?).iter();
        let start = usize::try_from(from.0).unwrap_or(usize::MAX);
        for (position, link) in (from.0..).zip(links.skip(start)) {
            let entry = Dirent {
                name: self.tree.bytes(link.name),
                ino: ino(link.node),
                kind: self.kind(link.node),
                next: Cursor(position + 1),
            };
            if visit(entry).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let links = self.tree.children(self.directory(dir)?);
        let found = links.binary_search_by(|link| self.tree.bytes(link.name).cmp(name));
        let found = found.ok().and_then(|index| links.get(index));
        Ok(found.map(|link| ino(link.node)))
    }

    fn parent(&self, dir: Ino) -> Result<Ino> {
        let node = self.directory(dir)?;
        if node == NodeId::ROOT {
            return Ok(dir);
        }
        let first = self.tree.node(node).first_link as usize;
        let parent = self.tree.links().get(first).map(|link| ino(link.parent));
        parent.ok_or_else(|| Error::no_inode(dir.0))
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        match self.tree.node(self.node(ino)?).content {
            Content::Symlink(target) => Ok(self.tree.bytes(target).to_vec()),
            _ => Err(Error::invalid("not a symlink")),
        }
    }

    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()> {
        let node = self.node(ino)?;
        let rank = self.archive.rank(&self.tree, node);
        for extent in self.content(node)?.extents()? {
            if extent.offset.saturating_add(extent.len) <= from {
                continue;
            }
            let source = match extent.source {
                ExtentSource::Hole => ExtentSource::Hole,
                ExtentSource::Block { .. } => ExtentSource::Block {
                    block: rank,
                    offset: extent.offset,
                },
            };
            if visit(Extent { source, ..extent }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        self.content(self.node(ino)?)?.read_at(offset, buf)
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let set = self.tree.node(self.node(ino)?).xattrs;
        let pairs = self.tree.xattrs().pairs(set);
        Ok(pairs
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect())
    }
}

/// An opened archive.
struct Opened {
    image: Arc<dyn ModelImage>,
    /// Content is not encoded, so it stays empty.
    cache: Arc<BlockCache>,
    /// What a tree cannot hold of it.
    left_out: Vec<Error>,
}

impl Handle for Opened {
    fn image(&self) -> &Arc<dyn ModelImage> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        Ok(vec![("format".to_owned(), InfoValue::from(NAME))])
    }

    fn dump(&self, _: &mut dyn Write) -> Result<()> {
        Err(Error::unsupported("the structures of an archive"))
    }

    fn offset(&self) -> u64 {
        0
    }

    fn warnings(&self) -> Vec<Error> {
        self.left_out.iter().map(copy).collect()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    fn decoded_bytes(&self) -> u64 {
        self.image.info().totals.stored
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        uncompressed_blocks(&*self.image, of, visit)
    }
}
