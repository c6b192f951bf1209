//! The tree of an archive, built member by member: later members replace earlier ones, and missing
//! parents are created.
//!
//! Enters members in the archive's order; leaves a `Tree` and the location of each file's content.
//! **Invariant:** a path leads from the root through directories only: `..` and names below
//! anything else are refused, so no member ends up outside of its path. Replaced files are not in
//! the tree, except for hard links that were made before. A directory that is not empty is never
//! replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use sinterfs_archive::{Kind, Member};
use sinterfs_model::{Error, Meta, NodeId, Rdev, Result, Times, Tree, XattrSet, XattrSets, Xattrs};

use super::content::ContentLocation;

mod finish;

/// The longest name of a file in bytes.
const LONGEST_NAME: usize = 255;

/// A tree, and where the content of its files is.
pub(crate) struct BuiltTree {
    pub(crate) tree: Tree,
    pub(crate) locations: Vec<ContentLocation>,
    /// The index of the location of each node; out of range for other nodes than files.
    pub(crate) of_nodes: Vec<u32>,
    /// Directories without a member of their own, in order.
    pub(crate) implied: Vec<NodeId>,
    /// Links to files of lower layers: their nodes, their targets from the root of the tree on, and
    /// the members.
    pub(crate) links_below: Vec<(NodeId, Vec<u8>, u64)>,
}

/// Why a member cannot be added to the tree.
pub(crate) type Refusal = &'static str;

/// What a user has to know of a member that was added, or why it was refused.
type Added = std::result::Result<Option<String>, Refusal>;

/// Why a hard link without a target is refused.
pub(crate) const NO_TARGET: Refusal =
    "is a hard link to a file that does not precede it in the archive";

/// The tree of the members so far.
#[derive(Default)]
pub(crate) struct MemberTree {
    /// The first one is the root; empty before the first member.
    files: Vec<MemberFile>,
    locations: Vec<ContentLocation>,
    xattrs: XattrSets,
    /// Whether hard links without a target are kept, for a lower layer may have it.
    keeps_links: bool,
}

/// A file of any type.
struct MemberFile {
    meta: Meta,
    kind: FileKind,
    xattrs: XattrSet,
    /// Whether it has no member of its own.
    implied: bool,
}

/// The type of a file and what depends on it.
enum FileKind {
    Directory(BTreeMap<Box<[u8]>, u32>),
    /// Size and index of the location.
    File(u64, u32),
    Symlink(Box<[u8]>),
    CharDevice(Rdev),
    BlockDevice(Rdev),
    Fifo,
    Socket,
    /// A hard link to a file that is not in the archive: its path, and the member.
    LinkBelow(Box<[u8]>, u64),
}

impl MemberTree {
    /// Creates the tree of a layer: hard links without a target are kept.
    pub(crate) fn of_layer() -> Self {
        Self {
            keeps_links: true,
            ..Self::default()
        }
    }

    /// Adds a member, and returns what was passed over of it; or why it was refused.
    pub(crate) fn add(&mut self, mut member: Member) -> Result<Added> {
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
            None => return Ok(Err("has a parent that is not a directory")),
        };
        let known = self.child(parent, name).and_then(|known| self.names(known));
        if member.kind != Kind::Directory && known.is_some_and(|names| !names.is_empty()) {
            // as in tar, which cannot remove it
            return Ok(Err("would replace a directory that is not empty"));
        }
        if let Kind::HardLink(target) = &member.kind {
            match self.target(target) {
                Ok(target) => {
                    if let Some(below) = self.link_below(target) {
                        self.put_link_below(parent, name, &member, below)?;
                        return Ok(Ok(None));
                    }
                    let passed_over = self.fill(target, &mut member)?;
                    self.set(parent, name, target);
                    return Ok(Ok(passed_over));
                }
                // the member has content of its own
                Err(_) if member.size > 0 => {}
                Err(NO_TARGET) if self.keeps_links => {
                    let below = plain(target).unwrap_or_default().join(&b'/').into();
                    self.put_link_below(parent, name, &member, below)?;
                    return Ok(Ok(None));
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        self.put(parent, name, member)?;
        Ok(Ok(None))
    }

    /// Applies a member to the root.
    fn root(&mut self, member: Member) -> Result<Added> {
        if member.kind != Kind::Directory {
            return Ok(Err("has no name"));
        }
        let xattrs = self.keep(member.xattrs)?;
        if let Some(root) = self.files.first_mut() {
            (root.meta, root.xattrs, root.implied) = (member.meta, xattrs, false);
        }
        Ok(Ok(None))
    }

    /// Returns the directory of a path, creating missing directories for a member.
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

    /// Returns the target of a hard link.
    fn target(&self, path: &[u8]) -> std::result::Result<u32, Refusal> {
        let mut at = 0;
        for name in plain(path)? {
            at = self.child(at, name).ok_or(NO_TARGET)?;
        }
        match self.names(at) {
            Some(_) => Err("is a hard link to a directory"),
            None => Ok(at),
        }
    }

    /// Returns the target of a link to a file of a lower layer, if a file is one.
    fn link_below(&self, file: u32) -> Option<Box<[u8]>> {
        match &self.files.get(file as usize)?.kind {
            FileKind::LinkBelow(target, _) => Some(target.clone()),
            _ => None,
        }
    }

    /// Adds a link to a file of a lower layer.
    fn put_link_below(
        &mut self,
        parent: u32,
        name: &[u8],
        member: &Member,
        target: Box<[u8]>,
    ) -> Result<()> {
        let number = self.number()?;
        self.files.push(MemberFile {
            meta: member.meta,
            kind: FileKind::LinkBelow(target, member.at),
            xattrs: XattrSet::NONE,
            implied: false,
        });
        self.set(parent, name, number);
        Ok(())
    }

    /// Hands the content of a further name to a file without any: of several names, cpio stores it
    /// with the last. A copy of what the file has already is not used; returns what is said of
    /// anything else.
    fn fill(&mut self, file: u32, member: &mut Member) -> Result<Option<String>> {
        let size = member.size;
        if size == 0 {
            return Ok(None);
        }
        let known = match self.files.get(file as usize).map(|file| &file.kind) {
            Some(FileKind::File(known, _)) => Some(*known),
            _ => None,
        };
        match known {
            Some(0) => {
                let location = self.location(member)?;
                if let Some(file) = self.files.get_mut(file as usize) {
                    file.kind = FileKind::File(size, location);
                }
                Ok(None)
            }
            Some(known) if known == size => Ok(None),
            Some(known) => Ok(Some(format!(
                "a hard link with {size} bytes of content, passed over: the file has {known}"
            ))),
            None => Ok(Some(format!(
                "a hard link with {size} bytes of content, passed over: it leads to no file"
            ))),
        }
    }

    /// Records the location of the content of a member.
    fn location(&mut self, member: &mut Member) -> Result<u32> {
        let location = u32::try_from(self.locations.len());
        let location = location.map_err(|_| Error::limit("more than 4294967295 files"))?;
        self.locations.push(ContentLocation {
            start: member.content,
            size: member.size,
            map: member.map.take().map(Arc::from),
        });
        Ok(location)
    }

    /// Adds the file of a member; an existing directory is updated.
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
            Kind::File | Kind::HardLink(_) => {
                FileKind::File(member.size, self.location(&mut member)?)
            }
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

    /// Returns the number of the next file.
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
}

/// Creates a directory without a member of its own: mode 0755, owned by root, with the time of the
/// first member below it.
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

/// Splits a path into names; empty ones and `.` are skipped.
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
