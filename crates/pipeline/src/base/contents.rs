//! The contents of a base image, by fingerprint.
//!
//! Enters decoded blocks and the tree that is packed; leaves the lists of the base by size and
//! hash.
//! **Invariant:** only sizes that occur in the tree are read; of equal contents the first list
//! counts.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use sinterfs_model::{MapExtent, Observer, Result, Tree};
use sinterfs_workers::{lock, run_fallible};

use super::BaseBlocks;
use crate::fingerprint::{Hasher, Run};
use crate::{paths, read::READ_SIZE};

/// The number of lists that a thread claims at once.
const CLAIM: u32 = 64;

/// The contents of a base that a tree may have, too.
#[derive(Debug, Default)]
pub(crate) struct BaseContents {
    lists: HashMap<(u64, u128), u32>,
    /// The sizes of those contents, ascending.
    sizes: Vec<u64>,
}

impl BaseContents {
    /// Fingerprints the contents of the base whose size occurs in the tree.
    pub fn new(
        blocks: &BaseBlocks,
        tree: &Tree,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let mut wanted: Vec<u64> = paths::files(tree)
            .into_iter()
            .map(|file| paths::size(tree, file))
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let (next, found) = (AtomicU32::new(0), Mutex::new(Vec::new()));
        let count = blocks.base.content().list_count();
        run_fallible("base", threads, || {
            let mut buffer = Vec::new();
            let mut hashed = Vec::new();
            loop {
                observer.check_cancelled()?;
                let first = next.fetch_add(CLAIM, Ordering::Relaxed);
                if first >= count {
                    break;
                }
                for list in first..count.min(first.saturating_add(CLAIM)) {
                    let size = size(blocks, list);
                    if size > 0 && wanted.binary_search(&size).is_ok() {
                        let hash = hash(blocks, list, &mut buffer, observer)?;
                        hashed.push((list, size, hash));
                    }
                }
            }
            lock(&found).append(&mut hashed);
            Ok(())
        })?;
        let mut found = std::mem::take(&mut *lock(&found));
        found.sort_unstable();
        let mut contents = Self::default();
        for (list, size, hash) in found {
            contents.lists.entry((size, hash)).or_insert(list);
            contents.sizes.push(size);
        }
        contents.sizes.sort_unstable();
        contents.sizes.dedup();
        Ok(contents)
    }

    /// Returns whether some content has the given size.
    pub fn has_size(&self, size: u64) -> bool {
        self.sizes.binary_search(&size).is_ok()
    }

    /// Returns the list of a content.
    pub fn list(&self, size: u64, hash: u128) -> Option<u32> {
        self.lists.get(&(size, hash)).copied()
    }
}

fn len(extent: &MapExtent) -> u64 {
    match *extent {
        MapExtent::Data { len, .. } => u64::from(len),
        MapExtent::Hole { len } => len,
    }
}

fn size(blocks: &BaseBlocks, list: u32) -> u64 {
    let extents = blocks.base.content().list(list).iter();
    extents.map(len).fold(0, u64::saturating_add)
}

/// Returns the fingerprint that the first read computes for a file of the same content.
fn hash(
    blocks: &BaseBlocks,
    list: u32,
    buffer: &mut Vec<u8>,
    observer: &dyn Observer,
) -> Result<u128> {
    let mut hasher = Hasher::default();
    let mut runs: Vec<Run> = Vec::new();
    for extent in blocks.base.content().list(list) {
        let run = Run {
            hole: matches!(extent, MapExtent::Hole { .. }),
            len: len(extent),
        };
        match runs.last_mut() {
            Some(last) if last.hole == run.hole => last.len = last.len.saturating_add(run.len),
            _ => runs.push(run),
        }
        let &MapExtent::Data { block, offset, len } = extent else {
            continue;
        };
        for start in (0..len).step_by(READ_SIZE) {
            observer.check_cancelled()?;
            buffer.resize((len - start).min(READ_SIZE as u32) as usize, 0);
            blocks.read(block.0, offset.saturating_add(start), buffer)?;
            hasher.update(buffer);
        }
    }
    Ok(hasher.finish(runs.into_iter()))
}
