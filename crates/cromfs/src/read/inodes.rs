//! All inodes of an image: finds them by a walk of the directories.
//!
//! In: the inode of the root, and the inode table. Out: `CromfsInodes`.
//!
//! **Invariant:** each directory is an entry of one directory, so that the walk ends. The names of
//! a directory are adjacent, sorted and unique; what is damaged of one is left out and kept in
//! `CromfsInodes::left_out`. All listings together have no more bytes than
//! `MemoryBudget` allows for names, though one is in memory at a time: directories may share the
//! bytes of one.
//!
//! Memory: 48 bytes for each inode, 56 for each name and its bytes, and the inode table.

use std::collections::HashMap;
use std::ops::Range;

use sinterfs_model::{Error, FileType, Ino, Kind, ListingErrors, Result};

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
    /// The type; that of a file if the inode cannot be read.
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
    /// What directories have that is not shown.
    pub(crate) left_out: ListingErrors,
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
                left_out: ListingErrors::default(),
                root,
                table,
            },
        };
        walk.kind(ROOT).map_err(|error| located(error, ROOT))?;
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
                match read.map_err(|error| located(error, number)) {
                    Err(error) if index != root => walk.leave_out(index, 0, error)?,
                    read => read?,
                }
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
        let (mut names, mut position) = (Vec::new(), 0);
        listing::visit(&listing, |entry| {
            position += 1;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.leave_out(dir, position, located(error, number)),
            };
            let name: Box<[u8]> = entry.name.into();
            let memory = NAME_MEMORY + name.len() as u64;
            self.budget.take(memory, "names")?;
            match self.entry(entry.number, dir) {
                Ok(node) => names.push((position, NameOf { name, node })),
                Err(error) => {
                    let what = format!("{:?}: {error}", String::from_utf8_lossy(&name));
                    let error = Error::new(error.kind(), what);
                    self.leave_out(dir, position, located(error, entry.number))?;
                }
            }
            Ok(())
        })?;
        // of two with one name the first one stays
        names.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        for (position, name) in names {
            let last = self.table.names.get(start as usize..).and_then(<[_]>::last);
            if last.is_some_and(|last| last.name == name.name) {
                let shown = String::from_utf8_lossy(&name.name);
                let error = Error::corrupt(format!("the name {shown:?} occurs twice"));
                self.leave_out(dir, position, located(error, number))?;
                continue;
            }
            self.table.names.push(name);
        }
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

    fn kind(&self, number: u64) -> Result<FileType> {
        self.table.inode(self.content, number)?.fields.kind()
    }

    /// Keeps the error of a directory or an entry of it; returns one that ends the walk.
    fn leave_out(&self, dir: u32, position: u64, error: Error) -> Result<()> {
        if error.kind() == Kind::Limit {
            return Err(error);
        }
        let ino = Ino(u64::from(dir) + 1);
        self.table.left_out.note(ino, position, error)
    }

    /// Returns the index of an inode, and whether it is new.
    fn node(&mut self, number: u64, parent: u32) -> Result<(u32, bool)> {
        if let Some(index) = self.seen.get(&number) {
            return Ok((*index, false));
        }
        let kind = match self.kind(number) {
            // it hides no other name, and is an error where it is used
            Err(error) if error.kind() == Kind::Corrupt => FileType::File,
            kind => kind?,
        };
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
