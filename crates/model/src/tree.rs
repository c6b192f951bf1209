//! The scanned tree: flat tables of nodes and links, a few dozen bytes each, sorted by name.
//!
//! **Invariant:** node 0 is the root directory; every other directory has exactly one link; a
//! file with several links is a hard link; the links of a directory are contiguous and sorted
//! bytewise by name. Names are bytes.

use crate::{Error, FileType, Meta, Rdev, Result, XattrSet, XattrSets};

/// The index of a node in a tree; 0 is the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The root directory of every tree.
    pub const ROOT: Self = Self(0);

    /// Returns the id as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A reference to a string in the arena of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NameRef {
    start: u64,
    len: u32,
}

/// The type of a node and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A directory: its links are `links[first..first + count]`.
    Directory {
        /// Index of its first link.
        first: u32,
        /// Number of its links.
        count: u32,
    },
    /// A regular file, with its size when scanned.
    File {
        /// Bytes, holes included.
        size: u64,
    },
    /// A symlink with its target.
    Symlink(NameRef),
    /// A character device.
    CharDevice(Rdev),
    /// A block device.
    BlockDevice(Rdev),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}

impl Content {
    /// Returns the file type.
    pub const fn kind(&self) -> FileType {
        match self {
            Self::Directory { .. } => FileType::Directory,
            Self::File { .. } => FileType::File,
            Self::Symlink(_) => FileType::Symlink,
            Self::CharDevice(_) => FileType::CharDevice,
            Self::BlockDevice(_) => FileType::BlockDevice,
            Self::Fifo => FileType::Fifo,
            Self::Socket => FileType::Socket,
        }
    }
}

/// One inode of the tree.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// Permissions, owner, times.
    pub meta: Meta,
    /// Type and content.
    pub content: Content,
    /// Extended attributes.
    pub xattrs: XattrSet,
    /// Number of links to it (1 for the root and every directory).
    pub links: u32,
    /// The first link to it; meaningless for the root.
    pub first_link: u32,
}

/// One name of a node in a directory.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// The name.
    pub name: NameRef,
    /// The directory that holds the name.
    pub parent: NodeId,
    /// The node of that name.
    pub node: NodeId,
}

/// The number of entries of each type in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeStats {
    /// Directories, the root included.
    pub directories: u64,
    /// Regular files, hard links once.
    pub files: u64,
    /// Symlinks.
    pub symlinks: u64,
    /// Devices, fifos and sockets.
    pub specials: u64,
    /// Names beyond the first of a node.
    pub hard_links: u64,
    /// Bytes of regular files, hard links once, holes included.
    pub bytes: u64,
}

/// A whole scanned tree.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
    links: Vec<Link>,
    arena: Vec<u8>,
    xattrs: XattrSets,
}

impl Tree {
    /// Returns the sets of extended attributes that nodes refer to.
    pub fn xattrs(&self) -> &XattrSets {
        &self.xattrs
    }

    /// Returns the number of nodes with extended attributes.
    pub fn with_xattrs(&self) -> u64 {
        let with = self.nodes.iter().filter(|node| !node.xattrs.is_none());
        with.count() as u64
    }

    /// Returns all nodes; the index is the `NodeId`.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the nodes for changes of `meta`; `content` and `links` must not be changed.
    pub fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// Replaces the extended attributes of all nodes: `change` gets the unchanged tree and a node,
    /// and returns the set of that node in the new sets, to which it may add.
    ///
    /// # Errors
    /// Those of `change`; the tree is then unchanged.
    pub fn change_xattrs(
        &mut self,
        mut change: impl FnMut(&Self, NodeId, &mut XattrSets) -> Result<XattrSet>,
    ) -> Result<()> {
        let mut sets = XattrSets::default();
        let nodes = (0..self.nodes.len()).map(|index| NodeId(index as u32));
        let changed = nodes.map(|node| change(self, node, &mut sets));
        let changed = changed.collect::<Result<Vec<_>>>()?;
        for (node, set) in self.nodes.iter_mut().zip(changed) {
            node.xattrs = set;
        }
        self.xattrs = sets;
        Ok(())
    }

    /// Returns all links, grouped by directory.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns a node.
    ///
    /// # Panics
    /// For an id of another tree.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns the links of a directory, sorted by name; none for other nodes.
    pub fn children(&self, dir: NodeId) -> &[Link] {
        match self.node(dir).content {
            Content::Directory { first, count } => {
                &self.links[first as usize..first as usize + count as usize]
            }
            _ => &[],
        }
    }

    /// Returns the bytes of a name or of a symlink target.
    pub fn bytes(&self, name: NameRef) -> &[u8] {
        let start = usize::try_from(name.start).unwrap_or(usize::MAX);
        &self.arena[start..start + name.len as usize]
    }

    /// Returns the bytes of all names and symlink targets.
    pub fn name_bytes(&self) -> u64 {
        self.arena.len() as u64
    }

    /// Returns the path of a node by its first link, without a leading slash; empty for the root.
    pub fn path(&self, id: NodeId) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = id;
        while at != NodeId::ROOT {
            let link = &self.links[self.node(at).first_link as usize];
            names.push(self.bytes(link.name));
            at = link.parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Returns the path of a name in a directory.
    pub fn link_path(&self, link: &Link) -> Vec<u8> {
        let mut path = self.path(link.parent);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(self.bytes(link.name));
        path
    }

    /// Returns the path of a node with the name of one of its attributes, as messages have it.
    pub fn attribute_path(&self, node: NodeId, attribute: &[u8]) -> Vec<u8> {
        let path = self.path(node);
        let shown: &[u8] = if path.is_empty() { b"." } else { &path };
        [shown, b": ", attribute].concat()
    }

    /// Counts the entries of each type.
    pub fn stats(&self) -> TreeStats {
        let mut stats = TreeStats::default();
        for node in &self.nodes {
            match node.content {
                Content::Directory { .. } => stats.directories += 1,
                Content::File { size } => {
                    stats.files += 1;
                    stats.bytes = stats.bytes.saturating_add(size);
                }
                Content::Symlink(_) => stats.symlinks += 1,
                _ => stats.specials += 1,
            }
            stats.hard_links += u64::from(node.links.saturating_sub(1));
        }
        stats
    }
}

/// Collects nodes and links in any order and sorts them into a `Tree`.
#[derive(Debug)]
pub struct TreeBuilder {
    nodes: Vec<Node>,
    links: Vec<Link>,
    arena: Vec<u8>,
    xattrs: XattrSets,
}

impl TreeBuilder {
    /// Starts a tree with its root directory.
    pub fn new(root: Meta) -> Self {
        let content = Content::Directory { first: 0, count: 0 };
        let root = Node {
            meta: root,
            content,
            xattrs: XattrSet::NONE,
            links: 1,
            first_link: 0,
        };
        Self {
            nodes: vec![root],
            links: Vec::new(),
            arena: Vec::new(),
            xattrs: XattrSets::default(),
        }
    }

    /// Sets the extended attributes of a node: full names and values, in any order.
    ///
    /// # Errors
    /// `Invalid` if a name occurs twice.
    pub fn set_xattrs(&mut self, node: NodeId, pairs: &mut [(Vec<u8>, Vec<u8>)]) -> Result<()> {
        self.nodes[node.index()].xattrs = self.xattrs.intern(pairs)?;
        Ok(())
    }

    /// Returns the permissions, owner and times of a node, to be changed.
    pub fn meta_mut(&mut self, node: NodeId) -> &mut Meta {
        &mut self.nodes[node.index()].meta
    }

    /// Adds a string (a symlink target) to the arena.
    pub fn intern(&mut self, bytes: &[u8]) -> Result<NameRef> {
        let start = self.arena.len() as u64;
        let len = u32::try_from(bytes.len()).map_err(|_| Error::limit("name longer than 4 GiB"))?;
        self.arena.extend_from_slice(bytes);
        Ok(NameRef { start, len })
    }

    /// Adds a node and its first link. A directory's `first` and `count` are filled in later.
    pub fn add(
        &mut self,
        parent: NodeId,
        name: &[u8],
        meta: Meta,
        content: Content,
    ) -> Result<NodeId> {
        let id = u32::try_from(self.nodes.len())
            .map(NodeId)
            .map_err(|_| Error::limit("more than 4294967295 files"))?;
        self.nodes.push(Node {
            meta,
            content,
            xattrs: XattrSet::NONE,
            links: 0,
            first_link: 0,
        });
        self.link(parent, name, id)?;
        Ok(id)
    }

    /// Adds another name of a node that is not a directory.
    pub fn link(&mut self, parent: NodeId, name: &[u8], node: NodeId) -> Result<()> {
        let name = self.intern(name)?;
        if self.links.len() >= u32::MAX as usize {
            return Err(Error::limit("more than 4294967295 names"));
        }
        self.links.push(Link { name, parent, node });
        self.nodes[node.index()].links += 1;
        Ok(())
    }

    /// Sorts all links and numbers nodes in the order of a walk by name, so that the tree does not
    /// depend on the order in which entries were added.
    pub fn finish(self) -> Result<Tree> {
        Ok(self.finish_numbered()?.0)
    }

    /// Finishes the tree like `finish`; also returns, for each node, the ID that `add` returned for
    /// it.
    pub fn finish_numbered(mut self) -> Result<(Tree, Vec<NodeId>)> {
        self.sort_links();
        self.number_links();
        let order = self.walk_order()?;
        Ok((self.renumber(&order), order))
    }

    fn name(&self, link: &Link) -> &[u8] {
        let start = usize::try_from(link.name.start).unwrap_or(usize::MAX);
        &self.arena[start..start + link.name.len as usize]
    }

    fn sort_links(&mut self) {
        let mut links = std::mem::take(&mut self.links);
        links.sort_unstable_by(|a, b| {
            a.parent
                .cmp(&b.parent)
                .then_with(|| self.name(a).cmp(self.name(b)))
        });
        self.links = links;
    }

    fn number_links(&mut self) {
        let mut at = 0;
        for run in self.links.chunk_by(|a, b| a.parent == b.parent) {
            let (first, count) = (at, run.len() as u32);
            at += count;
            if let Some(link) = run.first() {
                self.nodes[link.parent.index()].content = Content::Directory { first, count };
            }
        }
    }

    /// Returns the nodes level by level from the root. Fails if there is a cycle or an orphan.
    fn walk_order(&self) -> Result<Vec<NodeId>> {
        let mut order = vec![NodeId::ROOT];
        let mut seen = vec![false; self.nodes.len()];
        seen[0] = true;
        let mut next = 0;
        while let Some(&dir) = order.get(next) {
            next += 1;
            let Content::Directory { first, count } = self.nodes[dir.index()].content else {
                continue;
            };
            let range = first as usize..first as usize + count as usize;
            for pair in self.links[range.clone()].windows(2) {
                if self.name(&pair[0]) == self.name(&pair[1]) {
                    let name = String::from_utf8_lossy(self.name(&pair[0])).into_owned();
                    return Err(Error::invalid(format!(
                        "a directory has the name {name:?} twice"
                    )));
                }
            }
            for link in &self.links[range] {
                if !std::mem::replace(&mut seen[link.node.index()], true) {
                    order.push(link.node);
                }
            }
        }
        if order.len() != self.nodes.len() {
            return Err(Error::invalid(
                "a directory of the tree cannot be reached from the root",
            ));
        }
        Ok(order)
    }

    fn renumber(self, order: &[NodeId]) -> Tree {
        let mut new_id = vec![NodeId::ROOT; order.len()];
        for (new, old) in order.iter().enumerate() {
            new_id[old.index()] = NodeId(new as u32);
        }
        let mut nodes = Vec::with_capacity(order.len());
        let mut links = Vec::with_capacity(self.links.len());
        for &old in order {
            let mut node = self.nodes[old.index()];
            if let Content::Directory { first, count } = &mut node.content {
                let range = *first as usize..*first as usize + *count as usize;
                *first = links.len() as u32;
                links.extend(self.links[range].iter().map(|link| Link {
                    name: link.name,
                    parent: new_id[old.index()],
                    node: new_id[link.node.index()],
                }));
            }
            nodes.push(node);
        }
        for (index, link) in links.iter().enumerate().rev() {
            nodes[link.node.index()].first_link = index as u32;
        }
        Tree {
            nodes,
            links,
            arena: self.arena,
            xattrs: self.xattrs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Content {
        Content::Directory { first: 0, count: 0 }
    }

    #[test]
    fn order_of_adding_does_not_matter() {
        let mut builder = TreeBuilder::new(Meta::default());
        let b = builder
            .add(NodeId::ROOT, b"b", Meta::default(), directory())
            .unwrap();
        let file = builder
            .add(b, b"z", Meta::default(), Content::File { size: 7 })
            .unwrap();
        builder
            .add(NodeId::ROOT, b"a", Meta::default(), Content::Fifo)
            .unwrap();
        builder.link(b, b"\xff", file).unwrap();
        builder.link(NodeId::ROOT, b"c", file).unwrap();
        let (tree, before) = builder.finish_numbered().unwrap();

        let names: Vec<_> = tree
            .children(NodeId::ROOT)
            .iter()
            .map(|link| tree.bytes(link.name))
            .collect();
        assert_eq!(names, [b"a", b"b", b"c"]);
        let now = tree.children(NodeId::ROOT)[2].node;
        assert_eq!(before[now.index()], file);
        let file = now;
        assert_eq!(tree.node(file).links, 3);
        assert_eq!(tree.path(file), b"c");
        assert_eq!(tree.stats().hard_links, 2);
        assert_eq!(tree.stats().bytes, 7);
    }

    #[test]
    fn a_name_twice_is_refused() {
        let mut builder = TreeBuilder::new(Meta::default());
        builder
            .add(NodeId::ROOT, b"a", Meta::default(), Content::Fifo)
            .unwrap();
        builder
            .add(NodeId::ROOT, b"a", Meta::default(), Content::Socket)
            .unwrap();
        assert!(builder.finish().is_err());
    }

    #[test]
    fn an_unreachable_directory_is_refused() {
        let mut builder = TreeBuilder::new(Meta::default());
        let a = builder
            .add(NodeId::ROOT, b"a", Meta::default(), directory())
            .unwrap();
        builder.links[0].parent = a;
        assert!(builder.finish().is_err());
    }
}
