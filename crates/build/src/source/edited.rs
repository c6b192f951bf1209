//! A source of whose tree names are left out.
//!
//! Enters any source and what is asked of its tree; leaves another `Tree`, and the content of the same files.
//! **Invariant:** the tree depends on the source and on what is asked alone; hard links stay hard links, as
//! far as their names are still there.

use std::collections::HashMap;
use std::sync::OnceLock;

use model::{
    Content, Error, FileContent, NodeId, Observer, Result, Source, Tree, TreeBuilder, Xattrs,
};

use super::Exclude;

/// Says what becomes of a source's tree.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// What is left out, where the source does not do that itself.
    pub exclude: Exclude,
}

impl Edits {
    /// Tells whether the tree stays as it is.
    pub fn is_empty(&self) -> bool {
        self.exclude.is_empty()
    }
}

/// A source with another tree.
pub struct Edited<'a> {
    inner: &'a dyn Source,
    edits: &'a Edits,
    scanned: OnceLock<Scanned>,
}

impl std::fmt::Debug for Edited<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edited")
            .field("edits", self.edits)
            .finish_non_exhaustive()
    }
}

struct Scanned {
    /// The source's own tree.
    tree: Tree,
    /// The node of that tree that each node was made of.
    origins: Vec<NodeId>,
}

impl<'a> Edited<'a> {
    /// Stands in front of a source.
    pub fn new(inner: &'a dyn Source, edits: &'a Edits) -> Self {
        Self {
            inner,
            edits,
            scanned: OnceLock::new(),
        }
    }

    fn origin(&self, node: NodeId) -> Option<(&Tree, NodeId)> {
        let scanned = self.scanned.get()?;
        let origin = scanned.origins.get(node.index())?;
        Some((&scanned.tree, *origin))
    }
}

impl Source for Edited<'_> {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        let tree = self.inner.scan(observer)?;
        let mut copy = Copy::new(&tree, &self.edits.exclude)?;
        copy.run()?;
        let (edited, before) = copy.builder.finish_numbered()?;
        let origins = before.iter().map(|id| copy.origins[id.index()]).collect();
        let _ = self.scanned.set(Scanned { tree, origins });
        Ok(edited)
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        let Some((own, origin)) = self.origin(file) else {
            let path = String::from_utf8_lossy(&tree.path(file)).into_owned();
            let error = Error::invalid("a file that the scan of the source did not find");
            return Err(error.path(path));
        };
        self.inner.open(own, origin)
    }

    fn tells(&self, directory: NodeId) -> bool {
        let origin = self.origin(directory);
        origin.is_none_or(|(_, origin)| self.inner.tells(origin))
    }

    fn rank(&self, _: &Tree, file: NodeId) -> u64 {
        let origin = self.origin(file);
        origin.map_or(0, |(own, origin)| self.inner.rank(own, origin))
    }
}

/// A tree on its way into another.
struct Copy<'a> {
    tree: &'a Tree,
    exclude: &'a Exclude,
    builder: TreeBuilder,
    /// The node that each was made of, by the builder's ids.
    origins: Vec<NodeId>,
    /// The builder's id of nodes that have several names.
    linked: HashMap<NodeId, NodeId>,
    /// Directories to look into, with their own ids, the builder's and their paths.
    open: Vec<(NodeId, NodeId, Vec<u8>)>,
}

impl<'a> Copy<'a> {
    fn new(tree: &'a Tree, exclude: &'a Exclude) -> Result<Self> {
        let mut copy = Self {
            tree,
            exclude,
            builder: TreeBuilder::new(tree.node(NodeId::ROOT).meta),
            origins: vec![NodeId::ROOT],
            linked: HashMap::new(),
            open: vec![(NodeId::ROOT, NodeId::ROOT, Vec::new())],
        };
        copy.take_xattrs(NodeId::ROOT, NodeId::ROOT)?;
        Ok(copy)
    }

    /// Copies all that is not left out.
    fn run(&mut self) -> Result<()> {
        while let Some((directory, id, path)) = self.open.pop() {
            for link in self.tree.children(directory) {
                let name = self.tree.bytes(link.name);
                let mut below = path.clone();
                if !path.is_empty() {
                    below.push(b'/');
                }
                below.extend_from_slice(name);
                let content = self.tree.node(link.node).content;
                let is_dir = matches!(content, Content::Directory { .. });
                if !self.exclude.matches(&below, is_dir) {
                    self.add(id, name, link.node, below)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, parent: NodeId, name: &[u8], origin: NodeId, path: Vec<u8>) -> Result<()> {
        if let Some(&known) = self.linked.get(&origin) {
            return self.builder.link(parent, name, known);
        }
        let node = self.tree.node(origin);
        let content = match node.content {
            Content::Symlink(target) => {
                Content::Symlink(self.builder.intern(self.tree.bytes(target))?)
            }
            Content::Directory { .. } => Content::Directory { first: 0, count: 0 },
            other => other,
        };
        let id = self.builder.add(parent, name, node.meta, content)?;
        self.origins.push(origin);
        if matches!(content, Content::Directory { .. }) {
            self.open.push((origin, id, path));
        } else if node.links > 1 {
            self.linked.insert(origin, id);
        }
        self.take_xattrs(id, origin)
    }

    fn take_xattrs(&mut self, to: NodeId, origin: NodeId) -> Result<()> {
        let set = self.tree.node(origin).xattrs;
        if set.is_none() {
            return Ok(());
        }
        let pairs = self.tree.xattrs().pairs(set);
        let mut pairs: Xattrs = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        self.builder.set_xattrs(to, &mut pairs)
    }
}
