//! What a format implements, and the plain data that its interface exchanges.
//!
//! In: a source of bytes, [`ReadOptions`]. Out: an opened image as a [`Handle`], a [`CheckReport`],
//! rows of information; for formats that are written, an [`ImageWriter`].
//!
//! What every format has is a method of [`Format`] or [`Handle`]; what a few have is a trait of its
//! own (`parts`), which a format returns if it has that part. **Invariant:** nothing here names a
//! format; formats are below the library, which lists them, and know neither each other nor the
//! pipeline.
//!
//! [`ImageWriter`]: sinterfs_model::ImageWriter

#![warn(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

mod check;
mod create;
mod format;
mod former_runs;
mod handle;
mod info;
pub mod level;
mod named_options;
mod parts;
mod pipeline_format;
mod purpose;
mod read_options;
pub mod recorded_purpose;
mod reuse;

pub use check::{CheckOptions, CheckReport};
pub use create::{Blob, CreateOptions, RunWords, ScratchFiles};
pub use format::{About, Bid, Format};
pub use former_runs::FormerRuns;
pub use handle::{Handle, uncompressed_blocks};
pub use info::{DAMAGE, InfoRows, InfoValue};
pub use level::Level;
pub use named_options::{NamedOptions, OptionRow, OptionTable, OptionText};
pub use parts::{
    Digested, InodeFacts, Mendable, MendedPart, OlderPart, OwnDigests, Peek, Provable, Sectioned,
    StartFirst, Surveyed,
};
pub use pipeline_format::{Capabilities, IndexWriter, PipelineFormat, PlanOptions, Rework};
pub use purpose::Purpose;
pub use read_options::ReadOptions;
pub use reuse::{MetadataPlan, Reuse, RewriteOptions, Rewritten};
