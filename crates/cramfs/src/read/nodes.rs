//! All inodes of an image, in memory: read from the listings of directories when it is opened.
//!
//! In: a window of the image and the inode of the root. Out: `Nodes`.
//!
//! **Invariant:** every listing is within the image and overlaps no other, so the walk reads at
//! most the bytes of the image. The entries of a directory are adjacent and sorted by name; names
//! are unique, and none is empty, `.`, `..` or has a `/` or NUL. Damaged entries are left out and
//! kept in `Nodes::left_out`.
//!
//! Memory: 48 bytes per inode, and the names.

use std::collections::BTreeMap;
use std::ops::Range;

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, FileType, Ino, Kind, Limits, ListingErrors, Result};

use super::superblock::SuperblockFields;
use crate::layout::{INODE_LEN, InodeFields, ROOT_AT};

/// An inode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CramfsNode {
    /// The type; that of a file if the mode has none.
    pub(crate) kind: FileType,
    pub(crate) fields: InodeFields,
    /// The index of the directory that has the inode; the root has its own index.
    pub(crate) parent: u32,
    /// The position of the inode in the image.
    pub(crate) at: u32,
    /// The index of the first entry of a directory, and the number of entries.
    first: u32,
    count: u32,
    /// The position of the name in `names`, and its length in bytes.
    name: u32,
    name_len: u8,
}

/// The bytes of memory of an inode, without its name.
const NODE_LEN: u64 = size_of::<CramfsNode>() as u64;

/// All inodes; index 0 is the root.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    all: Vec<CramfsNode>,
    names: Vec<u8>,
    /// What directories have that is not shown.
    pub(crate) left_out: ListingErrors,
}

impl Nodes {
    /// Reads all listings. `Corrupt` if that of the root cannot be read, `Limit` if they are too
    /// large.
    pub(super) fn read(window: &Window, head: &SuperblockFields, limits: &Limits) -> Result<Self> {
        let mut walk = NodeWalk {
            window,
            head,
            budget: limits.metadata,
            listings: BTreeMap::new(),
            nodes: Self::default(),
        };
        walk.root()?;
        let mut index = 0;
        while let Some(node) = walk.nodes.all.get(index as usize).copied() {
            if node.kind == FileType::Directory {
                match walk.directory(index, &node) {
                    Err(error) if index > 0 => walk.leave_out(index, node.at.into(), error)?,
                    read => read?,
                }
            }
            index += 1;
        }
        Ok(walk.nodes)
    }

    /// Returns the inode with an index.
    pub(crate) fn get(&self, index: u32) -> Option<&CramfsNode> {
        self.all.get(index as usize)
    }

    /// Returns all inodes; the entries of a directory follow it.
    pub(crate) fn all(&self) -> &[CramfsNode] {
        &self.all
    }

    /// Returns the name of an inode; empty for the root.
    pub(crate) fn name(&self, node: &CramfsNode) -> &[u8] {
        let start = node.name as usize;
        let end = start + usize::from(node.name_len);
        self.names.get(start..end).unwrap_or_default()
    }

    /// Returns the indexes of the entries of a directory; none for other inodes.
    pub(crate) fn entries(&self, dir: &CramfsNode) -> Range<u32> {
        dir.first..dir.first.saturating_add(dir.count)
    }

    /// Finds the index of a name in a directory.
    pub(crate) fn find(&self, dir: &CramfsNode, name: &[u8]) -> Option<u32> {
        let Range { start, end } = self.entries(dir);
        let entries = self.all.get(start as usize..end as usize)?;
        let found = entries.binary_search_by(|entry| self.name(entry).cmp(name));
        start.checked_add(u32::try_from(found.ok()?).ok()?)
    }
}

/// The walk of all directories.
struct NodeWalk<'a> {
    window: &'a Window,
    head: &'a SuperblockFields,
    /// Bytes of memory that further inodes and names may take.
    budget: u64,
    /// The listings so far: their ends by their starts.
    listings: BTreeMap<u64, u64>,
    nodes: Nodes,
}

impl NodeWalk<'_> {
    fn root(&mut self) -> Result<()> {
        let root = CramfsNode {
            kind: FileType::Directory,
            fields: self.head.root,
            parent: 0,
            at: u32::try_from(self.head.at + ROOT_AT as u64).unwrap_or(0),
            first: 0,
            count: 0,
            name: 0,
            name_len: 0,
        };
        if FileType::from_mode(root.fields.mode.into()) != Some(FileType::Directory) {
            let error = Error::corrupt("the root is not a directory");
            return Err(self.located(error, root.at.into()));
        }
        self.nodes.all.push(root);
        Ok(())
    }

    /// Appends the entries of a directory.
    fn directory(&mut self, index: u32, dir: &CramfsNode) -> Result<()> {
        let (start, len) = (dir.fields.offset(), u64::from(dir.fields.size));
        if len == 0 {
            return Ok(());
        }
        self.reserve(start, len, dir.at)?;
        let bytes = self.window.read(start, len)?;
        let first = self.nodes.all.len();
        let mut rest: &[u8] = &bytes;
        while !rest.is_empty() {
            let at = start + len - rest.len() as u64;
            rest = match self.entry(index, at, rest) {
                Ok(rest) => rest,
                // where the next one begins is unknown
                Err(error) => {
                    self.leave_out(index, at, self.located(error, at))?;
                    &[]
                }
            };
        }
        let mut entries = self.nodes.all.split_off(first);
        let name = |node: &CramfsNode| self.nodes.name(node);
        // of two with one name the first one stays
        entries.sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.at.cmp(&b.at)));
        let mut twice = Vec::new();
        entries.dedup_by(|second, first| {
            let is_twice = name(second) == name(first);
            if is_twice {
                twice.push(*second);
            }
            is_twice
        });
        for node in twice {
            let (shown, at) = (String::from_utf8_lossy(name(&node)), node.at.into());
            let error = Error::corrupt(format!("the name {shown:?} occurs twice in a directory"));
            self.leave_out(index, at, self.located(error, at))?;
        }
        let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        self.nodes.all.append(&mut entries);
        if let Some(dir) = self.nodes.all.get_mut(index as usize) {
            dir.first = u32::try_from(first).unwrap_or(u32::MAX);
            dir.count = count;
        }
        Ok(())
    }

    /// Takes the bytes of a listing, unless it is outside of the image or overlaps another one.
    fn reserve(&mut self, start: u64, len: u64, at: u32) -> Result<()> {
        let end = start.saturating_add(len);
        let error = if end > self.window.len() {
            format!("a listing of {len} bytes at {start:#x} is not within the image")
        } else {
            let before = self.listings.range(..end).next_back();
            match before {
                Some((other, other_end)) if *other_end > start => {
                    format!("the listings at {start:#x} and {other:#x} overlap")
                }
                _ => {
                    self.listings.insert(start, end);
                    return Ok(());
                }
            }
        };
        Err(self.located(Error::corrupt(error), at.into()))
    }

    /// Appends the first entry of a listing, unless its name is damaged, and returns the rest.
    fn entry<'a>(&mut self, parent: u32, at: u64, listing: &'a [u8]) -> Result<&'a [u8]> {
        let (record, rest) = listing
            .split_first_chunk::<INODE_LEN>()
            .ok_or_else(|| Error::corrupt("an entry past the end of its listing"))?;
        let fields = InodeFields::decode(self.head.order, record);
        let (padded, rest) = rest
            .split_at_checked(fields.name_len())
            .ok_or_else(|| Error::corrupt("a name past the end of its listing"))?;
        let len = padded
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |at| at + 1);
        let name = padded.get(..len).unwrap_or_default();
        if matches!(name, b"" | b"." | b"..") || name.iter().any(|b| matches!(b, 0 | b'/')) {
            let shown = String::from_utf8_lossy(name);
            let error = Error::corrupt(format!("the name {shown:?}"));
            self.leave_out(parent, at, self.located(error, at))?;
            return Ok(rest);
        }
        // one without a type is an error where it is used
        let kind = FileType::from_mode(fields.mode.into()).unwrap_or(FileType::File);
        let took = NODE_LEN + name.len() as u64;
        self.budget = self
            .budget
            .checked_sub(took)
            .ok_or_else(|| Error::limit("the inodes take more memory than metadata may take"))?;
        self.nodes.all.push(CramfsNode {
            kind,
            fields,
            parent,
            at: u32::try_from(at).unwrap_or(u32::MAX),
            first: 0,
            count: 0,
            name: u32::try_from(self.nodes.names.len()).unwrap_or(u32::MAX),
            name_len: u8::try_from(name.len()).unwrap_or(0),
        });
        self.nodes.names.extend_from_slice(name);
        Ok(rest)
    }

    /// Keeps the error of a directory or an entry of it; returns one that ends the walk.
    fn leave_out(&self, dir: u32, at: u64, error: Error) -> Result<()> {
        if error.kind() == Kind::Limit {
            return Err(error);
        }
        let ino = Ino(u64::from(dir) + 1);
        self.nodes.left_out.note(ino, at, error)
    }

    #[cold]
    fn located(&self, error: Error, at: u64) -> Error {
        error.at("inode", self.window.start().saturating_add(at))
    }
}
