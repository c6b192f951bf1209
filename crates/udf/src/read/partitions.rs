//! The partitions of a logical volume: from blocks in them to blocks of the volume.
//!
//! In: a block of a partition. Out: runs of blocks of the volume.
//!
//! **Invariant:** a block that is found is within its partition. ECMA-167, 3/10.7; UDF, 2.2.8 to
//! 2.2.12.

use std::collections::BTreeMap;

use sinterfs_model::{Error, Result};

use super::volume::PartitionFields;

/// A block of a virtual partition that is nowhere.
const NOWHERE: u32 = u32::MAX;

/// Adjacent blocks of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockRun {
    /// The first block; `None` for zeros that are not stored.
    pub(crate) block: Option<u64>,
    pub(crate) count: u64,
}

/// The location of the blocks of a partition.
#[derive(Debug)]
pub(super) enum PartitionMap {
    /// Their location in the volume.
    Physical(PartitionFields),
    /// In another partition, each at its own place.
    Virtual { below: usize, table: Vec<u32> },
    /// As in `Physical`, but some packets are elsewhere in the volume.
    Sparable {
        fields: PartitionFields,
        packet: u32,
        spared: BTreeMap<u32, u32>,
    },
    /// In a file of another partition: first block in the file, and a run.
    Metadata(Vec<(u64, BlockRun)>),
}

/// The partitions of a logical volume.
#[derive(Debug, Default)]
pub(crate) struct Partitions {
    pub(super) maps: Vec<PartitionMap>,
    /// Errors that do not prevent reading.
    pub(crate) damage: Vec<String>,
}

impl Partitions {
    /// Finds blocks of a partition, in the necessary number of runs, within a budget.
    pub(crate) fn locate(
        &self,
        map: u16,
        block: u64,
        count: u64,
        budget: &mut u64,
    ) -> Result<Vec<BlockRun>> {
        let mut found: Vec<BlockRun> = Vec::new();
        let (mut at, mut left) = (block, count);
        while left > 0 {
            let run = self.run(map.into(), at, left)?;
            at = at.saturating_add(run.count);
            left = left.saturating_sub(run.count);
            if let Some(last) = found.last_mut()
                && let (Some(before), Some(now)) = (last.block, run.block)
                && before.saturating_add(last.count) == now
            {
                last.count = last.count.saturating_add(run.count);
                continue;
            }
            let size = size_of::<BlockRun>() as u64;
            *budget = budget.checked_sub(size).ok_or_else(too_many)?;
            found.push(run);
        }
        Ok(found)
    }

    /// Finds the first blocks of a range that are adjacent.
    fn run(&self, map: usize, block: u64, count: u64) -> Result<BlockRun> {
        let outside = || {
            let what = format!("{count} blocks from {block} on are not in partition {map}");
            Error::corrupt(what)
        };
        match self.maps.get(map).ok_or_else(outside)? {
            PartitionMap::Physical(fields) => physical(fields, block, count).ok_or_else(outside),
            PartitionMap::Virtual { below, table } => {
                let index = usize::try_from(block).map_err(|_| outside())?;
                let place = table.get(index).copied().ok_or_else(outside)?;
                if place == NOWHERE {
                    return Err(Error::corrupt(format!("block {block} is nowhere")));
                }
                // the partition below is no virtual one
                self.run(*below, place.into(), 1)
            }
            PartitionMap::Sparable {
                fields,
                packet,
                spared,
            } => {
                let number = u32::try_from(block).map_err(|_| outside())?;
                let within = number % packet;
                let here = u64::from(packet - within).min(count);
                let run = physical(fields, block, here).ok_or_else(outside)?;
                Ok(match spared.get(&(number - within)) {
                    Some(place) => BlockRun {
                        block: Some(u64::from(*place) + u64::from(within)),
                        ..run
                    },
                    None => run,
                })
            }
            PartitionMap::Metadata(runs) => {
                let next = runs.partition_point(|(first, _)| *first <= block);
                let found = next.checked_sub(1).and_then(|index| runs.get(index));
                let (first, run) = found.ok_or_else(outside)?;
                let within = block.saturating_sub(*first);
                let left = run.count.checked_sub(within).filter(|left| *left > 0);
                Ok(BlockRun {
                    block: run.block.map(|at| at.saturating_add(within)),
                    count: left.ok_or_else(outside)?.min(count),
                })
            }
        }
    }
}

fn too_many() -> Error {
    Error::limit("the extents take more memory than metadata may take")
}

/// Finds blocks of a partition that are where the volume has them.
fn physical(fields: &PartitionFields, block: u64, count: u64) -> Option<BlockRun> {
    let end = block.checked_add(count)?;
    (end <= u64::from(fields.len)).then(|| BlockRun {
        block: Some(u64::from(fields.start) + block),
        count,
    })
}
