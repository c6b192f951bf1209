//! Turns the members of an archive into a `Tree`.
//!
//! In: a `MemberTree`. Out: a `BuiltTree`. **Invariant:** names are added in the order of the walk;
//! a file that has several names is one node.

use sinterfs_model::{Content, Error, Meta, NodeId, Result, Time, Times, TreeBuilder, Xattrs};
use sinterfs_platform::names;

use super::{BuiltTree, FileKind, MemberTree, implied, plain};
use crate::Exclude;
use crate::archive::implied::ImpliedDirectories;

impl MemberTree {
    /// Builds the tree of a directory (`None` for the root), without names that are excluded by
    /// their paths from there. Fails with `NotFound` or `Invalid` if it is no directory of the
    /// archive.
    pub(crate) fn finish(
        mut self,
        root: Option<&[u8]>,
        exclude: &Exclude,
        attributes: ImpliedDirectories,
    ) -> Result<BuiltTree> {
        if self.files.is_empty() {
            self.files.push(implied(&Meta::default()));
        }
        let root_path = root.unwrap_or_default();
        let root = self.numbered(root_path)?;
        let root_path = plain(root_path).unwrap_or_default().join(&b'/');
        for file in self.files.iter_mut().filter(|file| file.implied) {
            let Meta {
                mode,
                uid,
                gid,
                times,
            } = &mut file.meta;
            *mode = attributes.mode.unwrap_or(*mode);
            *uid = attributes.uid.unwrap_or(*uid);
            *gid = attributes.gid.unwrap_or(*gid);
            let time = attributes.time.map(|secs| Time { secs, nanos: 0 });
            *times = time.map_or(*times, Times::all);
        }
        let meta = self.files.get(root as usize).map(|root| root.meta);
        let mut builder = TreeBuilder::new(meta.unwrap_or_default());
        let mut growth = TreeWalk {
            nodes: vec![None; self.files.len()],
            of_nodes: vec![u32::MAX],
            of_files: vec![root],
            open: vec![(root, NodeId::ROOT, Vec::new())],
        };
        self.take_xattrs(&mut builder, root, NodeId::ROOT)?;
        while let Some((directory, node, path)) = growth.open.pop() {
            for (name, &file) in self.names(directory).into_iter().flatten() {
                let mut below = Vec::new();
                if !exclude.is_empty() {
                    below.extend_from_slice(&path);
                    if !path.is_empty() {
                        below.push(b'/');
                    }
                    below.extend_from_slice(name);
                    if exclude.matches(&below, self.names(file).is_some()) {
                        continue;
                    }
                }
                self.grow(&mut builder, &mut growth, (node, name), file, below)?;
            }
        }
        let (tree, before) = builder.finish_numbered()?;
        let of_node = |id: &NodeId| growth.of_nodes.get(id.index()).copied();
        let is_implied = |id: &NodeId| {
            let file = growth.of_files.get(id.index());
            let file = file.and_then(|&file| self.files.get(file as usize));
            file.is_some_and(|file| file.implied)
        };
        let implied = (0..).map(NodeId).zip(&before);
        let implied = implied
            .filter(|(_, id)| is_implied(id))
            .map(|(node, _)| node);
        Ok(BuiltTree {
            links_below: self.links_below(&growth, &before, &root_path),
            implied: implied.collect(),
            of_nodes: before
                .iter()
                .map(|id| of_node(id).unwrap_or(u32::MAX))
                .collect(),
            locations: self.locations,
            tree,
        })
    }

    /// Returns the links to files of lower layers; one that leads out of the root has no target.
    fn links_below(
        &self,
        growth: &TreeWalk,
        before: &[NodeId],
        root: &[u8],
    ) -> Vec<(NodeId, Vec<u8>, u64)> {
        let link = |(node, id): (NodeId, &NodeId)| {
            let file = *growth.of_files.get(id.index())?;
            let FileKind::LinkBelow(target, at) = &self.files.get(file as usize)?.kind else {
                return None;
            };
            let within = match target.strip_prefix(root) {
                Some(rest) if root.is_empty() => rest,
                Some(rest) => rest.strip_prefix(b"/").unwrap_or_default(),
                None => &[],
            };
            Some((node, within.to_vec(), *at))
        };
        if !self.keeps_links {
            return Vec::new();
        }
        (0..).map(NodeId).zip(before).filter_map(link).collect()
    }

    /// Returns the number of the directory that a path leads to.
    fn numbered(&self, path: &[u8]) -> Result<u32> {
        let shown = || names::path_buf(path.to_vec());
        let parts = plain(path).map_err(|why| Error::invalid(why).path(shown()))?;
        let mut at = 0;
        for name in parts {
            let child = self.child(at, name);
            at = child.ok_or_else(|| Error::not_found("not in the archive").path(shown()))?;
        }
        match self.names(at) {
            Some(_) => Ok(at),
            None => Err(Error::invalid("not a directory of the archive").path(shown())),
        }
    }

    /// Adds a name to the tree, and its node if it is new.
    fn grow(
        &self,
        builder: &mut TreeBuilder,
        growth: &mut TreeWalk,
        (parent, name): (NodeId, &[u8]),
        file: u32,
        path: Vec<u8>,
    ) -> Result<()> {
        let (Some(known), Some(found)) = (
            growth.nodes.get_mut(file as usize),
            self.files.get(file as usize),
        ) else {
            return Ok(());
        };
        if let Some(known) = *known {
            return builder.link(parent, name, known);
        }
        let mut location = u32::MAX;
        let content = match &found.kind {
            FileKind::Directory(_) => Content::Directory { first: 0, count: 0 },
            &FileKind::File(size, at) => {
                location = at;
                Content::File { size }
            }
            FileKind::Symlink(target) => Content::Symlink(builder.intern(target)?),
            &FileKind::CharDevice(rdev) => Content::CharDevice(rdev),
            &FileKind::BlockDevice(rdev) => Content::BlockDevice(rdev),
            FileKind::Fifo => Content::Fifo,
            FileKind::Socket => Content::Socket,
            FileKind::LinkBelow(..) => Content::File { size: 0 },
        };
        let id = builder.add(parent, name, found.meta, content)?;
        *known = Some(id);
        growth.of_nodes.push(location);
        growth.of_files.push(file);
        if matches!(found.kind, FileKind::Directory(_)) {
            growth.open.push((file, id, path));
        }
        self.take_xattrs(builder, file, id)
    }

    fn take_xattrs(&self, builder: &mut TreeBuilder, file: u32, node: NodeId) -> Result<()> {
        let set = self.files.get(file as usize).map(|file| file.xattrs);
        let Some(set) = set.filter(|set| !set.is_none()) else {
            return Ok(());
        };
        let pairs = self.xattrs.pairs(set);
        let mut pairs: Xattrs = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        builder.set_xattrs(node, &mut pairs)
    }
}

/// State of the walk that adds members to a `TreeBuilder`.
struct TreeWalk {
    /// The node of each file, if it has one yet.
    nodes: Vec<Option<NodeId>>,
    /// The location of each node, by the builder's ids.
    of_nodes: Vec<u32>,
    /// The file of each node, by the builder's ids.
    of_files: Vec<u32>,
    /// Directories to walk, with their paths if there are exclusions.
    open: Vec<(u32, NodeId, Vec<u8>)>,
}
