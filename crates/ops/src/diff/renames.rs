//! Files that were removed at one path and added at another.
//!
//! In: what only one of two trees has. Out: pairs of it with the same bytes. Files are paired that
//! have one size and one hash of their first bytes, those with one name first, then by path; then
//! they are compared byte by byte. Empty files are not paired: any two would be.

use std::collections::BTreeMap;
use std::sync::Mutex;

use sinterfs_model::{Content, Error, NodeId, Result};
use xxhash_rust::xxh3::Xxh3Default;

use super::change::{Change, What};
use super::content::{Buffers, Comparison};
use super::fields::Rules;
use super::side::Side;
use super::walk::{Lone, PairedWalk};
use crate::workers;

/// Bytes that are hashed at a time.
const HASH_LEN: usize = 1 << 20;

/// The most bytes of a file that are hashed: the rest is compared.
const HASHED: u64 = 16 << 20;

/// Moves renamed files from the removed and added ones to the changes.
pub(super) fn find(
    walk: &mut PairedWalk<'_>,
    comparison: &Comparison<'_>,
    rules: &Rules<'_>,
    changes: &mut Vec<Change>,
    threads: usize,
) -> Result<()> {
    let old = candidates(&walk.removed, comparison.old);
    let new = candidates(&walk.added, comparison.new);
    let both: Vec<u64> = old
        .keys()
        .filter(|size| new.contains_key(size))
        .copied()
        .collect();
    let of_side = |files: &BTreeMap<u64, Vec<usize>>, lone: &[Lone], side, is_new| {
        let files = both.iter().flat_map(|size| &files[size]);
        files
            .map(|&index| Job {
                index,
                node: lone[index].node,
                side,
                is_new,
            })
            .collect::<Vec<_>>()
    };
    let mut jobs = of_side(&old, &walk.removed, comparison.old, false);
    jobs.extend(of_side(&new, &walk.added, comparison.new, true));
    let hashed = hash_all(&jobs, comparison, threads)?;
    let mut buffers = Buffers::default();
    for (old, new) in pairs(&hashed, walk) {
        let nodes = (walk.removed[old].node, walk.added[new].node);
        if !comparison.is_due(nodes) || comparison.differs(nodes, &mut buffers)? {
            continue;
        }
        changes.push(Change {
            path: walk.removed_path(old),
            kind: sinterfs_model::FileType::File,
            what: What::Renamed(walk.added_path(new), rules.compare(nodes)),
        });
        walk.removed[old].is_renamed = true;
        walk.added[new].is_renamed = true;
    }
    Ok(())
}

/// A file to hash.
struct Job<'a> {
    index: usize,
    node: NodeId,
    side: Side<'a>,
    is_new: bool,
}

/// Lists files with content by size.
fn candidates(lone: &[Lone], side: Side<'_>) -> BTreeMap<u64, Vec<usize>> {
    let mut by_size: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, lone) in lone.iter().enumerate() {
        if let Content::File { size } = side.tree.node(lone.node).content
            && size > 0
        {
            by_size.entry(size).or_default().push(index);
        }
    }
    by_size
}

/// The removed and the added files of each hash.
type ByHash = BTreeMap<(u64, u128), (Vec<usize>, Vec<usize>)>;

fn hash_all(jobs: &[Job<'_>], comparison: &Comparison<'_>, threads: usize) -> Result<ByHash> {
    let by_hash = Mutex::new(ByHash::new());
    let panicked = || Error::invalid("a thread panicked, this is a bug");
    let work = |buffer: &mut Vec<u8>, job: &Job<'_>| {
        // what cannot be read is no file that was renamed
        if let Ok((len, hash)) = hash(job, buffer) {
            let mut by_hash = by_hash.lock().map_err(|_| panicked())?;
            let files = by_hash.entry((len, hash)).or_default();
            if job.is_new {
                files.1.push(job.index);
            } else {
                files.0.push(job.index);
            }
        }
        Ok(())
    };
    workers::run(
        threads,
        jobs,
        |_, _| false,
        comparison.observer,
        Vec::new,
        work,
    )?;
    by_hash.into_inner().map_err(|_| panicked())
}

fn hash(job: &Job<'_>, buffer: &mut Vec<u8>) -> Result<(u64, u128)> {
    let file = job.side.source.open(job.side.tree, job.node)?;
    let mut hash = Xxh3Default::new();
    let mut at = 0;
    buffer.resize(HASH_LEN, 0);
    loop {
        let read = file.read_at(at, buffer)?;
        if read == 0 || at >= HASHED {
            return Ok((file.len()?, hash.digest128()));
        }
        hash.update(&buffer[..read]);
        at += read as u64;
    }
}

/// Pairs files of one hash: first those whose last names are the same, then by path.
fn pairs(by_hash: &ByHash, walk: &PairedWalk<'_>) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (gone, come) in by_hash.values() {
        let mut by_name: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        let (mut gone, mut come) = (gone.clone(), come.clone());
        gone.sort_by_cached_key(|&index| walk.removed_path(index));
        come.sort_by_cached_key(|&index| std::cmp::Reverse(walk.added_path(index)));
        for &new in &come {
            by_name.entry(walk.added_name(new)).or_default().push(new);
        }
        let mut taken = Vec::new();
        gone.retain(|&old| {
            let same = by_name.get_mut(walk.removed_name(old));
            let Some(new) = same.and_then(Vec::pop) else {
                return true;
            };
            pairs.push((old, new));
            taken.push(new);
            false
        });
        taken.sort_unstable();
        come.retain(|new| taken.binary_search(new).is_err());
        pairs.extend(gone.into_iter().zip(come.into_iter().rev()));
    }
    pairs
}
