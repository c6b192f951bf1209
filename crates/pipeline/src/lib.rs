//! The content pipeline: packs a `Source` into an image through any `ImageWriter`.
//!
//! `build` reads as the pipeline: scan -> dedupe -> order -> segment -> compress -> commit ->
//! finish; each stage is a file. Files are read at most twice: by `dedupe` to find equal and
//! similar ones, by `read` in their final order. **Invariant:** the image depends only on the
//! source and the options, not on the number of threads or their timing; memory is bounded (see
//! `build`).

mod anchors;
mod base;
#[doc(hidden)]
pub mod bench_hooks;
mod budget;
mod build;
mod classify;
mod commit;
mod compress;
mod dedupe;
mod fingerprint;
mod for_each_file;
mod gear;
mod grown;
mod hole_limit;
mod hot_list;
mod match_store;
mod options;
mod order;
mod paths;
mod place;
mod plan;
mod program;
mod read;
mod read_cost;
mod readahead;
mod report;
mod scratch;
mod segment;
mod sketch;
mod sketches;
mod sort_file;
pub mod source;
mod store;
mod threads;
mod transform;
mod warning_counter;

pub use build::build;
pub use classify::Categorizers;
pub use for_each_file::{FileVisitor, ReadCounts, for_each_file};
pub use hole_limit::refuse_long_holes;
pub use hot_list::HotList;
pub use options::Options;
pub use order::Order;
pub use plan::groups_contents;
pub use program::check_program;
pub use read_cost::ReadCost;
pub use report::Report;
pub use scratch::Scratch;
pub use sort_file::Priorities;
pub use transform::{Chmod, IdMap, RootTransform, Transform};
pub use warning_counter::WarningCounter;
