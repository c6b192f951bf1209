//! The content pipeline: a `Source` becomes an image through any `ImageWriter`.
//!
//! `build` reads as the pipeline: scan -> dedupe -> order -> segment -> compress -> commit ->
//! finish; each stage is a file. Files are read twice at most: by `dedupe` to find equal and
//! similar ones, by `read` in their final order.
//! **Invariant:** what is written depends on the source and the options alone, not on the number
//! of threads or their timing; memory is bounded (see `build`).

mod anchors;
mod base;
mod budget;
mod build;
mod classify;
mod commit;
mod compress;
mod dedupe;
mod each;
mod fingerprint;
mod flow;
mod gear;
mod hot;
mod order;
mod past;
mod paths;
mod prepare;
mod priorities;
mod read;
mod readahead;
mod report;
mod scratch;
mod segment;
mod sketch;
mod sketches;
pub mod source;
#[doc(hidden)]
pub mod stages;
mod threads;
mod transform;

pub use build::{Counting, Options, build};
pub use classify::Categorizers;
pub use each::{EachFile, each_file};
pub use hot::Hot;
pub use order::Order;
pub use priorities::Priorities;
pub use report::Report;
pub use scratch::Scratch;
pub use transform::{Chmod, IdMap, RootTransform, Transform};
