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
mod match_store;
mod options;
mod order;
mod paths;
mod place;
mod plan;
mod price_factor;
mod program;
mod read;
mod readahead;
mod report;
mod segment;
mod sketch;
mod sketches;
mod store;
mod warning_counter;

pub use build::build;
pub use for_each_file::{FileVisitor, ReadCounts, for_each_file};
pub use hole_limit::refuse_long_holes;
pub use options::Options;
pub use plan::groups_contents;
pub use program::check_program;
pub use report::Report;
pub use warning_counter::WarningCounter;

pub use sinterfs_model::{Categorizers, Order, ReadCost};
