//! An image as a source: any `sinterfs_model::Image` becomes a tree and the content of its files.
//!
//! Enters an open image; leaves a `Tree` with everything that `Image` provides (hard links, holes,
//! devices, extended attributes, times in the image's resolution). No format is known here.
//! **Invariant:** the tree depends only on the image. What of its metadata cannot be read is
//! reported to the observer with its path, and left out: an inode with its name, attributes of a
//! file, the rest of a directory. An image does not change, so a file whose content cannot be read
//! is damaged: the first such error is kept in the `Damage` of the caller.

mod content;
mod map;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
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

/// The most entries that cannot be read and are reported one by one.
const MOST_UNREAD: usize = 1000;

/// What becomes of what cannot be read.
const LEFT_OUT: &str = "cannot be read, left out";
const NO_END: &str = "cannot read the directory to its end";
const NO_XATTRS: &str = "cannot read the extended attributes, left out";

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
        walk.unread.report(&tree, &before, &self.path, observer);
        let inos: Vec<Ino> = before.iter().map(|id| walk.inos[id.index()]).collect();
        let ranks = ranks(image, &tree, &inos);
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
    unread: UnreadNodes,
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
            unread: UnreadNodes::default(),
        };
        walk.take_xattrs(root, NodeId::ROOT)?;
        Ok(walk)
    }

    fn run(&mut self) -> Result<()> {
        while let Some((dir, node)) = self.open.pop() {
            self.observer.check_cancelled()?;
            let mut result = Ok(());
            let image = self.image;
            let listed = image.read_dir(dir, Cursor::START, &mut |entry| {
                result = self.add(node, entry.name, entry.ino);
                match result {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            let listed = listed.map_err(Error::into_corrupt_entry);
            self.unread.settle((node, b""), NO_END, listed)?;
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
        let inode = self.image.inode(ino).map_err(Error::into_corrupt_entry);
        let Some(inode) = self.unread.settle((parent, name), LEFT_OUT, inode)? else {
            return Ok(());
        };
        if let Some(&node) = self.nodes.get(&ino) {
            if inode.kind == FileType::Directory {
                let error = Error::corrupt("a directory has two names");
                return self.unread.note((parent, name), LEFT_OUT, error);
            }
            return self.builder.link(parent, name, node);
        }
        let Some(content) = self.content((parent, name), &inode)? else {
            return Ok(());
        };
        let node = self.builder.add(parent, name, inode.meta, content)?;
        self.inos.push(ino);
        self.nodes.insert(ino, node);
        if inode.kind == FileType::Directory {
            self.open.push((ino, node));
        }
        self.take_xattrs(ino, node)
    }

    /// Returns the content of an inode; `None` if it cannot be read, which is noted.
    fn content(&mut self, name: (NodeId, &[u8]), inode: &Inode) -> Result<Option<Content>> {
        Ok(Some(match inode.kind {
            FileType::Directory => Content::Directory { first: 0, count: 0 },
            FileType::File => {
                self.tally.bytes = self.tally.bytes.saturating_add(inode.size);
                Content::File { size: inode.size }
            }
            FileType::Symlink => {
                let target = self.image.read_link(inode.ino);
                let Some(target) = self.unread.settle(name, LEFT_OUT, target)? else {
                    return Ok(None);
                };
                Content::Symlink(self.builder.intern(&target)?)
            }
            FileType::CharDevice => Content::CharDevice(inode.rdev),
            FileType::BlockDevice => Content::BlockDevice(inode.rdev),
            FileType::Fifo => Content::Fifo,
            FileType::Socket => Content::Socket,
        }))
    }

    fn take_xattrs(&mut self, ino: Ino, node: NodeId) -> Result<()> {
        if !self.image.info().capability.xattrs {
            return Ok(());
        }
        let xattrs = self.image.xattrs(ino).map_err(Error::into_corrupt_entry);
        match self.unread.settle((node, b""), NO_XATTRS, xattrs)? {
            Some(mut xattrs) => self.builder.set_xattrs(node, &mut xattrs),
            None => Ok(()),
        }
    }

    fn report_progress(&mut self) {
        let tally = std::mem::take(&mut self.tally);
        self.observer.advance(Stage::Scan, tally);
    }
}

/// What could not be read of an image on the way, by the builder's ids.
#[derive(Default)]
struct UnreadNodes {
    /// A node, the name of what is missing in it (if it is not the node itself), and why.
    all: Vec<(NodeId, Vec<u8>, Error)>,
    more: u64,
}

impl UnreadNodes {
    /// Keeps an error about the image with what becomes of the entry, and returns any other.
    fn note(&mut self, (node, name): (NodeId, &[u8]), what: &str, error: Error) -> Result<()> {
        if !error.is_about_image() {
            return Err(error);
        }
        if self.all.len() < MOST_UNREAD {
            let error = Error::new(error.kind(), format!("{what}: {error}"));
            self.all.push((node, name.to_vec(), error));
        } else {
            self.more += 1;
        }
        Ok(())
    }

    /// Keeps the error of a result, as [`Self::note`] does; returns its value.
    fn settle<T>(
        &mut self,
        at: (NodeId, &[u8]),
        what: &str,
        result: Result<T>,
    ) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.note(at, what, error).map(|()| None),
        }
    }

    /// Warns of each error, with the path in the tree; `before` has the builder's id of each node.
    fn report(self, tree: &Tree, before: &[NodeId], image: &Path, observer: &dyn Observer) {
        for (node, name, error) in self.all {
            let index = before.iter().position(|id| *id == node).unwrap_or(0);
            let id = u32::try_from(index).map_or(NodeId::ROOT, NodeId);
            let mut path = image.join(names::path(&tree.path(id)));
            if !name.is_empty() {
                path.push(names::path(&name));
            }
            observer.warn(&error.path(path));
        }
        if self.more > 0 {
            let what = format!("{} more entries cannot be read", self.more);
            observer.warn(&Error::corrupt(what).path(image));
        }
    }
}

/// Ranks the files of a tree by the position of their first stored byte. Where the content of a
/// file is unknown because of damage, reading it reports that.
fn ranks(image: &dyn Image, tree: &Tree, inos: &[Ino]) -> Vec<u32> {
    let mut places = Vec::new();
    for (node, &ino) in (0..).zip(inos) {
        if !matches!(tree.node(NodeId(node)).content, Content::File { size: 1.. }) {
            continue;
        }
        let mut place = None;
        let _ = image.extents(ino, 0, &mut |extent| match extent.source {
            ExtentSource::Hole => ControlFlow::Continue(()),
            ExtentSource::Block { block, offset } => {
                place = Some((block, offset));
                ControlFlow::Break(())
            }
        });
        places.extend(place.map(|place| (place, node)));
    }
    places.sort_unstable();
    let mut ranks = vec![0; inos.len()];
    for (rank, (_, node)) in (0..).zip(places) {
        ranks[node as usize] = rank;
    }
    ranks
}
