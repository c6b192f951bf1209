//! All inodes and names, in memory: read from the metadata of images when the file is opened.
//!
//! In: decoded metadata resources. Out: `Nodes`.
//!
//! **Invariant:** listings do not overlap, so the walk reads each byte at most once. Names of a
//! directory are unique and sorted, 1 to 255 bytes without `/` and NUL, and neither `.` nor `..`:
//! entries with other names are left out and reported, as wimlib does. Content that an entry refers
//! to is there.
//!
//! Memory: some 130 bytes per inode, 16 per name, and the bytes of names and attributes.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use sinterfs_block::checksum::Sha1Digest;
use sinterfs_model::{Error, FileType, Result};

use super::blobs::BlobTable;
use super::dentries::{self, Dentry, to_bytes};
use super::digests::hex;
use super::items::{self, Items};
use super::unshown::Unshown;
use crate::layout::{attributes, reparse};

/// No content.
pub(crate) const NO_BLOB: u32 = u32::MAX;

/// The most entries that are reported of those that are left out.
pub(super) const MAX_REPORTED: usize = 100;

/// The longest name of a stream in bytes: it follows `user.` in the name of an attribute.
const STREAM_NAME_MAX: usize = 250;

/// An inode.
#[derive(Debug, Clone)]
pub(crate) struct WimNode {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) rdev: u32,
    /// In units of 100 ns since 1601.
    pub(crate) modified: u64,
    pub(crate) links: u32,
    /// The index of the parent of a directory; the root is its own parent.
    pub(crate) parent: u32,
    /// The names of a directory.
    pub(crate) names: Range<u32>,
    /// The blob of a file's content or of a link's target.
    pub(crate) blob: u32,
    /// The tag of a reparse point.
    pub(crate) tag: u32,
    pub(crate) attributes: u32,
    pub(crate) streams: Range<u32>,
    /// Extended attributes as they are stored.
    pub(crate) xattrs: Range<usize>,
    pub(crate) has_old_xattrs: bool,
    /// The position of a directory's listing.
    listing: u64,
}

/// A name in a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameEntry {
    start: u32,
    len: u32,
    pub(crate) node: u32,
}

/// A named stream of an inode.
#[derive(Debug, Clone)]
pub(crate) struct NamedStream {
    pub(crate) name: Vec<u8>,
    pub(crate) blob: u32,
}

/// All inodes; index 0 is the root.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pub(crate) all: Vec<WimNode>,
    pub(super) names: Vec<NameEntry>,
    text: Vec<u8>,
    pub(crate) streams: Vec<NamedStream>,
    pub(crate) items: Vec<u8>,
    pub(crate) unshown: Unshown,
    /// Inodes with streams whose names no attribute can have.
    pub(crate) odd_streams: Vec<u32>,
    /// Entries that were left out, with the reasons.
    pub(crate) left_out: Vec<String>,
    /// The names of these entries.
    pub(crate) left_out_names: Vec<Vec<u8>>,
    pub(crate) left_out_count: u64,
    /// Bytes of memory that further inodes may take.
    budget: u64,
}

impl Nodes {
    pub(super) fn new(budget: u64) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    pub(crate) fn get(&self, index: u32) -> Option<&WimNode> {
        self.all.get(index as usize)
    }

    /// Returns the named streams of an inode.
    pub(crate) fn streams_of(&self, node: &WimNode) -> &[NamedStream] {
        let range = node.streams.start as usize..node.streams.end as usize;
        self.streams.get(range).unwrap_or_default()
    }

    pub(super) fn text_of(&self, entry: &NameEntry) -> &[u8] {
        let start = entry.start as usize;
        self.text
            .get(start..start + entry.len as usize)
            .unwrap_or_default()
    }

    fn charge(&mut self, bytes: usize) -> Result<()> {
        let left = self.budget.checked_sub(bytes as u64);
        self.budget =
            left.ok_or_else(|| Error::limit("the inodes take more memory than metadata may take"))?;
        Ok(())
    }

    fn push(&mut self, node: WimNode) -> Result<u32> {
        self.charge(size_of::<WimNode>())?;
        let index = u32::try_from(self.all.len()).map_err(|_| Error::limit("2^32 inodes"))?;
        self.all.push(node);
        Ok(index)
    }

    /// Adds names of a directory, which are sorted and have been charged.
    fn set_names(&mut self, dir: u32, names: Vec<(Vec<u8>, u32)>) -> Result<()> {
        let first = self.names.len();
        for (name, node) in names {
            let start = u32::try_from(self.text.len());
            let start = start.map_err(|_| Error::limit("4 GiB of names"))?;
            let len = u32::try_from(name.len()).unwrap_or(0);
            self.text.extend_from_slice(&name);
            self.names.push(NameEntry { start, len, node });
        }
        let number = |count: usize| u32::try_from(count).map_err(|_| Error::limit("2^32 names"));
        let range = number(first)?..number(self.names.len())?;
        if let Some(dir) = self.all.get_mut(dir as usize) {
            dir.names = range;
        }
        Ok(())
    }

    fn leave_out(&mut self, name: &[u8], why: &str) {
        self.left_out_count += 1;
        if self.left_out.len() < MAX_REPORTED {
            let shown = String::from_utf8_lossy(name);
            self.left_out_names.push(name.to_vec());
            self.left_out
                .push(format!("the entry {shown:?} is left out: {why}"));
        }
    }

    /// Makes a root with a directory for each image, named by its number.
    pub(super) fn add_images(
        &mut self,
        images: &[(u32, Vec<u8>)],
        table: &BlobTable,
    ) -> Result<()> {
        let mut root = WimNode::directory(0);
        root.names = 0..0;
        self.push(root)?;
        let mut names = Vec::new();
        for (number, metadata) in images {
            let index = self.add_image(metadata, table, 0)?;
            let name = number.to_string().into_bytes();
            self.charge(size_of::<NameEntry>() + name.len())?;
            names.push((name, index));
        }
        names.sort_unstable();
        self.set_names(0, names)
    }

    /// Adds the inodes of an image and returns the index of its root; `parent` is the index of the
    /// root.
    pub(super) fn add_image(
        &mut self,
        metadata: &[u8],
        table: &BlobTable,
        parent: u32,
    ) -> Result<u32> {
        let (_, at) = dentries::security(metadata).map_err(|error| located(error, 0))?;
        let mut walk = MetadataWalk {
            nodes: self,
            metadata,
            table,
            seen: HashSet::new(),
            left: metadata.len() as u64,
            groups: HashMap::new(),
        };
        walk.root(at, parent)
    }
}

impl WimNode {
    fn directory(parent: u32) -> Self {
        Self {
            kind: FileType::Directory,
            mode: 0o755,
            uid: 0,
            gid: 0,
            rdev: 0,
            modified: 0,
            links: 1,
            parent,
            names: 0..0,
            blob: NO_BLOB,
            tag: 0,
            attributes: attributes::DIRECTORY,
            streams: 0..0,
            xattrs: 0..0,
            has_old_xattrs: false,
            listing: 0,
        }
    }
}

/// Which names are one inode: the number of the group, content and type.
type Group = (u64, u32, FileType);

/// The walk of the directories of one image.
struct MetadataWalk<'a> {
    nodes: &'a mut Nodes,
    metadata: &'a [u8],
    table: &'a BlobTable,
    /// The positions of listings that were read.
    seen: HashSet<u64>,
    /// Bytes of entries that may still be read: each is read once.
    left: u64,
    groups: HashMap<Group, u32>,
}

impl MetadataWalk<'_> {
    fn root(&mut self, at: u64, parent: u32) -> Result<u32> {
        let entry = dentries::entry(self.metadata, at).map_err(|error| located(error, at))?;
        let index = match entry {
            Some(entry) => {
                self.node(&entry, parent)
                    .map_err(|error| located(error, at))?
                    .0
            }
            // an image without files
            None => self.nodes.push(WimNode::directory(parent))?,
        };
        let is_directory = |node: &WimNode| node.kind == FileType::Directory;
        if !self.nodes.get(index).is_some_and(is_directory) {
            return Err(located(Error::corrupt("the root is not a directory"), at));
        }
        let mut next = index;
        while let Some(node) = self.nodes.get(next) {
            let listing = node.listing;
            if node.kind == FileType::Directory && listing != 0 {
                self.directory(next, listing)?;
            }
            next += 1;
        }
        Ok(index)
    }

    /// Reads the listing of a directory.
    fn directory(&mut self, dir: u32, mut at: u64) -> Result<()> {
        if !self.seen.insert(at) {
            let error = Error::corrupt("a listing that two directories have, or one in itself");
            return Err(located(error, at));
        }
        let mut names = Vec::new();
        let mut taken = HashSet::new();
        loop {
            let entry = dentries::entry(self.metadata, at).map_err(|error| located(error, at))?;
            let Some(entry) = entry else { break };
            let start = at;
            let name = to_bytes(entry.name);
            // of equal names the first one stays
            let twice = "the directory has another entry of that name";
            let why = refused(&name).or_else(|| taken.contains(&name).then_some(twice));
            if let Some(why) = why {
                self.nodes.leave_out(&name, why);
                at = self.skip_streams(&entry)?;
                self.pass(start, at)?;
                continue;
            }
            let (index, next) = self.node(&entry, dir).map_err(|error| located(error, at))?;
            self.nodes.charge(size_of::<NameEntry>() + name.len())?;
            taken.insert(name.clone());
            names.push((name, index));
            at = next;
            self.pass(start, at)?;
        }
        names.sort_unstable();
        self.nodes.set_names(dir, names)
    }

    /// Takes the bytes of an entry and its streams of those that may still be read.
    fn pass(&mut self, start: u64, end: u64) -> Result<()> {
        let left = self.left.checked_sub(end.saturating_sub(start));
        self.left = left.ok_or_else(|| {
            let error = Error::corrupt("the listings of directories overlap");
            located(error, start)
        })?;
        Ok(())
    }

    fn skip_streams(&self, entry: &Dentry<'_>) -> Result<u64> {
        let mut at = entry.next;
        for _ in 0..entry.streams {
            let stream = dentries::stream(self.metadata, at);
            at = stream.map_err(|error| located(error, at))?.next;
        }
        Ok(at)
    }

    /// Adds the inode of an entry, unless it is a hard link to one. Returns its index, and the
    /// position of the next entry.
    fn node(&mut self, entry: &Dentry<'_>, parent: u32) -> Result<(u32, u64)> {
        let items = items::parse(entry.items)?;
        let kind = kind_of(entry, items.unix.map(|unix| unix.mode));
        let (digest, streams, next) = self.streams(entry)?;
        let blob = self.blob(&digest)?;
        self.nodes.unshown.short_names += u64::from(entry.has_short_name);
        let group = (entry.link_group, blob, kind);
        let has_links = entry.link_group != 0 && kind != FileType::Directory;
        if let Some(&first) = self.groups.get(&group).filter(|_| has_links) {
            if let Some(node) = self.nodes.all.get_mut(first as usize) {
                node.links += 1;
            }
            return Ok((first, next));
        }
        self.count(entry, &items, kind);
        let mut node = WimNode::directory(parent);
        node.kind = kind;
        node.modified = entry.modified;
        node.attributes = entry.attributes;
        node.tag = entry.tag;
        node.blob = blob;
        node.mode = mode_of(entry, kind);
        if let Some(unix) = items.unix {
            node.mode = u16::try_from(unix.mode & 0o7777).unwrap_or(0);
            (node.uid, node.gid, node.rdev) = (unix.uid, unix.gid, unix.rdev);
        }
        if kind == FileType::Directory {
            node.listing = entry.listing;
        }
        let (named, others): (Vec<_>, Vec<_>) = streams
            .into_iter()
            .partition(|stream| !stream.name.contains(&0) && stream.name.len() <= STREAM_NAME_MAX);
        let has_others = !others.is_empty();
        node.streams = self.keep_streams(named)?;
        if let Some(item) = items.xattrs {
            // checked here, so that reading them cannot fail
            items::xattrs(item)?;
            self.nodes.charge(item.bytes.len())?;
            let start = self.nodes.items.len();
            self.nodes.items.extend_from_slice(item.bytes);
            node.xattrs = start..self.nodes.items.len();
            node.has_old_xattrs = item.is_old;
        }
        let index = self.nodes.push(node)?;
        if has_others {
            self.nodes.charge(size_of::<u32>())?;
            self.nodes.odd_streams.push(index);
        }
        if has_links {
            self.nodes.charge(size_of::<Group>())?;
            self.groups.insert(group, index);
        }
        Ok((index, next))
    }

    /// Returns the digest of an entry's content or reparse point, its named streams, and the
    /// position of the next entry.
    fn streams(&self, entry: &Dentry<'_>) -> Result<(Sha1Digest, Vec<NamedStream>, u64)> {
        let (mut digest, mut named, mut at) = (entry.digest, Vec::new(), entry.next);
        for _ in 0..entry.streams {
            let stream = dentries::stream(self.metadata, at)?;
            if stream.name.is_empty() {
                if digest == [0; 20] {
                    digest = stream.digest;
                }
            } else {
                let name = to_bytes(stream.name);
                let blob = self.blob(&stream.digest)?;
                named.push(NamedStream { name, blob });
            }
            at = stream.next;
        }
        Ok((digest, named, at))
    }

    fn keep_streams(&mut self, streams: Vec<NamedStream>) -> Result<Range<u32>> {
        let memory = |stream: &NamedStream| size_of::<NamedStream>() + stream.name.len();
        self.nodes.charge(streams.iter().map(memory).sum())?;
        let number = |count: usize| u32::try_from(count).map_err(|_| Error::limit("2^32 streams"));
        let first = number(self.nodes.streams.len())?;
        self.nodes.streams.extend(streams);
        Ok(first..number(self.nodes.streams.len())?)
    }

    /// Finds the blob of a digest; `NO_BLOB` for the digest of nothing.
    fn blob(&self, digest: &Sha1Digest) -> Result<u32> {
        if digest == &[0; 20] || digest == &EMPTY {
            return Ok(NO_BLOB);
        }
        self.table.find(digest).ok_or_else(|| {
            Error::corrupt(format!(
                "content with the SHA-1 {} is not in the file: it needs another part, or the file \
                 that it is a delta of",
                hex(digest)
            ))
        })
    }

    /// Counts what is not shown of an inode, once for all of its names.
    fn count(&mut self, entry: &Dentry<'_>, items: &Items<'_>, kind: FileType) {
        let unshown = &mut self.nodes.unshown;
        let plain = attributes::DIRECTORY | attributes::NORMAL | attributes::REPARSE_POINT;
        unshown.attributes += u64::from(entry.attributes & !plain != 0);
        unshown.security += u64::from(entry.has_security);
        unshown.object_ids += u64::from(items.has_object_id);
        unshown.items += items.unknown;
        let is_own = |time| u64::from(time != 0 && time != entry.modified);
        unshown.births += is_own(entry.created);
        unshown.accesses += is_own(entry.accessed);
        let is_other = entry.tag != 0 && matches!(kind, FileType::File | FileType::Directory);
        unshown.reparse_points += u64::from(is_other);
    }
}

/// The SHA-1 of nothing.
const EMPTY: Sha1Digest = [
    0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55, 0xbf, 0xef, 0x95, 0x60, 0x18, 0x90,
    0xaf, 0xd8, 0x07, 0x09,
];

/// Returns why a name is not shown.
fn refused(name: &[u8]) -> Option<&'static str> {
    match name {
        b"" => Some("it has no name"),
        b"." | b".." => Some("no entry may have that name"),
        _ if name.iter().any(|byte| matches!(byte, 0 | b'/')) => {
            Some("no name may have a slash or NUL")
        }
        _ if name.len() > 255 => Some("its name has more than 255 bytes"),
        _ => None,
    }
}

/// Returns the type of an inode: from its reparse point, otherwise from its mode.
fn kind_of(entry: &Dentry<'_>, mode: Option<u32>) -> FileType {
    let is_directory = entry.attributes & attributes::DIRECTORY != 0;
    match entry.tag {
        reparse::SYMLINK | reparse::JUNCTION | reparse::LX_SYMLINK => return FileType::Symlink,
        reparse::LX_FIFO => return FileType::Fifo,
        reparse::AF_UNIX => return FileType::Socket,
        reparse::LX_CHAR => return FileType::CharDevice,
        reparse::LX_BLOCK => return FileType::BlockDevice,
        _ if is_directory => return FileType::Directory,
        _ => {}
    }
    match mode.and_then(FileType::from_mode) {
        None | Some(FileType::Directory | FileType::Symlink) => FileType::File,
        Some(kind) => kind,
    }
}

/// Returns the permissions of an inode without Unix data.
fn mode_of(entry: &Dentry<'_>, kind: FileType) -> u16 {
    let mode = match kind {
        FileType::Directory => 0o755,
        FileType::Symlink => return 0o777,
        _ => 0o644,
    };
    match entry.attributes & attributes::READ_ONLY {
        0 => mode,
        _ => mode & 0o555,
    }
}

#[cold]
fn located(error: Error, at: u64) -> Error {
    error.within(format!("metadata at {at:#x}"))
}
