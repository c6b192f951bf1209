//! Divides the memory that a build may use among its stages.
//!
//! Enters the limit and what the stages need; leaves the number of workers, the memory for
//! encoders that need much of it, the number of segments in flight, and the number of full blocks
//! that stay in memory to be compared with.
//! **Invariant:** the image depends on none of these numbers.

use sinterfs_model::{Error, Result};
use sinterfs_platform::process;
use sinterfs_workers::MemoryNeeds;

use crate::readahead;

/// Bytes of a build without its threads, by default.
const BASE: u64 = 512 << 20;

/// Bytes for each thread, by default.
const PER_THREAD: u64 = 512 << 20;

/// Bytes of full blocks that stay in memory by default. Comparing with those in the scratch file
/// costs no time that could be measured while the page cache has them.
const KEPT: u64 = 256 << 20;

/// Bytes of memory for each file while a build runs, without its name: 120 in the tree, 100 for its
/// content, the rest while files are ordered.
const PER_NODE: u64 = 250;

/// The memory needs of the stages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    /// The requested number of threads.
    pub threads: usize,
    /// Bytes of a full block.
    pub block_size: u32,
    /// Bytes that the segment stage holds in addition to full blocks.
    pub cutting: u64,
    /// Segments that should be queued, so that workers never wait.
    pub waiting: u64,
    /// Whether new content is compared with full blocks.
    pub compared: bool,
    /// Bytes that encoding takes in addition to the block, without its reservation.
    pub encoder: u64,
    /// The memory that encoding a block needs while it holds a memory permit.
    pub memory: Option<MemoryNeeds>,
    /// Bytes of content.
    pub content: u64,
    /// Names in the tree.
    pub nodes: u64,
}

/// The memory that the stages get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Threads for all stages but encoding.
    pub threads: usize,
    /// Threads that each encode a block.
    pub workers: usize,
    /// Bytes of content that memory permits are for, where encoding takes much memory
    /// ([`sinterfs_workers::WorkerPermits::reserve_memory`]).
    pub memory_capacity: u64,
    /// Segments between the segment stage and the image.
    pub in_flight: usize,
    /// Full blocks that stay in memory.
    pub kept: usize,
    /// The most bytes that all of this takes.
    pub memory: u64,
}

impl Needs {
    /// Returns the bytes of the largest block: no block gets larger than all content.
    pub fn largest_block(&self) -> u64 {
        u64::from(self.block_size).min(self.content.max(1))
    }
}

impl Budget {
    /// Divides `memory` bytes; by default the bytes that a worker for each thread is likely to
    /// need, at least the needs of one worker, and at most [`KEPT`] for full blocks. A memory
    /// permit is as good as a worker: as many threads as it can keep busy share the work.
    ///
    /// # Errors
    /// `Invalid` if an explicit bound is below what one worker needs.
    pub fn new(needs: Needs, memory: Option<u64>) -> Result<Self> {
        let block = needs.largest_block();
        let blocks = needs.content.div_ceil(block).max(1);
        let threads = needs.threads.max(1);
        let fixed = readahead::BUDGET + needs.cutting + needs.nodes * PER_NODE;
        // a block may be encoded to as many bytes, which wait for the image
        let worker = needs.encoder + block * 2;
        let permit = needs.memory.map_or(0, |memory| memory.bytes);
        let least = fixed + permit + worker;
        let bound = match memory {
            Some(bound) if bound < least => {
                return Err(Error::invalid(format!(
                    "{} MiB of memory are too little, {} MiB are needed: allow more, or choose \
                     smaller blocks or a lower level",
                    bound >> 20,
                    (least >> 20) + 1
                )));
            }
            Some(bound) => bound,
            None => least.max(default_memory(threads, process::address_space())),
        };
        let most = blocks.min(threads as u64);
        let workers = ((bound - fixed - permit) / worker).clamp(1, most);
        let rest = bound - fixed - permit - workers * worker;
        let useful = needs.memory.map_or(1, |memory| memory.permits(threads)) as u64;
        let more_permits = match permit {
            0 => 0,
            permit => (rest / permit).min(useful.min(workers) - 1),
        };
        let permits = 1 + more_permits;
        let rest = rest - more_permits * permit;
        let waiting = (rest / (block * 2)).min(needs.waiting).min(blocks);
        let rest = rest - waiting * block * 2;
        let kept = match (needs.compared, memory) {
            (false, _) => 0,
            (true, None) => rest.min(KEPT) / block,
            (true, Some(_)) => rest / block,
        };
        let kept = kept.min(blocks);
        Ok(Self {
            threads,
            workers: workers as usize,
            memory_capacity: permits * u64::from(needs.block_size),
            in_flight: (workers + waiting) as usize,
            kept: kept as usize,
            memory: fixed
                + permits * permit
                + workers * worker
                + waiting * block * 2
                + kept * block,
        })
    }
}

/// Returns the memory of a build by default, with so much address space for the process: half of
/// it, since libraries and stacks take a part, and an allocation that fails ends the process.
fn default_memory(threads: usize, address_space: Option<u64>) -> u64 {
    let usual = BASE + PER_THREAD * threads as u64;
    address_space.map_or(usual, |space| usual.min(space / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn needs() -> Needs {
        Needs {
            threads: 2,
            block_size: 64 << 20,
            cutting: 384 * MIB,
            waiting: 1,
            compared: true,
            encoder: 300 * MIB,
            memory: None,
            content: 4 << 30,
            nodes: 100_000,
        }
    }

    #[test]
    fn more_memory_gives_more_workers_then_more_blocks() {
        let budget = |memory: u64| Budget::new(needs(), Some(memory * MIB)).unwrap();
        assert!(Budget::new(needs(), Some(500 * MIB)).is_err());
        assert_eq!(budget(900).workers, 1);
        assert_eq!(budget(1500).workers, 2);
        assert!(budget(3000).kept > budget(1500).kept);
        assert_eq!(budget(1 << 20).workers, 2);
        for memory in [900, 1000, 1500, 2000, 1 << 20] {
            assert!(budget(memory).memory <= memory * MIB);
        }
        assert_eq!(Budget::new(needs(), None).unwrap().workers, 2);
    }

    #[test]
    fn few_full_blocks_are_kept_unless_memory_is_given() {
        let small = Needs {
            block_size: 16 << 20,
            encoder: 0,
            ..needs()
        };
        let kept = |memory| Budget::new(small, memory).unwrap().kept;
        assert_eq!(kept(None), 16);
        assert!(kept(Some(1536 * MIB)) > 16);
    }

    #[test]
    fn memory_goes_to_workers_then_permits_then_kept_blocks() {
        let budget = |threads, share, memory: u64| {
            let needs = Needs {
                threads,
                encoder: 0,
                memory: Some(MemoryNeeds {
                    bytes: 300 * MIB,
                    threads: share,
                }),
                ..needs()
            };
            let budget = Budget::new(needs, Some(memory * MIB)).unwrap();
            assert!(budget.memory <= memory * MIB);
            (budget.workers, budget.memory_capacity >> 26)
        };
        assert_eq!(budget(2, 4, 3000), (2, 1));
        assert_eq!(budget(2, 1, 3000), (2, 2));
        assert_eq!(budget(2, 1, 1200), (2, 1));
        assert_eq!(budget(2, 1, 900), (1, 1));
        assert_eq!(budget(8, 4, 9000), (8, 2));
    }

    #[test]
    fn without_a_bound_there_is_enough_for_one_worker() {
        let huge = Needs {
            block_size: 1 << 30,
            encoder: 10 << 30,
            ..needs()
        };
        assert_eq!(Budget::new(huge, None).unwrap().workers, 1);
    }

    #[test]
    fn a_limit_of_the_address_space_bounds_the_default() {
        assert_eq!(default_memory(2, None), 1536 * MIB);
        assert_eq!(default_memory(2, Some(1 << 40)), 1536 * MIB);
        assert_eq!(default_memory(2, Some(400 * MIB)), 200 * MIB);
    }

    #[test]
    fn little_content_takes_little() {
        let small = Needs {
            content: 1 << 20,
            cutting: 3 << 20,
            nodes: 10,
            encoder: 5 << 20,
            ..needs()
        };
        let budget = Budget::new(small, Some(64 * MIB)).unwrap();
        assert_eq!((budget.workers, budget.kept), (1, 1));
    }
}
