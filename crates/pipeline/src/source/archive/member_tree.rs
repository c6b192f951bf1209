//! The tree of an archive while its members come: later ones win, parents that are missing are made.
//!
//! Enters members in the archive's order, leaves a `Tree` and the place of each file's content.
//! **Invariant:** a path leads down from the root through directories alone: `..` and names below what is no
//! directory are refused, so that no member can be anywhere else than its path says. What was replaced is not
//! in the tree; a hard link that was made before keeps it. A directory with something in it is not replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use sinterfs_archive::{Kind, Member};
use sinterfs_model::{
    Content, Error, Meta, NodeId, Rdev, Result, Times, Tree, TreeBuilder, XattrSet, XattrSets,
    Xattrs,
};

use super::content::ContentLocation;
use crate::source::Exclude;

/// The longest name that file systems have.
const LONGEST_NAME: usize = 255;

/// A tree with what the archive knows of its files.
pub(in crate::source) struct BuiltTree {
    pub(in crate::source) tree: Tree,
    pub(in crate::source) places: Vec<ContentLocation>,
    /// For each node the index of its place; more than there are for what is no file.
    pub(in crate::source) of_nodes: Vec<u32>,
    /// Directories that no member tells of, in order.
    pub(in crate::source) implied: Vec<NodeId>,
}

/// Why a member can't be in a tree, in words.
pub(in crate::source) type Refusal = &'static str;

/// Members so far, in a tree that still changes.
#[derive(Default)]
pub(in crate::source) struct MemberTree {
    /// The first is the root, once there is anything.
    files: Vec<MemberFile>,
    places: Vec<ContentLocation>,
    xattrs: XattrSets,
}

/// A file of any type.
struct MemberFile {
    meta: Meta,
    kind: FileKind,
    xattrs: XattrSet,
    /// Whether no member tells of it.
    implied: bool,
}

/// What a file holds.
enum FileKind {
    Directory(BTreeMap<Box<[u8]>, u32>),
    /// Size and index of the place.
    File(u64, u32),
    Symlink(Box<[u8]>),
    CharDevice(Rdev),
    BlockDevice(Rdev),
    Fifo,
    Socket,
}

impl MemberTree {
    /// Adds a member, or says why it can't be.
    pub(in crate::source) fn add(
        &mut self,
        mut member: Member,
    ) -> Result<std::result::Result<(), Refusal>> {
        if self.files.is_empty() {
            self.files.push(implied(&member.meta));
        }
        let path = std::mem::take(&mut member.path);
        let names = match plain(&path) {
            Ok(names) => names,
            Err(why) => return Ok(Err(why)),
        };
        let Some((&name, parents)) = names.split_last() else {
            return self.root(member);
        };
        let parent = match self.directory(parents, &member.meta)? {
            Some(parent) => parent,
            None => return Ok(Err("lies below something that is no directory")),
        };
        let known = self.child(parent, name).and_then(|known| self.names(known));
        if member.kind != Kind::Directory && known.is_some_and(|names| !names.is_empty()) {
            // tar could not remove it either
            return Ok(Err("has the name of a directory with something in it"));
        }
        if let Kind::HardLink(target) = &member.kind {
            match self.target(target) {
                Ok(target) => {
                    self.fill(target, &mut member)?;
                    self.set(parent, name, target);
                    return Ok(Ok(()));
                }
                // the content is there all the same
                Err(_) if member.size > 0 => {}
                Err(why) => return Ok(Err(why)),
            }
        }
        self.put(parent, name, member)?;
        Ok(Ok(()))
    }

    /// Takes what a member tells of the root.
    fn root(&mut self, member: Member) -> Result<std::result::Result<(), Refusal>> {
        if member.kind != Kind::Directory {
            return Ok(Err("has no name"));
        }
        let xattrs = self.keep(member.xattrs)?;
        if let Some(root) = self.files.first_mut() {
            (root.meta, root.xattrs, root.implied) = (member.meta, xattrs, false);
        }
        Ok(Ok(()))
    }

    /// Finds the directory of a path, and makes what is missing of it for a member.
    fn directory(&mut self, path: &[&[u8]], meta: &Meta) -> Result<Option<u32>> {
        let mut at = 0;
        for name in path {
            at = match self.child(at, name) {
                Some(child) => child,
                None => {
                    let made = self.number()?;
                    self.files.push(implied(meta));
                    self.set(at, name, made);
                    made
                }
            };
            if self.names(at).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(at))
    }

    /// Finds what a hard link is to.
    fn target(&self, path: &[u8]) -> std::result::Result<u32, Refusal> {
        let missing = "is a hard link to something that is not in the archive before it";
        let mut at = 0;
        for name in plain(path)? {
            at = self.child(at, name).ok_or(missing)?;
        }
        match self.names(at) {
            Some(_) => Err("is a hard link to a directory"),
            None => Ok(at),
        }
    }

    /// Returns a file without content that of a further name: of several names cpio has it with the last.
    fn fill(&mut self, file: u32, member: &mut Member) -> Result<()> {
        if member.size == 0 {
            return Ok(());
        }
        let place = self.place(member)?;
        if let Some(MemberFile {
            kind: kind @ FileKind::File(0, _),
            ..
        }) = self.files.get_mut(file as usize)
        {
            *kind = FileKind::File(member.size, place);
        }
        Ok(())
    }

    /// Notes where the content of a member is.
    fn place(&mut self, member: &mut Member) -> Result<u32> {
        let place = u32::try_from(self.places.len());
        let place = place.map_err(|_| Error::limit("more than 4294967295 files"))?;
        self.places.push(ContentLocation {
            start: member.content,
            size: member.size,
            map: member.map.take().map(Arc::from),
        });
        Ok(place)
    }

    /// Puts a member's file under a name; a directory that is there already changes and stays.
    fn put(&mut self, parent: u32, name: &[u8], mut member: Member) -> Result<()> {
        let xattrs = self.keep(std::mem::take(&mut member.xattrs))?;
        let known = self.child(parent, name);
        let kind = match member.kind {
            Kind::Directory => {
                let known = known.filter(|&known| self.names(known).is_some());
                let known = known.and_then(|known| self.files.get_mut(known as usize));
                if let Some(directory) = known {
                    (directory.meta, directory.xattrs) = (member.meta, xattrs);
                    directory.implied = false;
                    return Ok(());
                }
                FileKind::Directory(BTreeMap::new())
            }
            Kind::File | Kind::HardLink(_) => FileKind::File(member.size, self.place(&mut member)?),
            Kind::Symlink(target) => FileKind::Symlink(target.into()),
            Kind::CharDevice(rdev) => FileKind::CharDevice(rdev),
            Kind::BlockDevice(rdev) => FileKind::BlockDevice(rdev),
            Kind::Fifo => FileKind::Fifo,
            Kind::Socket => FileKind::Socket,
        };
        let number = self.number()?;
        self.files.push(MemberFile {
            meta: member.meta,
            kind,
            xattrs,
            implied: false,
        });
        self.set(parent, name, number);
        Ok(())
    }

    fn keep(&mut self, mut xattrs: Xattrs) -> Result<XattrSet> {
        self.xattrs.intern(&mut xattrs)
    }

    /// Returns the number of the file that comes next.
    fn number(&self) -> Result<u32> {
        u32::try_from(self.files.len()).map_err(|_| Error::limit("more than 4294967295 files"))
    }

    /// Returns the names in a directory; `None` for anything else.
    fn names(&self, at: u32) -> Option<&BTreeMap<Box<[u8]>, u32>> {
        match &self.files.get(at as usize)?.kind {
            FileKind::Directory(names) => Some(names),
            _ => None,
        }
    }

    fn child(&self, at: u32, name: &[u8]) -> Option<u32> {
        self.names(at)?.get(name).copied()
    }

    fn set(&mut self, at: u32, name: &[u8], file: u32) {
        if let Some(MemberFile {
            kind: FileKind::Directory(names),
            ..
        }) = self.files.get_mut(at as usize)
        {
            names.insert(name.into(), file);
        }
    }

    /// Makes the tree, without what is excluded.
    pub(in crate::source) fn finish(mut self, exclude: &Exclude) -> Result<BuiltTree> {
        if self.files.is_empty() {
            self.files.push(implied(&Meta::default()));
        }
        let meta = self.files.first().map(|root| root.meta);
        let mut builder = TreeBuilder::new(meta.unwrap_or_default());
        let mut growth = TreeWalk {
            nodes: vec![None; self.files.len()],
            of_nodes: vec![u32::MAX],
            of_files: vec![0],
            open: vec![(0, NodeId::ROOT, Vec::new())],
        };
        self.take_xattrs(&mut builder, 0, NodeId::ROOT)?;
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
            implied: implied.collect(),
            of_nodes: before
                .iter()
                .map(|id| of_node(id).unwrap_or(u32::MAX))
                .collect(),
            places: self.places,
            tree,
        })
    }

    /// Adds a name to the tree, and what it names if that is not there yet.
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
        let mut place = u32::MAX;
        let content = match &found.kind {
            FileKind::Directory(_) => Content::Directory { first: 0, count: 0 },
            &FileKind::File(size, at) => {
                place = at;
                Content::File { size }
            }
            FileKind::Symlink(target) => Content::Symlink(builder.intern(target)?),
            &FileKind::CharDevice(rdev) => Content::CharDevice(rdev),
            &FileKind::BlockDevice(rdev) => Content::BlockDevice(rdev),
            FileKind::Fifo => Content::Fifo,
            FileKind::Socket => Content::Socket,
        };
        let id = builder.add(parent, name, found.meta, content)?;
        *known = Some(id);
        growth.of_nodes.push(place);
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

/// MemberTree on their way into a `TreeBuilder`.
struct TreeWalk {
    /// The node of each file that has one.
    nodes: Vec<Option<NodeId>>,
    /// The place of each node, by the builder's ids.
    of_nodes: Vec<u32>,
    /// The file of each node, by the builder's ids.
    of_files: Vec<u32>,
    /// Directories to look into, with their paths if anybody asks for them.
    open: Vec<(u32, NodeId, Vec<u8>)>,
}

/// Makes a directory that no member tells of: all may read it, root owns it, and its time is that of the
/// first member that needs it.
fn implied(member: &Meta) -> MemberFile {
    MemberFile {
        meta: Meta {
            mode: 0o755,
            uid: 0,
            gid: 0,
            times: Times::all(member.times.modified),
        },
        kind: FileKind::Directory(BTreeMap::new()),
        xattrs: XattrSet::NONE,
        implied: true,
    }
}

/// Splits a path into names; slashes and `.` mean nothing.
fn plain(path: &[u8]) -> std::result::Result<Vec<&[u8]>, Refusal> {
    let mut names = Vec::new();
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => return Err("has `..` in its path"),
            name if name.len() > LONGEST_NAME => return Err("has a name of more than 255 bytes"),
            name if name.contains(&0) => return Err("has a NUL in its name"),
            name => names.push(name),
        }
    }
    Ok(names)
}
