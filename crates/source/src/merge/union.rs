//! The walk that merges trees.
//!
//! Enters trees with their paths, lower ones first; leaves the common tree and the origin of each
//! of its nodes. **Invariant:** a directory of the common tree is made of a list of layers, lowest
//! first; each name is handled once, with all the layers that have it.

use std::collections::BTreeMap;

use sinterfs_model::{Content, FileType, Meta, NodeId, Result, Tree, TreeBuilder, Xattrs};

use super::bare_marks::bare_marks;
use super::conflicts::{Conflict, Conflicts};
use super::input::{MergeInput, MergeOptions};
use super::layer::{Layer, Moved};
use super::links::{LinksBelow, Origin, child};
use super::whiteouts::{Mark, WhiteoutMarks};

/// A directory without links yet.
const DIRECTORY: Content = Content::Directory { first: 0, count: 0 };

/// A directory that is not merged yet.
struct OpenDirectory<'a> {
    id: NodeId,
    path: Vec<u8>,
    layers: Vec<Layer<'a>>,
}

/// The state of merging trees.
pub(super) struct Union<'a> {
    pub(super) parts: &'a [MergeInput],
    pub(super) trees: &'a [Tree],
    how: &'a MergeOptions,
    builder: TreeBuilder,
    implied: Meta,
    /// The origin of each node, by the builder's ids.
    origins: Vec<Option<Origin>>,
    /// The builder's ids of nodes with several names, for each source.
    linked: Vec<BTreeMap<NodeId, NodeId>>,
    /// The directories of each source that only hold marks.
    bare_marks: Vec<Vec<bool>>,
    pub(super) links: LinksBelow,
    pub(super) moved: Moved<'a>,
    pub(super) conflicts: Conflicts,
}

impl<'a> Union<'a> {
    pub(super) fn new(
        parts: &'a [MergeInput],
        trees: &'a [Tree],
        how: &'a MergeOptions,
        implied: Meta,
    ) -> Result<Self> {
        let mut union = Self {
            parts,
            trees,
            how,
            builder: TreeBuilder::new(implied),
            implied,
            origins: vec![None],
            linked: vec![BTreeMap::new(); trees.len()],
            bare_marks: parts
                .iter()
                .zip(trees)
                .map(|(part, tree)| bare_marks(part, tree))
                .collect(),
            links: LinksBelow::default(),
            moved: Moved::default(),
            conflicts: Conflicts::default(),
        };
        let roots = roots(parts, trees);
        if let Some(root) = union.attributes_layer(&roots) {
            union.builder = TreeBuilder::new(union.tree(root).node(NodeId::ROOT).meta);
            union.take_xattrs(NodeId::ROOT, root)?;
        }
        Ok(union)
    }

    /// Returns the layer whose metadata a directory gets: the last one that has the directory
    /// itself, not only an implied parent. A path to the root of a source does not count.
    fn attributes_layer<'l>(&self, layers: &'l [Layer<'a>]) -> Option<&'l Layer<'a>> {
        let has_entry = |layer: &&Layer<'_>| {
            let source = &self.parts[layer.part as usize].source;
            layer.mount_path.is_empty() && source.has_entry(layer.node)
        };
        let with_entry = layers.iter().rfind(has_entry);
        with_entry.or_else(|| layers.iter().rfind(|layer| layer.mount_path.is_empty()))
    }

    /// Merges all directories.
    pub(super) fn run(&mut self) -> Result<()> {
        let mut open = vec![OpenDirectory {
            id: NodeId::ROOT,
            path: Vec::new(),
            layers: self.roots(),
        }];
        while let Some(dir) = open.pop() {
            let mut names: BTreeMap<&'a [u8], Vec<Layer<'a>>> = BTreeMap::new();
            for layer in &dir.layers {
                self.hide(layer, &mut names);
                self.each_name(layer, |name, below| {
                    if self.is_shown(&below, names.get(name).map_or(&[], Vec::as_slice)) {
                        names.entry(name).or_default().push(below);
                    }
                });
            }
            for (name, layers) in names {
                open.extend(self.add(&dir, name, &layers)?);
            }
        }
        Ok(())
    }

    /// Returns the common tree, the origins of its nodes, and what was hidden.
    pub(super) fn finish(self) -> Result<(Tree, Vec<Option<Origin>>, Conflicts)> {
        let (tree, before) = self.builder.finish_numbered()?;
        let origins = before.iter().map(|id| self.origins[id.index()]).collect();
        Ok((tree, origins, self.conflicts))
    }

    fn tree(&self, layer: &Layer<'_>) -> &'a Tree {
        &self.trees[layer.part as usize]
    }

    fn marks(&self, layer: &Layer<'_>) -> WhiteoutMarks {
        self.parts[layer.part as usize].marks
    }

    /// Removes the names of lower layers that the whiteouts of a layer hide.
    fn hide(&self, layer: &Layer<'a>, names: &mut BTreeMap<&'a [u8], Vec<Layer<'a>>>) {
        if !layer.mount_path.is_empty() {
            return;
        }
        let (tree, marks) = (self.tree(layer), self.marks(layer));
        if marks.is_opaque(tree, layer.node) {
            names.clear();
        }
        for link in tree.children(layer.node) {
            match marks.of_name(tree.bytes(link.name)) {
                Some(Mark::Opaque) => names.clear(),
                Some(Mark::Whiteout(name)) => {
                    names.remove(name);
                }
                Some(Mark::Ignored) | None => {}
            }
        }
    }

    /// Calls `show` for each name that a layer has in its directory.
    fn each_name(&self, layer: &Layer<'a>, mut show: impl FnMut(&'a [u8], Layer<'a>)) {
        if !layer.mount_path.is_empty() {
            let (name, mount_path) = first_name(layer.mount_path);
            return show(
                name,
                Layer {
                    mount_path,
                    ..*layer
                },
            );
        }
        let tree = self.tree(layer);
        let marks = self.marks(layer);
        for link in tree.children(layer.node) {
            let (name, node) = (tree.bytes(link.name), link.node);
            if marks.of_name(name).is_none() && !self.moved.has(layer.part, node) {
                show(name, Layer { node, ..*layer });
            }
        }
    }

    /// Returns whether a layer's name is one of the common tree, over what lower layers have there.
    fn is_shown(&self, layer: &Layer<'_>, lower: &[Layer<'_>]) -> bool {
        if !layer.mount_path.is_empty() {
            return true;
        }
        let bare = self.bare_marks.get(layer.part as usize);
        if bare.and_then(|bare| bare.get(layer.node.index())) == Some(&true) {
            return lower.last().is_some_and(|top| self.is_directory(top));
        }
        self.links.follow(Origin::from(*layer)).is_some()
    }

    /// Returns the layers of a name in a directory, those that are seen: all that have a directory
    /// there, or the one that has something else.
    pub(super) fn shown(&self, dir: &[Layer<'a>], name: &[u8]) -> Vec<Layer<'a>> {
        let mut layers: Vec<Layer<'a>> = Vec::new();
        for layer in dir {
            let below = if layer.mount_path.is_empty() {
                let (tree, marks) = (self.tree(layer), self.marks(layer));
                if marks.is_opaque(tree, layer.node) || marks.hides(tree, layer.node, name) {
                    layers.clear();
                }
                let node = child(tree, layer.node, name);
                let node = node.filter(|&node| {
                    marks.of_name(name).is_none() && !self.moved.has(layer.part, node)
                });
                node.map(|node| Layer { node, ..*layer })
            } else {
                let (first, mount_path) = first_name(layer.mount_path);
                (first == name).then_some(Layer {
                    mount_path,
                    ..*layer
                })
            };
            let Some(below) = below.filter(|below| self.is_shown(below, &layers)) else {
                continue;
            };
            let is_seen_with =
                |top: &Layer<'_>| self.is_directory(top) && self.is_directory(&below);
            if !layers.last().is_some_and(is_seen_with) {
                layers.clear();
            }
            let is_whiteout = below.mount_path.is_empty()
                && self
                    .marks(&below)
                    .is_whiteout(self.tree(&below), below.node);
            if !is_whiteout {
                layers.push(below);
            }
        }
        layers
    }

    /// Returns the text of a symlink.
    pub(super) fn symlink(&self, layer: &Layer<'_>) -> Option<&'a [u8]> {
        let tree = self.tree(layer);
        match tree.node(layer.node).content {
            Content::Symlink(text) => Some(tree.bytes(text)),
            _ => None,
        }
    }

    /// Returns the layers of the common root.
    pub(super) fn roots(&self) -> Vec<Layer<'a>> {
        let mut roots = roots(self.parts, self.trees);
        if !self.moved.roots.is_empty() {
            roots.extend(&self.moved.roots);
            // what is elsewhere comes after the other roots of its source
            roots.sort_by_key(|layer| layer.part);
        }
        roots
    }

    /// Returns the path at which the root of a source is.
    pub(super) fn place(&self, part: u32) -> &'a [u8] {
        self.parts.get(part as usize).map_or(&[], |part| &part.at)
    }

    pub(super) fn is_directory(&self, layer: &Layer<'_>) -> bool {
        !layer.mount_path.is_empty()
            || self.tree(layer).node(layer.node).content.kind() == FileType::Directory
    }

    /// Adds a name to the tree; returns a directory that is still to be merged.
    fn add(
        &mut self,
        dir: &OpenDirectory<'a>,
        name: &'a [u8],
        layers: &[Layer<'a>],
    ) -> Result<Option<OpenDirectory<'a>>> {
        let others = layers.iter().rposition(|layer| !self.is_directory(layer));
        let (hidden, kept) = match others {
            // the last one is kept if it is not a directory, else all directories above the last
            // other file
            Some(last) if last + 1 == layers.len() => layers.split_at(last),
            Some(last) => layers.split_at(last + 1),
            None => layers.split_at(0),
        };
        let mut path = dir.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        if !self.how.layers {
            self.note_hidden(&path, hidden, kept);
        }
        let Some(top) = kept.last() else {
            return Ok(None);
        };
        let is_directory = self.is_directory(top);
        let exclude = &self.how.exclude;
        if !exclude.is_empty() && exclude.matches(&path, is_directory) {
            return Ok(None);
        }
        for layer in kept.iter().filter(|layer| layer.mount_path.is_empty()) {
            let (tree, marks) = (self.tree(layer), self.marks(layer));
            marks.refuse_foreign(tree, layer.node)?;
        }
        if top.mount_path.is_empty() && self.marks(top).is_whiteout(self.tree(top), top.node) {
            return Ok(None);
        }
        if !is_directory {
            self.add_leaf(dir.id, name, top)?;
            return Ok(None);
        }
        let attributes_layer = self.attributes_layer(kept);
        let meta =
            attributes_layer.map_or(self.implied, |layer| self.tree(layer).node(layer.node).meta);
        let id = self.builder.add(dir.id, name, meta, DIRECTORY)?;
        if let Some(layer) = attributes_layer {
            self.take_xattrs(id, layer)?;
        }
        self.origins.push(None);
        let layers = kept.to_vec();
        Ok(Some(OpenDirectory { id, path, layers }))
    }

    fn add_leaf(&mut self, parent: NodeId, name: &[u8], layer: &Layer<'a>) -> Result<()> {
        let Some(origin) = self.links.follow(Origin::from(*layer)) else {
            return Ok(());
        };
        let layer = &Layer {
            part: origin.part,
            node: origin.node,
            ..*layer
        };
        let tree = self.tree(layer);
        let node = tree.node(layer.node);
        let part = layer.part as usize;
        if let Some(&known) = self.linked[part].get(&layer.node) {
            return self.builder.link(parent, name, known);
        }
        let content = match node.content {
            Content::Symlink(target) => Content::Symlink(self.builder.intern(tree.bytes(target))?),
            other => other,
        };
        let id = self.builder.add(parent, name, node.meta, content)?;
        self.take_xattrs(id, layer)?;
        self.origins.push(Some(origin));
        if node.links > 1 || self.links.is_target(origin) {
            self.linked[part].insert(layer.node, id);
        }
        Ok(())
    }

    /// Returns a node the extended attributes of a layer's own, but not those that are the layer's.
    fn take_xattrs(&mut self, to: NodeId, layer: &Layer<'a>) -> Result<()> {
        let (tree, marks) = (self.tree(layer), self.marks(layer));
        let set = tree.node(layer.node).xattrs;
        if set.is_none() {
            return Ok(());
        }
        let pairs = tree.xattrs().pairs(set);
        let pairs = pairs.filter(|(name, _)| !marks.owns(name));
        let mut pairs: Xattrs = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        self.builder.set_xattrs(to, &mut pairs)
    }

    fn note_hidden(&mut self, path: &[u8], hidden: &[Layer<'_>], kept: &[Layer<'_>]) {
        let name = |layer: &Layer<'_>| self.parts[layer.part as usize].name.clone();
        for layer in hidden {
            self.conflicts.note(|| Conflict {
                path: path.to_vec(),
                hidden: name(layer),
                kept: kept.last().map(name).unwrap_or_default(),
            });
        }
    }
}

/// Splits a path that is not empty into its first name and the rest.
fn first_name(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().position(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (path, &[]),
    }
}

/// Returns the layers of the common root.
fn roots<'a>(parts: &'a [MergeInput], trees: &'a [Tree]) -> Vec<Layer<'a>> {
    let mut layers = Vec::with_capacity(parts.len());
    for ((number, part), tree) in (0..).zip(parts).zip(trees) {
        let layer = |node, mount_path| Layer {
            part: number,
            mount_path,
            node,
        };
        if part.picks.is_empty() {
            layers.push(layer(NodeId::ROOT, &part.at));
        }
        layers.extend(picked(part, tree).map(|(node, at)| layer(node, at)));
    }
    layers
}

/// Returns what is taken of a source, and the path of each.
pub(super) fn picked<'a>(
    part: &'a MergeInput,
    tree: &'a Tree,
) -> impl Iterator<Item = (NodeId, &'a [u8])> {
    part.picks
        .iter()
        .filter_map(|(name, at)| Some((child(tree, NodeId::ROOT, name)?, at.as_slice())))
}
