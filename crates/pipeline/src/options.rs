//! How a tree is packed, as far as it does not depend on the format.

use std::path::PathBuf;

use sinterfs_model::{Categorizers, Order, ReadCost};
use sinterfs_source::{HotList, Priorities, Transform};

/// How a tree is packed.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads of each parallel stage; 0 means one for each CPU. The image does not depend on it.
    pub threads: usize,
    /// The order in which contents are stored.
    pub order: Order,
    /// Files that come before or after all others; `order` applies within one priority.
    pub priorities: Priorities,
    /// Files that come before even those; in small blocks, where blocks hold many files.
    pub hot: HotList,
    /// The cost that reads may have, if blocks hold many files.
    pub read_cost: ReadCost,
    /// Whether equal files are stored once.
    pub duplicates: bool,
    /// How many full blocks back matches are searched; 0 means the open blocks only, `None` all
    /// blocks.
    pub lookback: Option<u32>,
    /// The memory limit in bytes; `None` means 512 MiB and as much again for each thread, or what
    /// one worker needs if that is more, of which full blocks take 256 MiB at most. The image does
    /// not depend on it.
    pub memory: Option<u64>,
    /// The most bytes of holes that a format without holes stores as zeros; more are an error.
    pub max_zeros: u64,
    /// The directory for scratch files, which hold what exceeds that memory.
    pub scratch: PathBuf,
    /// The kinds of content that are recognised and stored in separate streams.
    pub categorizers: Categorizers,
    /// Changes of owners, times and modes.
    pub transform: Transform,
    /// The path of the program that the image runs, which has to be executable; empty for that
    /// which runs if none is chosen.
    pub program: Option<Vec<u8>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 0,
            order: Order::default(),
            priorities: Priorities::default(),
            hot: HotList::default(),
            read_cost: ReadCost::default(),
            duplicates: true,
            lookback: None,
            memory: None,
            max_zeros: sinterfs_model::MAX_ZEROS,
            scratch: std::env::temp_dir(),
            categorizers: Categorizers::ALL,
            transform: Transform::default(),
            program: None,
        }
    }
}
