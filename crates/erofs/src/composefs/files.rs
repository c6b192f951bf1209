//! The files of an image to write: inodes with their attributes, and directories of names.
//!
//! In: a dump, or a scanned tree with a record of each file's content. Out: `Files`.
//!
//! **Invariant:** inode 0 is the root; each other inode has one first name, which determines its
//! place, and any number of further names; no name occurs twice in a directory.

use std::collections::{HashMap, HashSet};

use sinterfs_block::verity::VerityDigest;
use sinterfs_model::{
    Content, Error, FileType, NodeId, Result, Time, Tree, TreeStats, XattrSet, XattrSets,
};

/// The longest file of a directory that is stored in the image, as by the reference.
pub const INLINE_MAX: u64 = 64;

/// The most bytes of a file in the image, as for the reference.
pub(super) const CONTENT_MAX: usize = 5000;

/// The most bytes of a symlink's target.
const TARGET_MAX: usize = 4095;

/// The most bytes of a name, of a file or of an attribute.
const NAME_MAX: usize = 255;

/// The longest file in bytes: the limit of the reference's chunk table.
const SIZE_MAX: u64 = 1 << 53;

/// The most bytes of an inode's attributes, each taken with `XATTR_OVERHEAD`, as for the reference.
const XATTRS_MAX: usize = 32_755;

/// The maximum overhead of an attribute in bytes, without its name and value.
const XATTR_OVERHEAD: usize = 7;

/// The path of an object in its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectPath {
    /// There is none.
    None,
    /// The one that the digest gives.
    OfDigest,
    /// Another.
    Named(Box<[u8]>),
}

/// The content of an inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Nothing: a device, a fifo, a socket, an empty file, a directory, whose names are elsewhere.
    None,
    /// The bytes of a file or the target of a symlink.
    Inline(Box<[u8]>),
    /// A file in the store.
    Object {
        /// Its bytes.
        size: u64,
        /// Where it is.
        path: ObjectPath,
        /// Its fs-verity digest.
        digest: Option<VerityDigest>,
    },
}

/// One inode.
#[derive(Debug, Clone)]
pub struct Inode {
    /// The type.
    pub kind: FileType,
    /// Permissions, set-id bits and the sticky bit.
    pub mode: u16,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Names; directories are counted again.
    pub nlink: u32,
    /// A device's number as Linux packs it into 32 bits.
    pub rdev: u32,
    /// The time of modification.
    pub mtime: Time,
    /// Extended attributes.
    pub xattrs: XattrSet,
    /// The content.
    pub body: Body,
}

/// A name in a directory.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) name: Box<[u8]>,
    pub(super) inode: u32,
    /// Whether this is the inode's own name.
    pub(super) own: bool,
}

/// Which entries and attributes of a tree are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Whether devices are.
    pub devices: bool,
    /// Which extended attributes are.
    pub xattrs: KeptXattrs,
}

/// Which extended attributes of a tree go into an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeptXattrs {
    /// All.
    #[default]
    All,
    /// Those with the prefix `user.`.
    User,
    /// None.
    None,
}

impl KeptXattrs {
    /// Returns the sets that are kept, and for each set of a tree its new number.
    fn choose(self, all: &XattrSets) -> Result<(XattrSets, Vec<XattrSet>)> {
        let (mut kept, mut numbers) = (XattrSets::default(), Vec::new());
        for number in 0..=all.count() {
            let pairs = all.pairs(XattrSet(number));
            let mut pairs: Vec<_> = pairs
                .filter(|(name, _)| match self {
                    Self::All => true,
                    Self::User => name.starts_with(b"user."),
                    Self::None => false,
                })
                .map(|(name, value)| (name.to_vec(), value.to_vec()))
                .collect();
            numbers.push(kept.intern(&mut pairs)?);
        }
        Ok((kept, numbers))
    }
}

/// All files.
#[derive(Debug, Default)]
pub struct Files {
    inodes: Vec<Inode>,
    /// The names of each directory, by its inode.
    names: HashMap<u32, Vec<Name>>,
    xattrs: XattrSets,
}

impl Files {
    /// Starts without any, with the attributes that inodes will name by their sets.
    fn new(xattrs: XattrSets) -> Self {
        Self {
            inodes: Vec::new(),
            names: HashMap::new(),
            xattrs,
        }
    }

    /// Converts a scanned tree; `body` returns the content of files. Further names of one file
    /// become separate files, as in the reference.
    pub fn of_tree(
        tree: &Tree,
        kept: Kept,
        mut body: impl FnMut(NodeId) -> Result<Body>,
    ) -> Result<Self> {
        let (xattrs, sets) = kept.xattrs.choose(tree.xattrs())?;
        let mut inode = |node: NodeId| {
            let set = tree.node(node).xattrs.0 as usize;
            let set = sets.get(set).copied().unwrap_or(XattrSet::NONE);
            inode_of(tree, node, set, &mut body)
        };
        let mut files = Self::new(xattrs);
        files.push(inode(NodeId::ROOT)?)?;
        // where directories are, by their nodes; a directory comes before the names in it
        let mut places = vec![0; tree.nodes().len()];
        for link in tree.links() {
            let kind = tree.node(link.node).content.kind();
            if !kept.devices && matches!(kind, FileType::CharDevice | FileType::BlockDevice) {
                continue;
            }
            let dir = places.get(link.parent.index()).copied().unwrap_or(0);
            let place = inode(link.node)
                .and_then(|inode| files.add(dir, tree.bytes(link.name), inode))
                .map_err(|error| {
                    error.path(String::from_utf8_lossy(&tree.path(link.node)).into_owned())
                })?;
            if let Some(known) = places.get_mut(link.node.index()) {
                *known = place;
            }
        }
        Ok(files)
    }

    /// Adds an inode with its own name.
    pub(super) fn add(&mut self, dir: u32, name: &[u8], inode: Inode) -> Result<u32> {
        let place = self.push(inode)?;
        self.link(dir, name, place, true)?;
        Ok(place)
    }

    /// Adds a name to a directory. The caller sees to it that the name is not there yet.
    pub(super) fn link(&mut self, dir: u32, name: &[u8], inode: u32, own: bool) -> Result<()> {
        if name.len() > NAME_MAX {
            return Err(Error::limit(format!("a name of {} bytes", name.len())));
        }
        let name = name.into();
        let names = self.names.entry(dir).or_default();
        names.push(Name { name, inode, own });
        Ok(())
    }

    /// Adds an inode without a name: first of all the root.
    pub(super) fn push(&mut self, inode: Inode) -> Result<u32> {
        check(&inode)?;
        let place = u32::try_from(self.inodes.len());
        let place = place.map_err(|_| Error::limit("more than 4294967295 files"))?;
        self.inodes.push(inode);
        self.check_xattrs(place)?;
        Ok(place)
    }

    fn check_xattrs(&self, inode: u32) -> Result<()> {
        let mut bytes = 0;
        for (name, value) in self.xattrs.pairs(self.inode(inode).xattrs) {
            if name.is_empty() || name.len() > NAME_MAX {
                let len = name.len();
                return Err(Error::limit(format!(
                    "the name of an extended attribute has {len} bytes"
                )));
            }
            bytes += name.len() + value.len() + XATTR_OVERHEAD;
        }
        if bytes > XATTRS_MAX {
            return Err(Error::limit(format!(
                "{bytes} bytes of extended attributes of one file, of which {XATTRS_MAX} fit"
            )));
        }
        Ok(())
    }

    /// Keeps a set of attributes.
    pub(super) fn intern(&mut self, pairs: &mut [(Vec<u8>, Vec<u8>)]) -> Result<XattrSet> {
        self.xattrs.intern(pairs)
    }

    /// Puts the names of each directory into their order.
    pub(super) fn sort(&mut self) {
        for names in self.names.values_mut() {
            names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        }
    }

    /// Returns an inode.
    #[expect(
        clippy::indexing_slicing,
        reason = "`add` returns the places that there are"
    )]
    pub(super) fn inode(&self, place: u32) -> &Inode {
        &self.inodes[place as usize]
    }

    pub(super) fn inodes(&self) -> &[Inode] {
        &self.inodes
    }

    /// Returns the names of a directory.
    pub(super) fn names(&self, dir: u32) -> &[Name] {
        self.names.get(&dir).map_or(&[], |names| names)
    }

    pub(super) fn xattrs(&self) -> &XattrSets {
        &self.xattrs
    }

    /// Changes the time of every file.
    pub fn change_times(&mut self, change: impl Fn(Time) -> Time) {
        for inode in &mut self.inodes {
            inode.mtime = change(inode.mtime);
        }
    }

    /// Counts inodes and bytes.
    pub fn stats(&self) -> TreeStats {
        let mut stats = TreeStats::default();
        for inode in &self.inodes {
            match inode.kind {
                FileType::Directory => stats.directories += 1,
                FileType::File => stats.files += 1,
                FileType::Symlink => stats.symlinks += 1,
                _ => stats.specials += 1,
            }
            if inode.kind == FileType::File {
                let size = match &inode.body {
                    Body::None => 0,
                    Body::Inline(bytes) => bytes.len() as u64,
                    Body::Object { size, .. } => *size,
                };
                stats.bytes = stats.bytes.saturating_add(size);
            }
        }
        let names = self.names.values().flatten();
        stats.hard_links = names.filter(|name| !name.own).count() as u64;
        stats
    }

    /// Returns whether content of any file is in a store.
    pub fn has_objects(&self) -> bool {
        let mut inodes = self.inodes.iter();
        inodes.any(|inode| matches!(inode.body, Body::Object { .. }))
    }

    /// Counts distinct objects by their digests, and their bytes.
    pub fn objects(&self) -> (u64, u64) {
        let mut seen = HashSet::new();
        let mut bytes = 0_u64;
        for inode in &self.inodes {
            if let Body::Object {
                size,
                digest: Some(digest),
                ..
            } = &inode.body
                && seen.insert(digest)
            {
                bytes = bytes.saturating_add(*size);
            }
        }
        (seen.len() as u64, bytes)
    }
}

/// Fails if an inode exceeds a limit of the format.
fn check(inode: &Inode) -> Result<()> {
    match (&inode.body, inode.kind) {
        (Body::Inline(target), FileType::Symlink) => match target.len() {
            0 => Err(Error::invalid("a symlink without a target")),
            1..=TARGET_MAX => Ok(()),
            len => Err(Error::limit(format!("a target of {len} bytes"))),
        },
        (Body::Inline(content), _) if content.len() > CONTENT_MAX => Err(Error::limit(format!(
            "content of {} bytes, of which {CONTENT_MAX} fit",
            content.len()
        ))),
        (Body::Object { size, .. }, _) if *size > SIZE_MAX => {
            Err(Error::limit(format!("a file of {size} bytes")))
        }
        _ => Ok(()),
    }
}

/// Describes a node of a tree.
fn inode_of(
    tree: &Tree,
    node: NodeId,
    xattrs: XattrSet,
    body: &mut impl FnMut(NodeId) -> Result<Body>,
) -> Result<Inode> {
    let known = tree.node(node);
    let body = match known.content {
        Content::File { .. } => body(node)?,
        Content::Symlink(target) => Body::Inline(tree.bytes(target).into()),
        _ => Body::None,
    };
    let rdev = match known.content {
        Content::CharDevice(rdev) | Content::BlockDevice(rdev) => {
            let number = u32::try_from(rdev.to_dev_t());
            number.map_err(|_| Error::limit("a device's number of more than 32 bits"))?
        }
        _ => 0,
    };
    Ok(Inode {
        kind: known.content.kind(),
        mode: known.meta.mode,
        uid: known.meta.uid,
        gid: known.meta.gid,
        nlink: 1,
        rdev,
        mtime: known.meta.times.modified,
        xattrs,
        body,
    })
}
