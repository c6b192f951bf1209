//! Validates directories and entries: one path from the root to every directory; counts links.

use sinterfs_model::{Error, Result};

use super::inodes::{Ranks, check_below};
use crate::read::metadata::Metadata;

/// Directories and links, computed from the entries.
pub(super) struct Directories {
    pub(super) parents: Vec<u32>,
    pub(super) subdirectories: Vec<u32>,
    pub(super) links: Vec<u32>,
}

/// Marks a directory whose parent is not known yet.
const NONE: u32 = u32::MAX;

/// Checks the entry ranges of all directories and the parents of all directories.
pub(super) fn check(metadata: &Metadata, ranks: &Ranks) -> Result<Directories> {
    let data: &[u8] = &metadata.data;
    let entries = &metadata.entries;
    check_below(&entries.inode, data, ranks.others, "inode number")?;
    check_ranges(metadata, ranks)?;

    let directories = to_len(ranks.directories)?;
    let mut parents = vec![NONE; directories];
    let mut subdirectories = vec![0_u32; directories];
    let mut links = vec![0_u32; links_to_count(metadata, ranks)?];
    let mut start = u64::from(metadata.first_entry.get(data, 0));
    for (directory, children) in (0_u32..).zip(&mut subdirectories) {
        let end = u64::from(
            metadata
                .first_entry
                .get(data, u64::from(directory).saturating_add(1)),
        );
        for entry in start..end {
            let inode = entries.inode.get(data, entry);
            if inode >= ranks.directories {
                let other = usize::try_from(inode - ranks.directories).unwrap_or(usize::MAX);
                if let Some(count) = links.get_mut(other) {
                    *count += 1;
                }
                continue;
            }
            let parent = usize::try_from(inode)
                .ok()
                .and_then(|inode| parents.get_mut(inode));
            match parent {
                Some(parent) if inode != 0 && *parent == NONE => *parent = directory,
                _ => {
                    return Err(Error::corrupt(format!(
                        "directory {inode} has a second parent, directory {directory}"
                    )));
                }
            }
            *children += 1;
        }
        start = end;
    }
    if let Some(root) = parents.first_mut() {
        *root = 0;
    }
    check_reached(&parents)?;
    if links.iter().all(|count| *count <= 1) {
        links = Vec::new();
    }
    Ok(Directories {
        parents,
        subdirectories,
        links,
    })
}

fn to_len(count: u64) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::limit(format!("{count} inodes")))
}

/// Returns the number of inodes whose links are counted: all but directories, or none if the image
/// stores link counts.
fn links_to_count(metadata: &Metadata, ranks: &Ranks) -> Result<usize> {
    if metadata.options.inodes_have_nlink {
        return Ok(0);
    }
    to_len(ranks.others.saturating_sub(ranks.directories))
}

/// Checks that the directories' entry ranges are contiguous and begin after the root's entry.
fn check_ranges(metadata: &Metadata, ranks: &Ranks) -> Result<()> {
    let data: &[u8] = &metadata.data;
    let total = metadata.entries.inode.len();
    let mut before = 1;
    for directory in 0..=ranks.directories {
        let first = u64::from(metadata.first_entry.get(data, directory));
        if first < before || first > total {
            return Err(Error::corrupt(format!(
                "directory {directory} starts at entry {first}, expected {before} to {total}"
            )));
        }
        before = first;
    }
    Ok(())
}

/// Checks that the chain of parents of every directory ends at the root.
fn check_reached(parents: &[u32]) -> Result<()> {
    let parent_of = |directory: u32| {
        let index = usize::try_from(directory).ok()?;
        parents.get(index).copied().filter(|parent| *parent != NONE)
    };
    // Usually parents have lower numbers than their directories: then there is no cycle.
    let ordered = (0_u32..)
        .zip(parents)
        .all(|(directory, parent)| directory == 0 || *parent < directory);
    if ordered {
        return Ok(());
    }
    let mut good = vec![false; parents.len()];
    if let Some(root) = good.first_mut() {
        *root = true;
    }
    let mut path = Vec::new();
    for start in (0_u32..).take(parents.len()) {
        let mut at = start;
        // a path longer than the number of directories contains a cycle
        while !good.get(at as usize).copied().unwrap_or(false) {
            path.push(at);
            match parent_of(at) {
                Some(parent) if path.len() <= parents.len() => at = parent,
                _ => {
                    return Err(Error::corrupt(format!(
                        "directory {start} is not reached from the root"
                    )));
                }
            }
        }
        for directory in path.drain(..) {
            if let Some(good) = good.get_mut(directory as usize) {
                *good = true;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_and_orphans_are_found() {
        assert!(check_reached(&[0, 0, 1, 0]).is_ok());
        assert!(check_reached(&[0, 3, 1, 0]).is_ok()); // not in order, but a tree
        assert!(check_reached(&[0, 2, 1, 0]).is_err()); // 1 and 2 are parents of each other
        assert!(check_reached(&[0, 1, 0]).is_err()); // 1 is its own parent
        assert!(check_reached(&[0, NONE, 1]).is_err()); // 1 has no parent
    }
}
