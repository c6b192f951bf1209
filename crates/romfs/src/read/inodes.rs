//! All inodes of an image, in memory: found by a walk of all directories when it is opened.
//!
//! In: a window of the image and the position of the root. Out: `Inodes`.
//!
//! **Invariant:** each header is an entry of one directory, so that the walk ends. The entries of a
//! directory are adjacent and sorted by name; names are unique, and none is empty, `.` or `..`, or
//! has a `/`. Others are left out and kept in `InodeTable::left_out`. A hard link refers to an
//! inode that is not a directory, or to [`NOTHING`].
//!
//! Memory: about 100 bytes per name.

use std::collections::HashMap;
use std::ops::Range;

use sinterfs_block::Window;
use sinterfs_model::{Error, FileType, Ino, Kind, Limits, ListingErrors, Result};

use super::record::{HeaderFields, header};

/// The memory of a name in bytes, about.
const NAME_MEMORY: u64 = 100;

/// The index that names have which stand for no file.
pub(crate) const NOTHING: u32 = u32::MAX;

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
    /// The index of the inode, or [`NOTHING`].
    pub(crate) node: u32,
    /// The position of the name's own header.
    pub(crate) at: u32,
    /// The position of the header of the inode.
    target: u32,
}

/// All inodes; index 0 is the root.
#[derive(Debug, Default)]
pub(crate) struct InodeTable {
    pub(crate) nodes: Vec<RomfsNode>,
    names: Vec<NameOf>,
    /// What directories have that is not shown.
    pub(crate) left_out: ListingErrors,
}

impl InodeTable {
    /// Walks all directories. `Corrupt` if the root is damaged, `Limit` if there are too many
    /// names.
    pub(super) fn read(window: &Window, root: u32, limits: &Limits) -> Result<Self> {
        let mut walk = HeaderWalk {
            window,
            budget: limits.metadata,
            seen: HashMap::new(),
            table: Self::default(),
        };
        let root_header = header(window, root).and_then(|(fields, name)| name.map(|_| fields));
        let fields = root_header.map_err(|error| walk.located(error, root))?;
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
        walk.links();
        Ok(walk.table)
    }

    /// Returns a name.
    pub(crate) fn name(&self, index: u32) -> Option<&NameOf> {
        self.names.get(index as usize)
    }

    /// Returns the names that stand for no file.
    pub(crate) fn dangling(&self) -> impl Iterator<Item = &NameOf> {
        self.names.iter().filter(|entry| entry.node == NOTHING)
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
            at = match self.entry(dir, at) {
                Ok(next) => next,
                // without the position of the next one
                Err(error) => {
                    self.leave_out(dir, at, error)?;
                    0
                }
            };
        }
        let mut names = self.table.names.split_off(start);
        // of two with one name the first one stays
        names.sort_by(|a, b| a.name.cmp(&b.name));
        let mut twice = Vec::new();
        names.dedup_by(|second, first| {
            let is_twice = second.name == first.name;
            if is_twice {
                twice.push((std::mem::take(&mut second.name), second.at));
            }
            is_twice
        });
        for (name, at) in twice {
            let name = String::from_utf8_lossy(&name);
            let error = Error::corrupt(format!("the name {name:?} occurs twice in a directory"));
            self.leave_out(dir, at, error)?;
        }
        self.table.names.append(&mut names);
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let range = number(start)..number(self.table.names.len());
        if let Some(dir) = self.table.nodes.get_mut(dir as usize) {
            dir.names = range;
        }
        Ok(())
    }

    /// Appends the entry at a position, unless its name is damaged, and returns the position of the
    /// next one.
    fn entry(&mut self, parent: u32, at: u32) -> Result<u32> {
        let (fields, name) = header(self.window, at)?;
        if self.seen.contains_key(&at) {
            return Err(Error::corrupt("a header that is an entry twice"));
        }
        self.seen.insert(at, None);
        let len = name.as_ref().map_or(0, Vec::len);
        let budget = self.budget.checked_sub(NAME_MEMORY + len as u64);
        self.budget = budget
            .ok_or_else(|| Error::limit("the inodes take more memory than metadata may take"))?;
        let name = match name {
            Ok(name) => name,
            Err(error) => {
                self.leave_out(parent, at, error)?;
                return Ok(fields.next);
            }
        };
        let kind = kind(fields.kind);
        let is_dots = matches!(&name[..], b"." | b"..");
        // a hard link or, in the root, the directory
        let is_own = is_dots && matches!(kind, None | Some(FileType::Directory));
        if !is_own && (is_dots || name.is_empty() || name.contains(&b'/')) {
            let shown = String::from_utf8_lossy(&name);
            let error = Error::corrupt(format!("the name {shown:?}"));
            self.leave_out(parent, at, error)?;
            return Ok(fields.next);
        }
        let index = match kind {
            Some(kind) if !is_own => {
                let index = u32::try_from(self.table.nodes.len()).unwrap_or(u32::MAX);
                self.table.nodes.push(node(at, kind, fields, parent));
                Some(index)
            }
            _ => None,
        };
        self.seen.insert(at, index);
        if !is_own {
            let target = if kind.is_some() {
                at
            } else {
                fields.info & !0xf
            };
            self.table.names.push(NameOf {
                name,
                node: index.unwrap_or(NOTHING),
                at,
                target,
            });
        }
        Ok(fields.next)
    }

    /// Finds the inodes of hard links, and counts the names of each inode.
    fn links(&mut self) {
        for entry in &mut self.table.names {
            let node = self.seen.get(&entry.target).copied().flatten();
            let node = node.and_then(|index| {
                let node = self.table.nodes.get_mut(index as usize)?;
                let is_link = entry.node != index;
                (!is_link || node.kind != FileType::Directory).then_some((index, node))
            });
            entry.node = NOTHING;
            if let Some((index, node)) = node {
                node.links = node.links.saturating_add(1);
                entry.node = index;
            }
        }
    }

    /// Keeps the error of an entry of a directory; returns one that ends the walk.
    fn leave_out(&self, dir: u32, at: u32, error: Error) -> Result<()> {
        let error = self.located(error, at);
        if error.kind() == Kind::Limit {
            return Err(error);
        }
        let ino = Ino(u64::from(dir) + 1);
        self.table.left_out.note(ino, at.into(), error)
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
