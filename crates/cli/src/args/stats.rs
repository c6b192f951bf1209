//! `--stats` and `--record` of `sinter mount`: files with counters and with the order of reads.

use std::path::PathBuf;

/// The files to write.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Statistics")]
pub struct StatsArgs {
    /// Write counters to this file as JSON: reads and their times, lookups, cache hits and misses.
    /// The file is updated each second while anything happens, and at the end.
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,

    /// Write the paths of files in the order of their first read to this file: a list for
    /// `sinter build --hot`; of a remote image also which bytes were read, for --prefetch.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}
