//! A source whose tree is edited: names are added, changed or left out.
//!
//! Enters a source and edits; leaves the edited `Tree`, and the content of its files.
//! **Invariant:** the tree depends only on the source and the edits; hard links stay hard links as
//! far as their names remain.

mod actions;
mod content_range;
mod definition;
mod edit_options;
mod file_contexts;
mod labels;
mod layer_marks;
pub(crate) mod mtime_override;
mod pseudo;
mod tokens;
mod xattrs;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use sinterfs_model::{
    Content, Error, FileContent, Meta, NodeId, Observer, Rdev, Result, Source, Tree, TreeBuilder,
    Xattrs,
};

use actions::StoredApart;
use layer_marks::MarkedEntry;
use mtime_override::{ContentStoredApart, MtimeOverride};
use pseudo::{ExistingNode, OutsideFile, PseudoNodes};

pub use actions::{Action, IdsByName};
pub use definition::{AddedXattr, Definition, DirectoryAttributes};
pub use edit_options::{Edits, LayerMarks, Shard};
pub use file_contexts::FileContexts;
pub use xattrs::XattrFilter;

/// A source with an edited tree.
pub struct EditedSource<'a> {
    inner: &'a dyn Source,
    edits: &'a Edits,
    /// `None` inside if all nodes are the source's own.
    scanned: OnceLock<Option<EditedScan>>,
    /// The files whose content is stored in a special way.
    stored: OnceLock<StoredApart>,
}

impl std::fmt::Debug for EditedSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EditedSource")
            .field("edits", self.edits)
            .finish_non_exhaustive()
    }
}

struct EditedScan {
    /// The source's own tree.
    tree: Tree,
    /// The origin of each node.
    origins: Vec<Origin>,
}

/// The origin of a node.
#[derive(Debug, Clone)]
enum Origin {
    /// A node of the source's tree.
    Own(NodeId),
    /// A file of the system, or a part of one.
    File(OutsideFile),
    /// A definition without content.
    Nothing,
}

impl<'a> EditedSource<'a> {
    /// Wraps a source.
    pub fn new(inner: &'a dyn Source, edits: &'a Edits) -> Self {
        Self {
            inner,
            edits,
            scanned: OnceLock::new(),
            stored: OnceLock::new(),
        }
    }

    /// Returns the origin of a node of the edited tree.
    fn origin(&self, node: NodeId) -> Option<Origin> {
        match self.scanned.get()? {
            Some(scanned) => scanned.origins.get(node.index()).cloned(),
            None => Some(Origin::Own(node)),
        }
    }

    /// Returns the source's own tree.
    fn own<'t>(&'t self, edited: &'t Tree) -> &'t Tree {
        match self.scanned.get() {
            Some(Some(scanned)) => &scanned.tree,
            _ => edited,
        }
    }

    /// Returns the edited tree of a source's.
    fn reshape(&self, tree: &Tree, observer: &dyn Observer) -> Result<EditedTree> {
        let edits = self.edits;
        let leaves_out = |path: &[u8], is_dir: bool, node| {
            edits.exclude.matches(path, is_dir)
                || edits
                    .shard
                    .is_some_and(|shard| !is_dir && !shard.has(tree, node))
                || actions::excludes(edits.actions(), tree, node, path)
        };
        let mut copy = TreeCopy::new(tree, edits, &leaves_out)?;
        copy.run()?;
        copy.make(observer)?;
        let (edited, before) = copy.builder.finish_numbered()?;
        let PseudoNodes {
            mut files,
            labelled,
            ..
        } = copy.making;
        let origin = |id: &NodeId| match (copy.origins.get(id.index()), files.remove(id)) {
            (Some(own), _) => Origin::Own(*own),
            (None, Some(file)) => Origin::File(file),
            (None, None) => Origin::Nothing,
        };
        let numbered = before.iter().zip((0..).map(NodeId));
        let labelled = numbered.filter(|(id, _)| labelled.contains(id));
        let mut edited = EditedTree {
            labelled: labelled.map(|(_, node)| node).collect(),
            stored: StoredApart::new(),
            origins: before.iter().map(origin).collect(),
            tree: edited,
        };
        edited.stored = actions::change(edits.actions(), &mut edited.tree);
        let gone = actions::prune(edits.actions(), &edited.tree);
        if !gone.is_empty() {
            edited = edited.without(&|path, _| gone.contains(path))?;
        }
        let was_empty = |node: NodeId| match edited.origins.get(node.index()) {
            Some(Origin::Own(own)) => tree.children(*own).is_empty(),
            _ => true,
        };
        let emptied = actions::empty(edits.actions(), &edited.tree, &was_empty);
        if !emptied.is_empty() {
            edited = edited.without(&|_, node| emptied.contains(&node))?;
        }
        Ok(edited)
    }
}

/// A tree that was edited.
struct EditedTree {
    tree: Tree,
    /// The origin of each node.
    origins: Vec<Origin>,
    /// The nodes that definitions gave a label.
    labelled: HashSet<NodeId>,
    /// The files whose content is stored in a special way.
    stored: StoredApart,
}

impl EditedTree {
    /// Leaves out names, with all that is below them.
    fn without(self, leaves_out: &dyn Fn(&[u8], NodeId) -> bool) -> Result<Self> {
        let nothing = Edits::default();
        let leaves_out = |path: &[u8], _: bool, node| leaves_out(path, node);
        let mut copy = TreeCopy::new(&self.tree, &nothing, &leaves_out)?;
        copy.run()?;
        let (cut, before) = copy.builder.finish_numbered()?;
        let former = |id: &NodeId| copy.origins.get(id.index()).copied();
        let former: Vec<NodeId> = before.iter().filter_map(former).collect();
        let moved = |nodes: &HashSet<NodeId>| {
            let numbered = (0..).map(NodeId).zip(&former);
            let kept = numbered.filter(|(_, former)| nodes.contains(former));
            kept.map(|(node, _)| node).collect()
        };
        let numbered = (0..).map(NodeId).zip(&former);
        let stored = numbered.filter_map(|(node, former)| Some((node, *self.stored.get(former)?)));
        let origin = |former: &NodeId| {
            let origin = self.origins.get(former.index());
            origin.cloned().unwrap_or(Origin::Nothing)
        };
        Ok(Self {
            origins: former.iter().map(origin).collect(),
            labelled: moved(&self.labelled),
            stored: stored.collect(),
            tree: cut,
        })
    }
}

impl Source for EditedSource<'_> {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        let mut tree = self.inner.scan(observer)?;
        if !self.edits.xattrs.is_empty() {
            self.edits.xattrs.apply(&mut tree)?;
        }
        self.edits.owners.apply(&mut tree)?;
        let (mut edited, labelled, stored) = if self.edits.names_stay() {
            let stored = actions::change(self.edits.actions(), &mut tree);
            let _ = self.scanned.set(None);
            (tree, HashSet::new(), stored)
        } else {
            let edited = self.reshape(&tree, observer)?;
            let origins = edited.origins;
            let _ = self.scanned.set(Some(EditedScan { tree, origins }));
            (edited.tree, edited.labelled, edited.stored)
        };
        let _ = self.stored.set(stored);
        actions::xattrs(self.edits.actions(), &mut edited)?;
        xattrs::add(&mut edited, &self.edits.add_xattrs)?;
        if let Some(contexts) = &self.edits.contexts {
            let below = &*self.edits.mount_point;
            labels::label(&mut edited, contexts, below, &labelled)?;
        }
        Ok(edited)
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        let content = self.open_origin(tree, file)?;
        let stored = self.stored.get().and_then(|stored| stored.get(&file));
        Ok(match stored {
            Some(&how) => Box::new(ContentStoredApart { content, how }),
            None => content,
        })
    }

    fn has_entry(&self, directory: NodeId) -> bool {
        match self.origin(directory) {
            Some(Origin::Own(origin)) => self.inner.has_entry(origin),
            _ => true,
        }
    }

    fn may_change(&self, file: NodeId) -> bool {
        match self.origin(file) {
            Some(Origin::Own(origin)) => self.inner.may_change(origin),
            Some(Origin::File(_)) => true,
            Some(Origin::Nothing) | None => false,
        }
    }

    fn rank(&self, tree: &Tree, file: NodeId) -> u64 {
        match self.origin(file) {
            Some(Origin::Own(origin)) => self.inner.rank(self.own(tree), origin),
            // after all files of the source
            _ => u64::MAX,
        }
    }
}

impl EditedSource<'_> {
    fn open_origin(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        match self.origin(file) {
            Some(Origin::Own(origin)) => {
                let own = self.own(tree);
                let inner = self.inner.open(own, origin)?;
                let time = |tree: &Tree, node| tree.node(node).meta.times.modified;
                let (scanned, reported) = (time(own, origin), time(tree, file));
                Ok(if scanned == reported {
                    inner
                } else {
                    Box::new(MtimeOverride {
                        inner,
                        scanned,
                        reported,
                    })
                })
            }
            Some(Origin::File(file)) => file.open(),
            Some(Origin::Nothing) | None => {
                let path = String::from_utf8_lossy(&tree.path(file)).into_owned();
                let error = Error::invalid("not found by the scan of the source");
                Err(error.path(path))
            }
        }
    }
}

/// Decides about a name by its path, whether it is a directory, and its node.
type LeavesOut<'a> = dyn Fn(&[u8], bool, NodeId) -> bool + 'a;

/// A tree while it is copied into another.
struct TreeCopy<'a> {
    tree: &'a Tree,
    /// Whether a name is left out: by its path, whether it is a directory, and its node.
    leaves_out: &'a LeavesOut<'a>,
    separate_links: bool,
    marks: LayerMarks,
    making: PseudoNodes<'a>,
    builder: TreeBuilder,
    /// The original of each node, by the builder's ids.
    origins: Vec<NodeId>,
    /// The builder's ids of nodes with several names.
    linked: HashMap<NodeId, NodeId>,
    /// Directories to copy: their own ids, the builder's, and their paths.
    open: Vec<(NodeId, NodeId, Vec<u8>)>,
}

impl<'a> TreeCopy<'a> {
    fn new(tree: &'a Tree, edits: &'a Edits, leaves_out: &'a LeavesOut<'a>) -> Result<Self> {
        let mut copy = Self {
            tree,
            leaves_out,
            separate_links: edits.separate_links,
            marks: edits.marks,
            making: PseudoNodes::new(edits, tree.node(NodeId::ROOT).meta),
            builder: TreeBuilder::new(tree.node(NodeId::ROOT).meta),
            origins: vec![NodeId::ROOT],
            linked: HashMap::new(),
            open: vec![(NodeId::ROOT, NodeId::ROOT, Vec::new())],
        };
        copy.take_xattrs(NodeId::ROOT, NodeId::ROOT)?;
        Ok(copy)
    }

    /// Copies all names that are not excluded.
    fn run(&mut self) -> Result<()> {
        while let Some((directory, id, path)) = self.open.pop() {
            for link in self.tree.children(directory) {
                let name = self.tree.bytes(link.name);
                let name = match self.marks.entry(self.tree, directory, link) {
                    MarkedEntry::Kept => name,
                    MarkedEntry::Dropped => continue,
                    MarkedEntry::Whiteout(hidden) => {
                        self.add_whiteout(id, hidden, link.node)?;
                        continue;
                    }
                };
                let mut below = path.clone();
                if !path.is_empty() {
                    below.push(b'/');
                }
                below.extend_from_slice(name);
                let content = self.tree.node(link.node).content;
                let is_dir = matches!(content, Content::Directory { .. });
                if !(self.leaves_out)(&below, is_dir, link.node) {
                    self.add(id, name, link.node, below)?;
                }
            }
        }
        Ok(())
    }

    /// Applies the definitions.
    fn make(&mut self, observer: &dyn Observer) -> Result<()> {
        let (tree, origins) = (self.tree, &self.origins);
        let own = |node: NodeId| {
            let origin = origins.get(node.index());
            origin.map_or_else(Xattrs::new, |&origin| xattrs(tree, origin))
        };
        let warn = &mut |error: Error| observer.warn(&error);
        self.making.run(&mut self.builder, &own, warn)
    }

    fn add(&mut self, parent: NodeId, name: &[u8], origin: NodeId, path: Vec<u8>) -> Result<()> {
        let node = self.tree.node(origin);
        let kind = node.content.kind();
        if let Some(&node) = self.linked.get(&origin) {
            self.making.note(&path, ExistingNode { node, kind });
            return self.builder.link(parent, name, node);
        }
        let content = match node.content {
            Content::Symlink(target) => {
                Content::Symlink(self.builder.intern(self.tree.bytes(target))?)
            }
            Content::Directory { .. } => Content::Directory { first: 0, count: 0 },
            other => other,
        };
        let id = self.builder.add(parent, name, node.meta, content)?;
        self.origins.push(origin);
        self.making.note(&path, ExistingNode { node: id, kind });
        if matches!(content, Content::Directory { .. }) {
            self.open.push((origin, id, path));
        } else if node.links > 1 && !self.separate_links {
            self.linked.insert(origin, id);
        }
        self.take_xattrs(id, origin)
    }

    fn take_xattrs(&mut self, to: NodeId, origin: NodeId) -> Result<()> {
        let mut all = xattrs(self.tree, origin);
        self.marks.change_xattrs(self.tree, origin, &mut all);
        if all.is_empty() {
            Ok(())
        } else {
            self.builder.set_xattrs(to, &mut all)
        }
    }

    /// Adds a whiteout of overlayfs for a name that a mark of aufs hides.
    fn add_whiteout(&mut self, parent: NodeId, name: &[u8], mark: NodeId) -> Result<()> {
        let meta = Meta {
            mode: 0,
            ..self.tree.node(mark).meta
        };
        let content = Content::CharDevice(Rdev { major: 0, minor: 0 });
        self.builder.add(parent, name, meta, content)?;
        self.origins.push(mark);
        Ok(())
    }
}

/// Copies the extended attributes of a node.
fn xattrs(tree: &Tree, node: NodeId) -> Xattrs {
    let pairs = tree.xattrs().pairs(tree.node(node).xattrs);
    pairs
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}
