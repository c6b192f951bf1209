//! An image as a source: any `sinterfs_model::Image` becomes a tree and the content of its files.
//!
//! Enters an open image; leaves a `Tree` with everything that `Image` provides (hard links, holes,
//! devices, extended attributes, times in the image's resolution). No format is known here.
//! **Invariant:** the tree depends on the image alone. An image does not change, so a file that
//! cannot be read is damaged: the first such error is kept in the `Damage` of the caller.

mod content;
mod map;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use sinterfs_model::{
    Content, Cursor, Error, ExtentSource, FileContent, FileType, Image, Ino, Inode, NodeId,
    Observer, Result, Source, Stage, Tally, Tree, TreeBuilder,
};
use sinterfs_platform::names;

use content::ImageFile;

pub use content::Damage;
pub use map::content_map;

/// Entries between two reports of progress.
const BATCH: u64 = 1024;

/// An open image as a source.
pub struct ImageSource {
    image: Arc<dyn Image>,
    /// For messages.
    path: PathBuf,
    damage: Arc<Damage>,
    scanned: OnceLock<Scanned>,
}

/// The results of a scan besides the tree, by node.
struct Scanned {
    inos: Vec<Ino>,
    /// The rank of each file by the position of its first stored byte.
    ranks: Vec<u32>,
}

impl std::fmt::Debug for ImageSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImageSource")
            .field("format", &self.image.info().format)
            .finish_non_exhaustive()
    }
}

impl ImageSource {
    /// Creates a source of an image. `path` is for messages; errors are also recorded in `damage`.
    pub fn new(image: Arc<dyn Image>, path: impl Into<PathBuf>, damage: Arc<Damage>) -> Self {
        Self {
            image,
            path: path.into(),
            damage,
            scanned: OnceLock::new(),
        }
    }

    /// Returns the inode of a node of the scanned tree.
    ///
    /// # Errors
    /// `Invalid` before the scan and for a node of another tree.
    fn ino(&self, node: NodeId) -> Result<Ino> {
        let scanned = self.scanned.get();
        scanned
            .and_then(|scanned| scanned.inos.get(node.index()).copied())
            .ok_or_else(|| Error::invalid("not found by the scan of the image"))
    }
}

impl Source for ImageSource {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        let image = &*self.image;
        let mut walk = Walk::new(image, observer)?;
        walk.run()?;
        let (tree, before) = walk.builder.finish_numbered()?;
        let inos: Vec<Ino> = before.iter().map(|id| walk.inos[id.index()]).collect();
        let ranks = ranks(image, &tree, &inos)?;
        let _ = self.scanned.set(Scanned { inos, ranks });
        Ok(tree)
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        Ok(Box::new(ImageFile::new(
            Arc::clone(&self.image),
            self.ino(file)?,
            self.path.join(names::path(&tree.path(file))),
            Arc::clone(&self.damage),
        )))
    }

    fn rank(&self, _: &Tree, file: NodeId) -> u64 {
        let scanned = self.scanned.get();
        scanned.map_or(0, |scanned| u64::from(scanned.ranks[file.index()]))
    }
}

/// A walk over the directories of an image.
struct Walk<'a> {
    image: &'a dyn Image,
    observer: &'a dyn Observer,
    builder: TreeBuilder,
    /// The inode of each node, by the builder's ids.
    inos: Vec<Ino>,
    nodes: HashMap<Ino, NodeId>,
    open: Vec<(Ino, NodeId)>,
    tally: Tally,
}

impl<'a> Walk<'a> {
    fn new(image: &'a dyn Image, observer: &'a dyn Observer) -> Result<Self> {
        let root = image.info().root;
        let inode = image.inode(root)?;
        let mut walk = Self {
            image,
            observer,
            builder: TreeBuilder::new(inode.meta),
            inos: vec![root],
            nodes: HashMap::from([(root, NodeId::ROOT)]),
            open: vec![(root, NodeId::ROOT)],
            tally: Tally::default(),
        };
        walk.take_xattrs(root, NodeId::ROOT)?;
        Ok(walk)
    }

    fn run(&mut self) -> Result<()> {
        while let Some((dir, node)) = self.open.pop() {
            self.observer.check_cancelled()?;
            let mut result = Ok(());
            let image = self.image;
            image.read_dir(dir, Cursor::START, &mut |entry| {
                result = self.add(node, entry.name, entry.ino);
                match result {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            result?;
        }
        self.report_progress();
        Ok(())
    }

    fn add(&mut self, parent: NodeId, name: &[u8], ino: Ino) -> Result<()> {
        self.tally.items += 1;
        if self.tally.items >= BATCH {
            self.report_progress();
        }
        let inode = self.image.inode(ino).map_err(Error::into_corrupt_entry)?;
        if let Some(&node) = self.nodes.get(&ino) {
            if inode.kind == FileType::Directory {
                return Err(Error::corrupt("a directory has two names"));
            }
            return self.builder.link(parent, name, node);
        }
        let content = self.content(&inode)?;
        let node = self.builder.add(parent, name, inode.meta, content)?;
        self.inos.push(ino);
        self.nodes.insert(ino, node);
        if inode.kind == FileType::Directory {
            self.open.push((ino, node));
        }
        self.take_xattrs(ino, node)
    }

    fn content(&mut self, inode: &Inode) -> Result<Content> {
        Ok(match inode.kind {
            FileType::Directory => Content::Directory { first: 0, count: 0 },
            FileType::File => {
                self.tally.bytes = self.tally.bytes.saturating_add(inode.size);
                Content::File { size: inode.size }
            }
            FileType::Symlink => {
                let target = self.image.read_link(inode.ino)?;
                Content::Symlink(self.builder.intern(&target)?)
            }
            FileType::CharDevice => Content::CharDevice(inode.rdev),
            FileType::BlockDevice => Content::BlockDevice(inode.rdev),
            FileType::Fifo => Content::Fifo,
            FileType::Socket => Content::Socket,
        })
    }

    fn take_xattrs(&mut self, ino: Ino, node: NodeId) -> Result<()> {
        if !self.image.info().capability.xattrs {
            return Ok(());
        }
        self.builder.set_xattrs(node, &mut self.image.xattrs(ino)?)
    }

    fn report_progress(&mut self) {
        let tally = std::mem::take(&mut self.tally);
        self.observer.advance(Stage::Scan, tally);
    }
}

/// Ranks the files of a tree by the position of their first stored byte.
fn ranks(image: &dyn Image, tree: &Tree, inos: &[Ino]) -> Result<Vec<u32>> {
    let mut places = Vec::new();
    for (node, &ino) in (0..).zip(inos) {
        if !matches!(tree.node(NodeId(node)).content, Content::File { size: 1.. }) {
            continue;
        }
        let mut place = None;
        image.extents(ino, 0, &mut |extent| match extent.source {
            ExtentSource::Hole => ControlFlow::Continue(()),
            ExtentSource::Block { block, offset } => {
                place = Some((block, offset));
                ControlFlow::Break(())
            }
        })?;
        places.extend(place.map(|place| (place, node)));
    }
    places.sort_unstable();
    let mut ranks = vec![0; inos.len()];
    for (rank, (_, node)) in (0..).zip(places) {
        ranks[node as usize] = rank;
    }
    Ok(ranks)
}
