//! Directory entries and their names, the ranges of directories, and symlink targets.
//!
//! In: the tree and the numbering. Out: columns and string tables. **Invariant:** all names
//! and targets are valid on Linux.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes are of inodes and entries, which `Numbering` counts in 32 bits"
)]

use sinterfs_model::{Content, Error, NodeId, Result, Tree};

use super::lists::structs;
use crate::layout::metadata::directory;
use crate::write::freeze::{Column, Value};
use crate::write::numbering::Numbering;
use crate::write::options::WriteOptions;
use crate::write::strings::{Interner, StringTable};
use crate::write::with_sentinel;

/// The longest name and symlink target on Linux in bytes.
const LONGEST_NAME: usize = 255;
const LONGEST_TARGET: usize = 4095;

/// The longest stored name and target that upstream's consistency check accepts.
const STORED_NAME: usize = 512;
const STORED_TARGET: usize = 4096;

/// Names of directory entries.
pub(super) struct Names<'t> {
    /// The index of each entry's name; 0 for the root, which has none.
    pub(super) numbers: Vec<u32>,
    pub(super) table: StringTable<'t>,
}

impl<'t> Names<'t> {
    /// Collects names in bytewise order, as upstream does, so that readers can compare entries by
    /// index.
    pub(super) fn new(
        tree: &'t Tree,
        numbering: &Numbering,
        options: &WriteOptions,
    ) -> Result<Self> {
        let mut interner = Interner::new();
        let mut numbers = Vec::with_capacity(numbering.entries.len());
        numbers.push(0);
        for directory in &numbering.nodes[..numbering.directories] {
            for link in tree.children(*directory) {
                let name = tree.bytes(link.name);
                check_name(name).map_err(|error| error.path(path(tree, link.node)))?;
                numbers.push(interner.number(name));
            }
        }
        let strings = interner.into_sorted(&mut numbers[1..]);
        let table = StringTable::new(strings, options.packing().names, STORED_NAME)?;
        Ok(Self { numbers, table })
    }
}

/// Fails for invalid names.
fn check_name(name: &[u8]) -> Result<()> {
    if name.len() > LONGEST_NAME {
        return Err(Error::limit(format!(
            "a name of {} bytes (up to {LONGEST_NAME})",
            name.len()
        )));
    }
    let impossible = matches!(name, b"" | b"." | b"..") || name.iter().any(|b| b"\0/".contains(b));
    if impossible {
        return Err(Error::invalid(format!(
            "invalid name \"{}\"",
            name.escape_ascii()
        )));
    }
    Ok(())
}

/// Returns the path of a node for errors.
fn path(tree: &Tree, node: NodeId) -> String {
    String::from_utf8_lossy(&tree.path(node)).into_owned()
}

/// Targets of symlinks.
pub(super) struct Links<'t> {
    /// The index of each symlink's target.
    pub(super) numbers: Vec<u32>,
    pub(super) table: StringTable<'t>,
}

impl<'t> Links<'t> {
    pub(super) fn new(
        tree: &'t Tree,
        numbering: &Numbering,
        options: &WriteOptions,
    ) -> Result<Self> {
        let mut interner = Interner::new();
        let mut numbers = Vec::with_capacity(numbering.symlinks);
        for id in numbering.symlink_nodes() {
            let Content::Symlink(target) = tree.node(*id).content else {
                continue;
            };
            let target = tree.bytes(target);
            if target.len() > LONGEST_TARGET {
                let len = target.len();
                let what = format!("a symlink to {len} bytes (up to {LONGEST_TARGET})");
                return Err(Error::limit(what).path(path(tree, *id)));
            }
            numbers.push(interner.number(target));
        }
        let strings = interner.into_strings();
        let table = StringTable::new(strings, options.packing().symlinks, STORED_TARGET)?;
        Ok(Self { numbers, table })
    }
}

/// The columns of `directories`; those omitted by packing are empty.
pub(super) struct Directories {
    pub(super) first: Vec<u32>,
    pub(super) parent: Vec<u32>,
    pub(super) own: Vec<u32>,
}

impl Directories {
    pub(super) fn new(tree: &Tree, numbering: &Numbering, packed: bool) -> Self {
        let nodes = &numbering.nodes[..numbering.directories];
        let mut counts = Vec::with_capacity(nodes.len() + 1);
        counts.extend(nodes.iter().map(|id| tree.children(*id).len() as u32));
        let mut first = with_sentinel(&counts, packed);
        first[0] += 1; // the root's own entry comes first
        if packed {
            return Self {
                first,
                parent: Vec::new(),
                own: Vec::new(),
            };
        }
        first[1..].iter_mut().for_each(|entry| *entry += 1);
        let (mut parent, mut own) = (vec![0; first.len()], vec![0; first.len()]);
        for (directory, range) in first.windows(2).enumerate() {
            for entry in range[0]..range[1] {
                let inode = numbering.entries[entry as usize] as usize;
                if inode < nodes.len() {
                    own[inode] = entry;
                    parent[inode] = own[directory];
                }
            }
        }
        Self { first, parent, own }
    }

    pub(super) fn list(&self) -> Value<'_> {
        let mut columns = vec![(directory::FIRST_ENTRY, Column::U32(&self.first))];
        if !self.parent.is_empty() {
            columns.insert(0, (directory::PARENT_ENTRY, Column::U32(&self.parent)));
            columns.push((directory::SELF_ENTRY, Column::U32(&self.own)));
        }
        structs(columns)
    }
}
