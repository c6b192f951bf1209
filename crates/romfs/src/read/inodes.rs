//! All inodes of an image, in memory: found by a walk of all directories when it is opened.
//!
//! In: a window of the image and the position of the root. Out: `Inodes`.
//!
//! **Invariant:** each header is an entry of one directory, so that the walk ends. The entries of a
//! directory are adjacent and sorted by name; names are unique, and none is empty or has a `/`. A
//! hard link refers to an inode that is not a directory.
//!
//! Memory: about 100 bytes per name.

use std::collections::HashMap;
use std::ops::Range;

use sinterfs_block::Window;
use sinterfs_model::{Error, FileType, Limits, Result};

use super::record::{HeaderFields, header};

/// The memory of a name in bytes, about.
const NAME_MEMORY: u64 = 100;

/// An inode.
#[derive(Debug, Clone)]
pub(crate) struct RomfsNode {
    /// The position of its header.
    pub(crate) at: u32,
    pub(crate) kind: FileType,
    pub(crate) fields: HeaderFields,
    /// The index of the directory that a directory is in; the root has its own index.
    pub(crate) parent: u32,
    pub(crate) links: u32,
    /// The indexes of the names in a directory.
    pub(crate) names: Range<u32>,
}

/// A name in a directory.
#[derive(Debug)]
pub(crate) struct NameOf {
    pub(crate) name: Vec<u8>,
    /// The index of the inode.
    pub(crate) node: u32,
    /// The position of the header of the inode.
    target: u32,
}

/// All inodes; index 0 is the root.
#[derive(Debug, Default)]
pub(crate) struct InodeTable {
    pub(crate) nodes: Vec<RomfsNode>,
    names: Vec<NameOf>,
}

impl InodeTable {
    /// Walks all directories. `Corrupt` if one is inconsistent, `Limit` if there are too many
    /// names.
    pub(super) fn read(window: &Window, root: u32, limits: &Limits) -> Result<Self> {
        let mut walk = HeaderWalk {
            window,
            budget: limits.metadata,
            seen: HashMap::new(),
            table: Self::default(),
        };
        let (fields, _) = header(window, root).map_err(|error| walk.located(error, root))?;
        if fields.kind != 1 {
            let error = Error::corrupt("the root is not a directory");
            return Err(walk.located(error, root));
        }
        walk.table
            .nodes
            .push(node(root, FileType::Directory, fields, 0));
        let mut index = 0;
        while let Some(node) = walk.table.nodes.get(index as usize) {
            if node.kind == FileType::Directory {
                walk.directory(index, node.fields.info & !0xf)?;
            }
            index += 1;
        }
        walk.links()?;
        Ok(walk.table)
    }

    /// Returns a name.
    pub(crate) fn name(&self, index: u32) -> Option<&NameOf> {
        self.names.get(index as usize)
    }

    /// Finds the inode of a name in a directory.
    pub(crate) fn find(&self, dir: &RomfsNode, name: &[u8]) -> Option<u32> {
        let range = dir.names.start as usize..dir.names.end as usize;
        let names = self.names.get(range)?;
        let found = names.binary_search_by(|entry| entry.name.as_slice().cmp(name));
        names.get(found.ok()?).map(|entry| entry.node)
    }
}

fn node(at: u32, kind: FileType, fields: HeaderFields, parent: u32) -> RomfsNode {
    RomfsNode {
        at,
        kind,
        fields,
        parent,
        links: 0,
        names: 0..0,
    }
}

/// The walk of all directories.
struct HeaderWalk<'a> {
    window: &'a Window,
    /// Bytes of memory that further names may take.
    budget: u64,
    /// The index of the inode of each header that is an entry; none for hard links.
    seen: HashMap<u32, Option<u32>>,
    table: InodeTable,
}

impl HeaderWalk<'_> {
    /// Appends the names of a directory, whose first header is at a position.
    fn directory(&mut self, dir: u32, first: u32) -> Result<()> {
        let start = self.table.names.len();
        let mut at = first;
        while at != 0 {
            let next = self.entry(dir, at);
            at = next.map_err(|error| self.located(error, at))?;
        }
        let names = self.table.names.get_mut(start..).unwrap_or_default();
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut pairs = names.iter().zip(names.iter().skip(1));
        if let Some((twice, _)) = pairs.find(|(a, b)| a.name == b.name) {
            let name = String::from_utf8_lossy(&twice.name);
            let error = Error::corrupt(format!("the name {name:?} occurs twice in a directory"));
            return Err(self.located(error, first));
        }
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let range = number(start)..number(self.table.names.len());
        if let Some(dir) = self.table.nodes.get_mut(dir as usize) {
            dir.names = range;
        }
        Ok(())
    }

    /// Appends the entry at a position and returns the position of the next one.
    fn entry(&mut self, parent: u32, at: u32) -> Result<u32> {
        let (fields, name) = header(self.window, at)?;
        let budget = self.budget.checked_sub(NAME_MEMORY + name.len() as u64);
        self.budget = budget
            .ok_or_else(|| Error::limit("the inodes take more memory than metadata may take"))?;
        let kind = kind(fields.kind);
        let is_own = matches!(&name[..], b"." | b"..");
        if !is_own && (name.is_empty() || name.contains(&b'/')) {
            let shown = String::from_utf8_lossy(&name);
            return Err(Error::corrupt(format!("the name {shown:?}")));
        }
        let index = match kind {
            Some(kind) if !is_own => {
                let index = u32::try_from(self.table.nodes.len()).unwrap_or(u32::MAX);
                self.table.nodes.push(node(at, kind, fields, parent));
                Some(index)
            }
            _ => None,
        };
        if self.seen.insert(at, index).is_some() {
            return Err(Error::corrupt("a header that is an entry twice"));
        }
        if !is_own {
            let target = if kind.is_some() {
                at
            } else {
                fields.info & !0xf
            };
            self.table.names.push(NameOf {
                name,
                node: index.unwrap_or(0),
                target,
            });
        }
        Ok(fields.next)
    }

    /// Finds the inodes of hard links, and counts the names of each inode.
    fn links(&mut self) -> Result<()> {
        for entry in &mut self.table.names {
            let node = self.seen.get(&entry.target).copied().flatten();
            let node = node.and_then(|index| {
                let node = self.table.nodes.get_mut(index as usize)?;
                let is_link = entry.node != index;
                (!is_link || node.kind != FileType::Directory).then_some((index, node))
            });
            let Some((index, node)) = node else {
                let at = self.window.start().saturating_add(entry.target.into());
                let error = Error::corrupt("a hard link that stands for no file");
                return Err(error.at("file header", at));
            };
            node.links = node.links.saturating_add(1);
            entry.node = index;
        }
        Ok(())
    }

    #[cold]
    fn located(&self, error: Error, at: u32) -> Error {
        error.at("file header", self.window.start().saturating_add(at.into()))
    }
}

/// Returns the type of an inode; `None` for a hard link.
fn kind(kind: u32) -> Option<FileType> {
    Some(match kind {
        1 => FileType::Directory,
        2 => FileType::File,
        3 => FileType::Symlink,
        4 => FileType::BlockDevice,
        5 => FileType::CharDevice,
        6 => FileType::Socket,
        7 => FileType::Fifo,
        _ => return None,
    })
}
