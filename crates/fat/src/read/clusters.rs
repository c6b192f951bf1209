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

/// The memory of an entry in bytes.
const ENTRY_MEMORY: u64 = 4;

/// Bytes of the table that are read at once: whole entries of each kind.
const PIECE: u64 = 3 << 14;

/// The table, of which every cluster is used once.
pub(crate) struct Clusters {
    /// The next cluster of each; `TAKEN` once it was used.
    next: Vec<u32>,
    /// The smallest number that ends a chain.
    end: u32,
}

impl Clusters {
    /// Reads the table. `Limit` if it takes more memory than metadata may.
    pub(super) fn read(window: &Window, boot: &BootSector, limits: &Limits) -> Result<Self> {
        let entries = u64::from(boot.clusters) + 2;
        let count = usize::try_from(entries).unwrap_or(usize::MAX);
        if entries * ENTRY_MEMORY > limits.metadata {
            let what = format!("{entries} clusters are more than metadata may hold");
            return Err(Error::limit(what));
        }
        let mut next = Vec::with_capacity(count);
        let mut at = 0;
        let len = boot.kind.table_len(entries);
        while at < len {
            let piece = window.read(boot.table + at, PIECE.min(len - at))?;
            add_entries(boot.kind, &piece, &mut next);
            at += PIECE;
        }
        // the last byte of an odd number of entries of 12 bits has half of one more
        next.truncate(count);
        let end = match boot.kind {
            FatKind::Fat12 => 0xff8,
            FatKind::Fat16 => 0xfff8,
            FatKind::Fat32 => 0x0fff_fff8,
        };
        Ok(Self { next, end })
    }

    /// Returns the memory of all entries in bytes.
    pub(super) fn memory(&self) -> u64 {
        (self.next.len() as u64).saturating_mul(ENTRY_MEMORY)
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

/// Appends the entries in a piece of a table.
fn add_entries(kind: FatKind, piece: &[u8], next: &mut Vec<u32>) {
    match kind {
        FatKind::Fat12 => next.extend(piece.chunks(3).flat_map(|chunk| {
            let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
            let (low, middle, high) = (byte(0), byte(1), byte(2));
            [low | (middle & 0xf) << 8, middle >> 4 | high << 4]
        })),
        FatKind::Fat16 => {
            let (entries, _) = piece.as_chunks::<2>();
            let entries = entries.iter();
            next.extend(entries.map(|entry| u32::from(u16::from_le_bytes(*entry))));
        }
        FatKind::Fat32 => {
            let (entries, _) = piece.as_chunks::<4>();
            let entries = entries.iter();
            next.extend(entries.map(|entry| u32::from_le_bytes(*entry) & 0x0fff_ffff));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "this is a test")]

    use std::sync::Arc;

    use sinterfs_block::MemorySource;

    use super::*;

    /// Returns the sectors of a file system of clusters of 512 bytes, which are cut off.
    fn with_clusters(kind: FatKind, clusters: u32) -> Window {
        let table = kind.table_len(u64::from(clusters) + 2).div_ceil(512);
        let is_32 = kind == FatKind::Fat32;
        let total = 1 + table as u32 + u32::from(!is_32) + clusters;
        let mut bytes = vec![0xff; (2 + table as usize) * 512];
        bytes[..512].fill(0);
        bytes[0] = 0xe9;
        bytes[12..15].copy_from_slice(&[2, 1, 1]);
        bytes[16..19].copy_from_slice(&[1, 16 * u8::from(!is_32), 0]);
        bytes[21] = 0xf8;
        bytes[22] = if is_32 { 0 } else { table as u8 };
        bytes[32..36].copy_from_slice(&total.to_le_bytes());
        bytes[36..40].copy_from_slice(&(table as u32).to_le_bytes());
        bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        Window::from(Arc::new(MemorySource(bytes)), 0).unwrap()
    }

    #[test]
    fn a_table_has_an_entry_for_each_cluster_and_no_more_memory() {
        for (kind, clusters) in [
            (FatKind::Fat12, 7),
            (FatKind::Fat12, 8),
            (FatKind::Fat12, 4084),
            (FatKind::Fat16, 5001),
            (FatKind::Fat32, 40_003),
        ] {
            let window = with_clusters(kind, clusters);
            let boot = BootSector::read(&window, 0).unwrap();
            assert_eq!((boot.kind, boot.clusters), (kind, clusters));
            let limits = |metadata| Limits {
                metadata,
                ..Limits::default()
            };
            let needed = (u64::from(clusters) + 2) * 4;
            let read = Clusters::read(&window, &boot, &limits(needed)).unwrap();
            assert_eq!(
                (read.memory(), read.next.len() as u64 * 4),
                (needed, needed)
            );
            assert!(read.next.iter().all(|next| *next >= read.end), "{kind:?}");
            let error = Clusters::read(&window, &boot, &limits(needed - 1))
                .err()
                .unwrap();
            assert_eq!(error.kind(), sinterfs_model::Kind::Limit);
        }
    }
}
