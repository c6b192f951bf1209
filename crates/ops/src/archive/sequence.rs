//! The order of names in an archive: as in a walk, or files in the order of their content in the
//! image.
//!
//! Enters a plan, which has directories, other inodes and further names apart; leaves one sequence
//! of all. **Invariants:** further names come after the first. In the order of a walk, a directory
//! comes before its contents, which follow without a break, since GNU tar sets a directory's times
//! when it comes to a name outside of it. It takes the root for such a name, so that the root is
//! the last member of a tar. In the image's order, other types follow files, and directories follow
//! their contents: bsdtar sets the times of existing directories at once. A directory with symlinks
//! is written before these, too, since GNU tar makes some symlinks in the end and remembers the
//! times of directories that came before them. In a cpio archive, whose readers need directories
//! before their contents, these are first.

use std::collections::HashMap;

use sinterfs_model::{Error, FileType, Image, Result};

use super::ArchiveFormat;
use crate::jobs::Jobs;
use crate::plan::{NameRef, Plan};

/// One name on its way out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    /// A directory, by its index in the plan.
    Dir(u32),
    /// A directory that is written once more later.
    Early(u32),
    /// Any other inode under its first name.
    Leaf(u32),
    /// A further name.
    Alias(u32),
}

/// All names in order.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) names: Vec<Name>,
    /// The number of names of each inode with several names, by index of the leaf.
    several: HashMap<u32, u32>,
    /// The alias that has the content, where the last name has it.
    last: HashMap<u32, u32>,
}

impl Sequence {
    /// Puts names into the order in which a walk met them.
    pub(super) fn of_walk(plan: &Plan, format: ArchiveFormat, with_root: bool) -> Result<Self> {
        let aliases = (0..count(plan.aliases.len())?).map(Name::Alias);
        let leaves = (0..count(plan.leaves.len())?).map(Name::Leaf);
        let mut names: Vec<_> = dirs(plan)?.chain(leaves).chain(aliases).collect();
        // names were kept as the walk met them
        names.sort_by_key(|name| name_ref(plan, *name).order());
        if with_root && format == ArchiveFormat::Tar {
            names.push(Name::Dir(0));
        } else if with_root {
            names.insert(0, Name::Dir(0));
        }
        Ok(Self::with(names, plan, format))
    }

    /// Puts files into the order of the blocks that they begin with; all else is as a walk met it.
    pub(super) fn of_image(
        image: &dyn Image,
        plan: &Plan,
        format: ArchiveFormat,
        with_root: bool,
    ) -> Result<Self> {
        let mut walk = Self::of_walk(plan, format, with_root)?.names;
        let mut further: HashMap<u32, Vec<Name>> = HashMap::new();
        for (index, alias) in (0..).zip(&plan.aliases) {
            let names = further.entry(alias.first).or_default();
            names.push(Name::Alias(index));
        }
        let mut names = Vec::new();
        if format == ArchiveFormat::Cpio {
            let is_dir = |name: &mut Name| matches!(name, Name::Dir(_));
            names.extend(walk.extract_if(.., is_dir));
        }
        for job in Jobs::by_file(plan, image).list {
            if job.first {
                names.push(Name::Leaf(job.leaf));
                names.extend(further.remove(&job.leaf).unwrap_or_default());
            }
        }
        walk.retain(|name| leaf(plan, *name).is_none_or(|leaf| !is_file(plan, leaf)));
        match format {
            ArchiveFormat::Tar => contents_first(plan, &walk, &mut names),
            _ => names.append(&mut walk),
        }
        Ok(Self::with(names, plan, format))
    }

    fn with(names: Vec<Name>, plan: &Plan, format: ArchiveFormat) -> Self {
        let (mut several, mut last) = (HashMap::new(), HashMap::new());
        for (index, alias) in (0..).zip(&plan.aliases) {
            *several.entry(alias.first).or_insert(1) += 1;
            if format == ArchiveFormat::Cpio {
                last.insert(alias.first, index);
            }
        }
        Self {
            names,
            several,
            last,
        }
    }

    /// Returns how many names of a leaf are in the archive.
    pub(super) fn links(&self, leaf: u32) -> u32 {
        self.several.get(&leaf).copied().unwrap_or(1)
    }

    /// Returns the leaf whose content a name has; `None` if another name has it, or there is none.
    pub(super) fn content_of(&self, plan: &Plan, name: Name) -> Option<u32> {
        let leaf = leaf(plan, name)?;
        let has_it = match (self.last.get(&leaf), name) {
            (Some(last), Name::Alias(alias)) => *last == alias,
            (last, name) => last.is_none() && matches!(name, Name::Leaf(_)),
        };
        (has_it && is_file(plan, leaf)).then_some(leaf)
    }
}

/// Returns the leaf that a name leads to; `None` for a directory.
fn leaf(plan: &Plan, name: Name) -> Option<u32> {
    match name {
        Name::Dir(_) | Name::Early(_) => None,
        Name::Leaf(leaf) => Some(leaf),
        Name::Alias(alias) => Some(plan.alias(alias).first),
    }
}

fn is_file(plan: &Plan, leaf: u32) -> bool {
    plan.leaf(leaf).kind == FileType::File
}

/// Puts each directory after its entries and, if it holds symlinks, also before them.
fn contents_first(plan: &Plan, walk: &[Name], names: &mut Vec<Name>) {
    // open directories, and whether they were written early
    let mut open: Vec<(u32, bool)> = Vec::new();
    for &name in walk {
        let parent = name_ref(plan, name).dir;
        while let Some((dir, _)) = open.pop_if(|(dir, _)| *dir != parent) {
            names.push(Name::Dir(dir));
        }
        match name {
            // the root, at the end
            Name::Dir(0) | Name::Early(_) => names.push(name),
            Name::Dir(dir) => open.push((dir, false)),
            Name::Leaf(leaf) | Name::Alias(leaf) => {
                let is_symlink =
                    matches!(name, Name::Leaf(_)) && plan.leaf(leaf).kind == FileType::Symlink;
                if let Some((dir, is_early @ false)) = open.last_mut().filter(|_| is_symlink) {
                    names.push(Name::Early(*dir));
                    *is_early = true;
                }
                names.push(name);
            }
        }
    }
    while let Some((dir, _)) = open.pop() {
        names.push(Name::Dir(dir));
    }
}

/// Returns the position of a name.
pub(super) fn name_ref(plan: &Plan, name: Name) -> NameRef {
    match name {
        Name::Dir(dir) | Name::Early(dir) => plan.dir(dir).name_ref,
        Name::Leaf(leaf) => plan.leaf(leaf).name_ref,
        Name::Alias(alias) => plan.alias(alias).name_ref,
    }
}

/// Lists the directories but the root, parents first.
fn dirs(plan: &Plan) -> Result<impl Iterator<Item = Name>> {
    Ok((1..count(plan.dirs.len())?).map(Name::Dir))
}

fn count(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::limit("more than 2^32 entries are selected"))
}
