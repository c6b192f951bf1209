//! The order in which names leave: as a walk meets them.
//!
//! Enters a plan, which has directories, other inodes and further names apart; leaves one sequence of
//! all. **Invariant:** a directory comes before what it holds, a further name behind the first; what is
//! below a directory follows it without a break, since GNU tar sets a directory's times when it comes to
//! a name outside of it. For this the root, which it cannot tell from such a name, is the last of a tar.

use std::collections::HashMap;

use model::{Error, FileType, Result};

use super::ArchiveFormat;
use crate::plan::{Plan, Spot};

/// One name on its way out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    /// A directory, by its index in the plan.
    Dir(u32),
    /// Any other inode under its first name.
    Leaf(u32),
    /// A further name.
    Alias(u32),
}

/// All names in order.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) names: Vec<Name>,
    /// How many names the inodes have that have several, by index of the leaf.
    several: HashMap<u32, u32>,
    /// The alias that has the content, where the last name has it.
    last: HashMap<u32, u32>,
}

impl Sequence {
    pub(super) fn new(plan: &Plan, format: ArchiveFormat, with_root: bool) -> Result<Self> {
        let many = |_| Error::limit("more than 2^32 entries are selected");
        let count = |len: usize| u32::try_from(len).map_err(many);
        let dirs = (1..count(plan.dirs.len())?).map(Name::Dir);
        let leaves = (0..count(plan.leaves.len())?).map(Name::Leaf);
        let aliases = (0..count(plan.aliases.len())?).map(Name::Alias);
        let mut names: Vec<_> = dirs.chain(leaves).chain(aliases).collect();
        // names were kept as the walk met them
        names.sort_by_key(|name| spot(plan, *name).met());
        if with_root && format == ArchiveFormat::Tar {
            names.push(Name::Dir(0));
        } else if with_root {
            names.insert(0, Name::Dir(0));
        }
        let (mut several, mut last) = (HashMap::new(), HashMap::new());
        for (index, alias) in (0..).zip(&plan.aliases) {
            *several.entry(alias.first).or_insert(1) += 1;
            if format == ArchiveFormat::Cpio {
                last.insert(alias.first, index);
            }
        }
        Ok(Self {
            names,
            several,
            last,
        })
    }

    /// Tells how many names of a leaf are in the archive.
    pub(super) fn links(&self, leaf: u32) -> u32 {
        self.several.get(&leaf).copied().unwrap_or(1)
    }

    /// Tells the leaf whose content a name has; `None` if another name has it, or there is none.
    pub(super) fn content_of(&self, plan: &Plan, name: Name) -> Option<u32> {
        let leaf = match name {
            Name::Dir(_) => return None,
            Name::Leaf(leaf) if self.last.contains_key(&leaf) => return None,
            Name::Leaf(leaf) => leaf,
            Name::Alias(alias) => {
                let leaf = plan.alias(alias).first;
                let has_it = self.last.get(&leaf) == Some(&alias);
                has_it.then_some(leaf)?
            }
        };
        (plan.leaf(leaf).kind == FileType::File).then_some(leaf)
    }
}

/// Tells where a name stands.
pub(super) fn spot(plan: &Plan, name: Name) -> Spot {
    match name {
        Name::Dir(dir) => plan.dir(dir).spot,
        Name::Leaf(leaf) => plan.leaf(leaf).spot,
        Name::Alias(alias) => plan.alias(alias).spot,
    }
}
