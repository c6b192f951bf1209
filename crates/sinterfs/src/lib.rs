//! SinterFS: read-only file system images, built, opened, mounted, extracted and checked.
//!
//! This is the facade that programs use: it knows all formats (`registry`) and hides them.
//!
//! ```no_run
//! use sinterfs::{Cursor, OpenOptions};
//! # fn main() -> sinterfs::Result<()> {
//! let opened = sinterfs::open("image.dwarfs", &OpenOptions::default())?;
//! let image = opened.image();
//! image.read_dir(image.info().root, Cursor::START, &mut |entry| {
//!     println!("{}", String::from_utf8_lossy(entry.name));
//!     std::ops::ControlFlow::Continue(())
//! })?;
//! # Ok(())
//! # }
//! ```

mod allocator;
mod archive;
mod attributes;
mod base;
mod build;
mod check;
mod choices;
mod composefs;
mod create;
mod details;
mod diff;
mod digest;
mod filtered;
mod header;
mod idle;
mod input;
mod layers;
mod levels;
mod memory;
mod new_file;
mod objects;
mod open;
mod output;
mod proof;
mod recompress;
mod registry;
mod serve;
mod signature;
mod times;
mod watch;

pub use allocator::keep_little;
pub use archive::{ArchiveRequest, archive};
pub use attributes::{AttributeChanges, RootChanges};
pub use build::{
    BuildReport, BuildRequest, Destination, PerFileOptions, PipelineReport, VolumeOptions, build,
    is_same_file,
};
pub use check::{CheckReport, Depth, check};
pub use choices::Choice;
pub use composefs::{ComposefsOptions, ObjectsReport, is_asked as is_composefs};
pub use details::{Details, Value};
pub use diff::diff;
pub use digest::{digest, embed_signature, write_digests};
pub use filtered::Filtered;
pub use header::Header;
pub use idle::IdleWatch;
pub use input::{Input, Layering, ManifestOptions, MergePart, Whiteouts};
pub use layers::{Compared, mount_objects};
pub use memory::cache_of_mount;
pub use new_file::{NewFile, write_new};
pub use open::{OpenOptions, Opened, open, open_source};
pub use proof::{Proof, Word};
pub use recompress::{Parts, RecompressReport, RecompressRequest, recompress};
pub use registry::FORMATS;
pub use serve::{Mounted, Through, mount};
pub use signature::{beside as signature_beside, sign, statement};
pub use sinterfs_block::cache::BlockCache;
pub use sinterfs_block::digest::Root;
pub use sinterfs_block::verity;
pub use sinterfs_block::{FileSource, MemorySource, ReadAt};
pub use sinterfs_model::*;
pub use sinterfs_mount::{Ended, MountOptions, Session, daemon, umount};
pub use sinterfs_ops::{
    ArchiveFormat, ArchiveOptions, ArchiveOrder, ArchiveReport, Cell, Change, DiffOptions,
    DiffReport, Difference, ExtractOptions, ExtractReport, Field, Follow, ListOptions, Node,
    Overwrite, Part, Row, Step, Sum, Usage, VerifyReport, What, cat, extract, list, resolve, row,
    verify,
};
pub use sinterfs_pipeline::source::XattrFilter;
pub use sinterfs_pipeline::source::merge::{Conflict, Conflicts};
pub use sinterfs_pipeline::{Categorizers, Order};
pub use watch::{Counted, Watch};
