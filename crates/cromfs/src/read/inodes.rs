//! All inodes of an image: finds them by a walk of the directories.
//!
//! In: the inode of the root, and the inode table. Out: `CromfsInodes`.
//!
//! **Invariant:** each directory is an entry of one directory, so that the walk ends. The names of
//! a directory are adjacent and sorted. All listings together have no more bytes than
//! `MemoryBudget` allows for names, though one is in memory at a time: directories may share the
//! bytes of one.
//!
//! Memory: 48 bytes for each inode, 56 for each name and its bytes, and the inode table.

use std::collections::HashMap;
use std::ops::Range;

use sinterfs_model::{Error, FileType, Result};

use super::budget::MemoryBudget;
use super::content::{BlockList, CromfsContent};
use super::listing;

/// The number of the root's inode, which is not in the inode table.
const ROOT: u64 = 1;

/// The memory of an inode in bytes, with its number while an image is opened.
const NODE_MEMORY: u64 = 80;

/// The memory of a name in bytes, without its characters.
const NAME_MEMORY: u64 = 56;

/// An inode.
#[derive(Debug, Clone)]
pub(crate) struct CromfsNode {
    /// The number: its offset in the inode table in words, and two more.
    pub(crate) number: u64,
    pub(crate) kind: FileType,
    /// The index of the directory that a directory is in; the root has its own index.
    pub(crate) parent: u32,
    pub(crate) links: u32,
    /// The indexes of the names in a directory.
    pub(crate) names: Range<u32>,
}

/// A name in a directory.
#[derive(Debug)]
pub(crate) struct NameOf {
    pub(crate) name: Box<[u8]>,
    /// The index of the inode.
    pub(crate) node: u32,
}

/// All inodes; index 0 is the root.
pub(crate) struct CromfsInodes {
    pub(crate) nodes: Vec<CromfsNode>,
    names: Vec<NameOf>,
    /// The bytes of the root's inode.
    root: Vec<u8>,
    /// The bytes of all others.
    table: Vec<u8>,
}

impl CromfsInodes {
    /// Walks all directories.
    pub(super) fn read(
        content: &CromfsContent,
        root: Vec<u8>,
        table: Vec<u8>,
        budget: &mut MemoryBudget,
    ) -> Result<Self> {
        let mut walk = DirectoryWalk {
            content,
            unread: *budget,
            budget,
            seen: HashMap::new(),
            table: Self {
                nodes: Vec::new(),
                names: Vec::new(),
                root,
                table,
            },
        };
        let (root, _) = walk.node(ROOT, 0).map_err(|error| located(error, ROOT))?;
        let is_directory = |node: &CromfsNode| node.kind == FileType::Directory;
        if !walk.table.nodes.first().is_some_and(is_directory) {
            return Err(located(Error::corrupt("the root is not a directory"), ROOT));
        }
        let mut index = root;
        while let Some(node) = walk.table.nodes.get(index as usize) {
            let (kind, number) = (node.kind, node.number);
            if kind == FileType::Directory {
                let read = walk.directory(index, number);
                read.map_err(|error| located(error, number))?;
            }
            index = index.saturating_add(1);
        }
        Ok(walk.table)
    }

    /// Returns an inode with its block numbers.
    pub(crate) fn inode<'a>(
        &'a self,
        content: &CromfsContent,
        number: u64,
    ) -> Result<BlockList<'a>> {
        if number == ROOT {
            return content.inode(&self.root);
        }
        let at = number.checked_sub(2).and_then(|word| word.checked_mul(4));
        let at = at.and_then(|at| usize::try_from(at).ok());
        let bytes = at.and_then(|at| self.table.get(at..)).unwrap_or_default();
        content.inode(bytes)
    }

    /// Returns the length of the inode table in bytes.
    pub(crate) fn table_len(&self) -> u64 {
        self.table.len() as u64
    }

    /// Returns a name.
    pub(crate) fn name(&self, index: u32) -> Option<&NameOf> {
        self.names.get(index as usize)
    }

    /// Finds the inode of a name in a directory.
    pub(crate) fn find(&self, dir: &CromfsNode, name: &[u8]) -> Option<u32> {
        let range = dir.names.start as usize..dir.names.end as usize;
        let names = self.names.get(range)?;
        let found = names.binary_search_by(|entry| entry.name.as_ref().cmp(name));
        names.get(found.ok()?).map(|entry| entry.node)
    }
}

/// Adds the place of an inode to an error that has none.
#[cold]
pub(super) fn located(error: Error, number: u64) -> Error {
    error.within(format!("inode {number:#x}"))
}

/// The walk of all directories.
struct DirectoryWalk<'a> {
    content: &'a CromfsContent,
    budget: &'a mut MemoryBudget,
    /// The bytes of listings that may still be read.
    unread: MemoryBudget,
    /// The index of each inode that was found, by its number.
    seen: HashMap<u64, u32>,
    table: CromfsInodes,
}

impl DirectoryWalk<'_> {
    /// Appends the names of a directory.
    fn directory(&mut self, dir: u32, number: u64) -> Result<()> {
        let listing = self.listing(number)?;
        let start = count(&self.table.names)?;
        listing::visit(&listing, |entry| {
            let memory = NAME_MEMORY + entry.name.len() as u64;
            self.budget.take(memory, "names")?;
            let node = self
                .entry(entry.number, dir)
                .map_err(|error| located(error, entry.number))?;
            self.table.names.push(NameOf {
                name: entry.name.into(),
                node,
            });
            Ok(())
        })?;
        let range = start..count(&self.table.names)?;
        if let Some(dir) = self.table.nodes.get_mut(dir as usize) {
            dir.names = range;
        }
        self.budget.give_back(listing.len() as u64);
        Ok(())
    }

    /// Reads the content of a directory.
    fn listing(&mut self, number: u64) -> Result<Vec<u8>> {
        let list = self.table.inode(self.content, number)?;
        self.unread.take(list.fields.size, "all directories")?;
        self.budget.take(list.fields.size, "a directory")?;
        let mut listing = vec![0; usize::try_from(list.fields.size).unwrap_or(0)];
        self.content.read(&list, 0, &mut listing)?;
        Ok(listing)
    }

    /// Returns the index of the inode of an entry.
    fn entry(&mut self, number: u64, parent: u32) -> Result<u32> {
        let (index, is_new) = self.node(number, parent)?;
        let Some(node) = self.table.nodes.get_mut(index as usize) else {
            return Ok(index);
        };
        if !is_new && node.kind == FileType::Directory {
            return Err(Error::corrupt("a directory that is an entry twice"));
        }
        node.links = node.links.saturating_add(1);
        Ok(index)
    }

    /// Returns the index of an inode, and whether it is new.
    fn node(&mut self, number: u64, parent: u32) -> Result<(u32, bool)> {
        if let Some(index) = self.seen.get(&number) {
            return Ok((*index, false));
        }
        let fields = self.table.inode(self.content, number)?.fields;
        let mode = fields.mode;
        let kind = FileType::from_mode(mode);
        let kind = kind.ok_or_else(|| Error::corrupt(format!("mode {mode:#o}")))?;
        self.budget.take(NODE_MEMORY, "inodes")?;
        let index = count(&self.table.nodes)?;
        self.seen.insert(number, index);
        self.table.nodes.push(CromfsNode {
            number,
            kind,
            parent,
            links: 0,
            names: 0..0,
        });
        Ok((index, true))
    }
}

fn count<T>(of: &[T]) -> Result<u32> {
    u32::try_from(of.len()).map_err(|_| Error::limit("more than 2^32 inodes or names"))
}
