//! Files that definitions make, take or change in a tree on its way into another.
//!
//! Enters definitions and the nodes of the paths that they name; leaves the builder with what they ask for.
//! **Invariant:** the order of definitions means nothing, but that a later change or attribute of a path comes
//! after an earlier one; nothing that a source has is replaced.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use sinterfs_model::{
    Content, Error, FileType, Meta, NodeId, Result, Setting, Times, TreeBuilder, Xattrs,
};

use super::definition::{Action, Attributes, Definition, NewNode};
use super::{Edits, XattrFilter};
use crate::source::directory::single_file::{self, SingleFile, SingleFileKind};

type Names = Vec<Vec<u8>>;

/// A node that a path leads to.
#[derive(Clone, Copy)]
pub(super) struct ExistingNode {
    pub(super) node: NodeId,
    pub(super) kind: FileType,
}

/// What definitions need of a tree, and add to it.
pub(super) struct PseudoNodes<'a> {
    definitions: &'a [Definition],
    /// Which attributes stay of files that are taken.
    filter: &'a XattrFilter,
    /// The paths that somebody asks for.
    wanted: HashSet<Vec<u8>>,
    found: HashMap<Vec<u8>, ExistingNode>,
    /// Attributes of nodes, by name.
    xattrs: HashMap<NodeId, Xattrs>,
    /// Where the content of nodes comes from.
    pub(super) files: HashMap<NodeId, PathBuf>,
    /// The nodes whose label a definition tells.
    pub(super) labelled: HashSet<NodeId>,
    /// The time of what has none of its own.
    times: Times,
}

impl<'a> PseudoNodes<'a> {
    /// Begins with the root; what has no time gets that of the root.
    pub(super) fn new(edits: &'a Edits, root: Meta) -> Self {
        let definitions = &*edits.pseudo;
        let mut wanted = HashSet::new();
        for definition in definitions {
            wanted.insert(definition.path.join(&b'/'));
            let parents = definition.path.split_last().map(|(_, parents)| parents);
            wanted.insert(parents.unwrap_or_default().join(&b'/'));
            if let Action::Link(target) = &definition.action {
                wanted.insert(target.join(&b'/'));
            }
        }
        let root_found = ExistingNode {
            node: NodeId::ROOT,
            kind: FileType::Directory,
        };
        Self {
            definitions,
            filter: &edits.xattrs,
            wanted,
            found: HashMap::from([(Vec::new(), root_found)]),
            xattrs: HashMap::new(),
            files: HashMap::new(),
            labelled: HashSet::new(),
            times: Times::all(root.times.modified),
        }
    }

    /// Notes a node if its path is asked for.
    pub(super) fn note(&mut self, path: &[u8], found: ExistingNode) {
        if self.wanted.contains(path) {
            self.found.insert(path.to_vec(), found);
        }
    }

    /// Does what is asked; `own` tells the attributes that a node has already.
    pub(super) fn run(
        &mut self,
        builder: &mut TreeBuilder,
        own: &dyn Fn(NodeId) -> Xattrs,
        warn: &mut dyn FnMut(Error),
    ) -> Result<()> {
        let located = |definition: &Definition, error: Error| {
            let what = format!("pseudo definition `{}`: {error}", definition.text);
            Error::new(error.kind(), what)
        };
        let definitions = self.definitions;
        let mut order: Vec<&Definition> = definitions.iter().collect();
        // what is made comes before what is below it, then links, then changes
        order.sort_by_key(|definition| match definition.action {
            Action::Make(..) | Action::CopyFile(..) => (0, definition.path.len()),
            Action::Link(_) => (1, 0),
            Action::Modify(_) | Action::Xattr(..) => (2, 0),
        });
        for definition in order {
            self.apply(definition, builder, warn)
                .map_err(|error| located(definition, error))?;
        }
        let mut changed: Vec<NodeId> = self.xattrs.keys().copied().collect();
        // which error is told must not depend on chance
        changed.sort_unstable();
        for node in changed {
            let mut all = own(node);
            all.append(&mut self.xattrs.remove(&node).unwrap_or_default());
            builder.set_xattrs(node, &mut all)?;
        }
        Ok(())
    }

    fn apply(
        &mut self,
        definition: &Definition,
        builder: &mut TreeBuilder,
        warn: &mut dyn FnMut(Error),
    ) -> Result<()> {
        match &definition.action {
            Action::Make(attributes, new_node) => {
                self.make(definition, *attributes, new_node, builder)
            }
            Action::CopyFile(file, follow) => {
                let taken = single_file::inspect(file, *follow, warn)?;
                self.take(&definition.path, taken, builder)
            }
            Action::Link(target) => {
                let missing = "there is nothing to be a link to";
                let target = self.at(target).ok_or_else(|| Error::invalid(missing))?;
                if target.kind == FileType::Directory {
                    return Err(Error::invalid("a directory has one name"));
                }
                let (parent, name) = self.place(&definition.path)?;
                builder.link(parent, name, target.node)?;
                self.found.insert(definition.path.join(&b'/'), target);
                Ok(())
            }
            Action::Modify(attributes) => {
                let found = self.known(definition)?;
                self.change(found, *attributes, builder);
                Ok(())
            }
            Action::Xattr(name, value) => {
                let found = self.known(definition)?;
                if name == super::file_contexts::NAME {
                    self.labelled.insert(found.node);
                }
                let xattrs = self.xattrs.entry(found.node).or_default();
                xattrs.push((name.clone(), value.clone()));
                Ok(())
            }
        }
    }

    fn at(&self, path: &Names) -> Option<ExistingNode> {
        self.found.get(&path.join(&b'/')).copied()
    }

    fn known(&self, definition: &Definition) -> Result<ExistingNode> {
        let missing = || Error::invalid("there is no such file to change");
        self.at(&definition.path).ok_or_else(missing)
    }

    /// Finds the directory of a new path.
    fn place<'p>(&self, path: &'p Names) -> Result<(NodeId, &'p [u8])> {
        let exists = || {
            let option = Setting::Filters;
            let what = format!("the source has it already: `m` changes it, {option} leaves it out");
            Error::invalid(what).about([option])
        };
        if self.at(path).is_some() {
            return Err(exists());
        }
        let (name, parents) = path.split_last().ok_or_else(exists)?;
        match self.at(&parents.to_vec()) {
            Some(ExistingNode {
                node,
                kind: FileType::Directory,
            }) => Ok((node, name)),
            Some(_) => Err(Error::invalid(
                "it lies below something that is no directory",
            )),
            None => Err(Error::invalid("its directory is not there: define it, too")),
        }
    }

    fn make(
        &mut self,
        definition: &Definition,
        attributes: Attributes,
        new_node: &NewNode,
        builder: &mut TreeBuilder,
    ) -> Result<()> {
        if let (NewNode::Directory, [], Some(root)) =
            (new_node, &definition.path[..], self.at(&definition.path))
        {
            self.change(root, attributes, builder);
            return Ok(());
        }
        let content = match new_node {
            NewNode::Directory => Content::Directory { first: 0, count: 0 },
            NewNode::Device(FileType::CharDevice, rdev) => Content::CharDevice(*rdev),
            NewNode::Device(_, rdev) => Content::BlockDevice(*rdev),
            NewNode::Fifo => Content::Fifo,
            NewNode::Socket => Content::Socket,
            NewNode::Symlink(target) => Content::Symlink(builder.intern(target)?),
        };
        let mode = match new_node {
            NewNode::Symlink(_) => 0o777,
            _ => attributes.mode,
        };
        let meta = Meta {
            mode,
            uid: attributes.uid,
            gid: attributes.gid,
            times: attributes.time.map_or(self.times, Times::all),
        };
        self.add(&definition.path, meta, content, builder)?;
        Ok(())
    }

    fn take(&mut self, path: &Names, taken: SingleFile, builder: &mut TreeBuilder) -> Result<()> {
        let content = match taken.held {
            SingleFileKind::Symlink(target) => Content::Symlink(builder.intern(&target)?),
            SingleFileKind::Other(content) => content,
        };
        let mut xattrs = taken.xattrs;
        xattrs.retain(|(name, _)| self.filter.keeps(name));
        let node = self.add(path, taken.meta, content, builder)?;
        if let Content::File { .. } = content {
            self.files.insert(node, taken.path);
        }
        if !xattrs.is_empty() {
            self.xattrs.entry(node).or_default().append(&mut xattrs);
        }
        Ok(())
    }

    fn add(
        &mut self,
        path: &Names,
        meta: Meta,
        content: Content,
        builder: &mut TreeBuilder,
    ) -> Result<NodeId> {
        let (parent, name) = self.place(path)?;
        let node = builder.add(parent, name, meta, content)?;
        let kind = content.kind();
        self.found
            .insert(path.join(&b'/'), ExistingNode { node, kind });
        Ok(node)
    }

    fn change(&self, found: ExistingNode, attributes: Attributes, builder: &mut TreeBuilder) {
        let meta = builder.meta_mut(found.node);
        if found.kind != FileType::Symlink {
            meta.mode = attributes.mode;
        }
        (meta.uid, meta.gid) = (attributes.uid, attributes.gid);
        if let Some(time) = attributes.time {
            meta.times = Times::all(time);
        }
    }
}
