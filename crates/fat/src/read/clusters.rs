//! The table: which cluster follows which.
//!
//! In: the table and a first cluster. Out: the runs of clusters that a file or directory has.
//!
//! **Invariant:** a cluster belongs to one chain, so that all chains end, and all runs together
//! have at most as many clusters as there are. Memory: 4 bytes a cluster while an image is opened.

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Limits, Result};

use super::boot::{BootSector, FatKind};

/// Clusters that follow each other in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClusterRun {
    /// The number of the first one in its file.
    pub(crate) within: u32,
    /// The number of the first one in the image.
    pub(crate) cluster: u32,
    pub(crate) count: u32,
}

/// The number of no cluster: where the last chain with it is.
const TAKEN: u32 = u32::MAX;

/// The table, of which every cluster is used once.
pub(crate) struct Clusters {
    /// The next cluster of each; `TAKEN` once it was used.
    next: Vec<u32>,
    /// The smallest number that ends a chain.
    end: u32,
}

impl Clusters {
    /// Reads the table. `Limit` if it is larger than metadata may be.
    pub(super) fn read(window: &Window, boot: &BootSector, limits: &Limits) -> Result<Self> {
        let entries = u64::from(boot.clusters) + 2;
        if entries * 4 > limits.metadata {
            let what = format!("{entries} clusters are more than metadata may hold");
            return Err(Error::limit(what));
        }
        let bytes = window.read(boot.table, boot.kind.table_len(entries))?;
        let (next, end): (Vec<u32>, u32) = match boot.kind {
            FatKind::Fat12 => {
                let pairs = bytes.chunks(3).flat_map(|chunk| {
                    let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
                    let (low, middle, high) = (byte(0), byte(1), byte(2));
                    [low | (middle & 0xf) << 8, middle >> 4 | high << 4]
                });
                (pairs.collect(), 0xff8)
            }
            FatKind::Fat16 => {
                let (entries, _) = bytes.as_chunks::<2>();
                let entries = entries
                    .iter()
                    .map(|entry| u16::from_le_bytes(*entry).into());
                (entries.collect(), 0xfff8)
            }
            FatKind::Fat32 => {
                let (entries, _) = bytes.as_chunks::<4>();
                let entries = entries.iter();
                let next = entries.map(|entry| u32::from_le_bytes(*entry) & 0x0fff_ffff);
                (next.collect(), 0x0fff_fff8)
            }
        };
        Ok(Self { next, end })
    }

    /// Appends the runs of a chain, of at most `most` clusters; returns how many there are.
    /// `Corrupt` for a chain that leads to no cluster, or to one that another chain has.
    pub(super) fn chain(
        &mut self,
        first: u32,
        most: u64,
        runs: &mut Vec<ClusterRun>,
    ) -> Result<u64> {
        let (mut cluster, mut count) = (first, 0_u32);
        let start = runs.len();
        while u64::from(count) < most {
            if count > 0 && cluster >= self.end {
                break;
            }
            let next = self.next.get_mut(cluster as usize).filter(|_| cluster >= 2);
            let next = next.ok_or_else(|| {
                Error::corrupt(format!("a chain of clusters that leads to {cluster:#x}"))
            })?;
            let next = std::mem::replace(next, TAKEN);
            match next {
                TAKEN => {
                    let what = format!("the cluster {cluster:#x} is in two chains");
                    return Err(Error::corrupt(what));
                }
                0 | 1 => {
                    let what = format!("the cluster {cluster:#x} is in a chain and free");
                    return Err(Error::corrupt(what));
                }
                _ => {}
            }
            match runs.get_mut(start..).and_then(<[ClusterRun]>::last_mut) {
                Some(run) if run.cluster + run.count == cluster => run.count += 1,
                _ => runs.push(ClusterRun {
                    within: count,
                    cluster,
                    count: 1,
                }),
            }
            count += 1;
            cluster = next;
        }
        Ok(count.into())
    }
}
