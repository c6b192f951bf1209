//! Applies definitions of pseudo files to a tree that is being copied.
//!
//! Enters definitions and the nodes of the paths that they name; leaves the builder with files
//! added and changed. **Invariant:** the order of definitions is irrelevant, except that later
//! changes and attributes of one path follow earlier ones; nothing that the source has is replaced.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use sinterfs_model::{
    Content, Error, FileContent, FileType, Meta, NodeId, Result, Setting, Times, TreeBuilder,
    Xattrs,
};

use super::content_range::ContentRange;
use super::definition::{Action, Attributes, Definition, DirectoryAttributes, NewNode};
use super::edit_options::Edits;
use super::xattrs::XattrFilter;
use crate::directory::single_file::{self, SingleFile, SingleFileKind};

type Names = Vec<Vec<u8>>;

/// The node at a path.
#[derive(Clone, Copy)]
pub(super) struct ExistingNode {
    pub(super) node: NodeId,
    pub(super) kind: FileType,
}

/// What a node takes its content from.
#[derive(Debug, Clone)]
pub(super) enum OutsideFile {
    /// A file of the system.
    Whole(PathBuf),
    /// A range of one: the first byte, and how many.
    Range(PathBuf, u64, u64),
}

impl OutsideFile {
    /// Opens the content.
    pub(super) fn open(&self) -> Result<Box<dyn FileContent>> {
        match self {
            Self::Whole(path) => single_file::open(path),
            Self::Range(path, start, len) => {
                let inner = single_file::open(path)?;
                let (start, len) = (*start, *len);
                Ok(Box::new(ContentRange { inner, start, len }))
            }
        }
    }
}

/// The definitions, and the nodes that they refer to and add.
pub(super) struct PseudoNodes<'a> {
    definitions: &'a [Definition],
    /// Which extended attributes of copied files are kept.
    filter: &'a XattrFilter,
    /// The attributes of directories that are made where none is.
    implied: Option<DirectoryAttributes>,
    /// The paths that definitions refer to.
    wanted: HashSet<Vec<u8>>,
    found: HashMap<Vec<u8>, ExistingNode>,
    /// Extended attributes to set.
    xattrs: HashMap<NodeId, Xattrs>,
    /// The files that nodes take their content from.
    pub(super) files: HashMap<NodeId, OutsideFile>,
    /// The nodes whose label a definition sets.
    pub(super) labelled: HashSet<NodeId>,
    /// The times of nodes without a time of their own.
    times: Times,
}

impl<'a> PseudoNodes<'a> {
    /// Creates the set with the root, whose time is the default.
    pub(super) fn new(edits: &'a Edits, root: Meta) -> Self {
        let Edits {
            pseudo: definitions,
            xattrs: filter,
            pseudo_dir: implied,
            ..
        } = edits;
        let mut wanted = HashSet::new();
        for definition in definitions {
            wanted.insert(definition.path.join(&b'/'));
            let parents = definition.path.split_last().map(|(_, parents)| parents);
            let parents = parents.unwrap_or_default();
            let depths = if implied.is_some() { 0 } else { parents.len() };
            for depth in depths..=parents.len() {
                wanted.insert(parents.get(..depth).unwrap_or_default().join(&b'/'));
            }
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
            filter,
            implied: *implied,
            wanted,
            found: HashMap::from([(Vec::new(), root_found)]),
            xattrs: HashMap::new(),
            files: HashMap::new(),
            labelled: HashSet::new(),
            times: Times::all(root.times.modified),
        }
    }

    /// Records a node if a definition refers to its path.
    pub(super) fn note(&mut self, path: &[u8], found: ExistingNode) {
        if self.wanted.contains(path) {
            self.found.insert(path.to_vec(), found);
        }
    }

    /// Applies all definitions; `own` returns the attributes that a node already has.
    pub(super) fn run(
        &mut self,
        builder: &mut TreeBuilder,
        own: &dyn Fn(NodeId) -> Xattrs,
        warn: &mut dyn FnMut(Error),
    ) -> Result<()> {
        let definitions = self.definitions;
        let mut order: Vec<&Definition> = definitions.iter().collect();
        // new nodes before those below them, then links, then changes
        order.sort_by_key(|definition| match definition.action {
            Action::Make(..) | Action::CopyFile(..) | Action::Content(..) => {
                (0, definition.path.len())
            }
            Action::Link(_) => (1, 0),
            Action::Modify(_) | Action::Xattr(..) => (2, 0),
        });
        for definition in order {
            self.apply(definition, builder, warn)
                .map_err(|error| definition.wrong(&error))?;
        }
        let mut changed: Vec<NodeId> = self.xattrs.keys().copied().collect();
        // the reported error must not depend on the hash order
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
                let file = single_file::inspect(file, *follow, warn)?;
                self.copy_file(&definition.path, file, builder)
            }
            Action::Content(attributes, range) => {
                let meta = self.meta(*attributes);
                let content = Content::File { size: range.len };
                let node = self.add(&definition.path, meta, content, builder)?;
                let (start, len) = (range.start, range.len);
                self.files
                    .insert(node, OutsideFile::Range(range.path.clone(), start, len));
                Ok(())
            }
            Action::Link(target) => {
                let missing = "the target of the link does not exist";
                let target = self.find(target).ok_or_else(|| Error::invalid(missing))?;
                if target.kind == FileType::Directory {
                    return Err(Error::invalid("a directory cannot have a second name"));
                }
                let (parent, name) = self.new_place(&definition.path, builder)?;
                builder.link(parent, name, target.node)?;
                self.found.insert(definition.path.join(&b'/'), target);
                Ok(())
            }
            Action::Modify(attributes) => {
                let found = self.existing(definition)?;
                self.change(found, *attributes, builder);
                Ok(())
            }
            Action::Xattr(name, value) => {
                let found = self.existing(definition)?;
                if name == super::file_contexts::NAME {
                    self.labelled.insert(found.node);
                }
                let xattrs = self.xattrs.entry(found.node).or_default();
                xattrs.push((name.clone(), value.clone()));
                Ok(())
            }
        }
    }

    fn find(&self, path: &Names) -> Option<ExistingNode> {
        self.found.get(&path.join(&b'/')).copied()
    }

    fn existing(&self, definition: &Definition) -> Result<ExistingNode> {
        let missing = || Error::invalid("no such file to change");
        self.find(&definition.path).ok_or_else(missing)
    }

    /// Returns the directory of a new path.
    fn new_place<'p>(
        &mut self,
        path: &'p Names,
        builder: &mut TreeBuilder,
    ) -> Result<(NodeId, &'p [u8])> {
        let exists = || {
            let option = Setting("filters");
            let what = format!("it exists already: `m` changes it, {option} leaves it out");
            Error::invalid(what).about([option])
        };
        if self.find(path).is_some() {
            return Err(exists());
        }
        let (name, parents) = path.split_last().ok_or_else(exists)?;
        match self.find(&parents.to_vec()) {
            Some(ExistingNode {
                node,
                kind: FileType::Directory,
            }) => Ok((node, name)),
            Some(_) => Err(Error::invalid("its parent is not a directory")),
            None => match self.implied {
                Some(DirectoryAttributes(attributes)) => {
                    let directory = self.add_directory(&parents.to_vec(), attributes, builder)?;
                    Ok((directory, name))
                }
                None => Err(Error::invalid(
                    "its directory does not exist: define it, too",
                )),
            },
        }
    }

    fn add_directory(
        &mut self,
        path: &Names,
        attributes: Attributes,
        builder: &mut TreeBuilder,
    ) -> Result<NodeId> {
        self.add(
            path,
            self.meta(attributes),
            Content::Directory { first: 0, count: 0 },
            builder,
        )
    }

    /// Returns the metadata of a new node.
    fn meta(&self, attributes: Attributes) -> Meta {
        Meta {
            mode: attributes.mode,
            uid: attributes.uid,
            gid: attributes.gid,
            times: attributes.time.map_or(self.times, Times::all),
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
            (new_node, &definition.path[..], self.find(&definition.path))
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
        let meta = self.meta(Attributes { mode, ..attributes });
        self.add(&definition.path, meta, content, builder)?;
        Ok(())
    }

    fn copy_file(
        &mut self,
        path: &Names,
        file: SingleFile,
        builder: &mut TreeBuilder,
    ) -> Result<()> {
        let content = match file.held {
            SingleFileKind::Symlink(target) => Content::Symlink(builder.intern(&target)?),
            SingleFileKind::Other(content) => content,
        };
        let mut xattrs = file.xattrs;
        xattrs.retain(|(name, _)| self.filter.keeps(name));
        let node = self.add(path, file.meta, content, builder)?;
        if let Content::File { .. } = content {
            self.files.insert(node, OutsideFile::Whole(file.path));
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
        let (parent, name) = self.new_place(path, builder)?;
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
