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

mod format;
mod handle;
mod info;
mod mount;
mod open;
mod open_options;
mod ops;
mod registry;
mod trust;
mod verify;
mod write;

pub use handle::Opened;
pub use info::{Details, Value};
pub use mount::access::{Counted, Watch};
pub use mount::allocator::keep_little;
pub use mount::idle::IdleWatch;
pub use mount::memory::cache_of_mount;
pub use mount::serve::{Mounted, Through, mount};
pub use open::{open, open_source};
pub use open_options::OpenOptions;
pub use ops::archive::{ArchiveRequest, archive};
pub use ops::diff::diff;
pub use ops::filtered::Filtered;
pub use registry::composefs::object_mount::{Compared, mount_objects};
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
pub use trust::{Proof, Word};
pub use verify::check::check;
pub use verify::digest::{digest, embed_signature, write_digests};
pub use verify::report::{CheckReport, Depth};
pub use verify::signature::{beside as signature_beside, sign, statement};
pub use write::attributes::{AttributeChanges, RootChanges};
pub use write::build::{build, reports_digest};
pub use write::filters::Choice;
pub use write::header::Header;
pub use write::input::kinds::{Input, Layering, ManifestOptions, MergePart, Whiteouts};
pub use write::new_file::{NewFile, write_new};
pub use write::output::is_same_file;
pub use write::recompress::recompress;
pub use write::recompress_request::{Parts, RecompressReport, RecompressRequest};
pub use write::report::{BuildReport, ObjectsReport, PipelineReport};
pub use write::request::{
    BuildRequest, ComposefsOptions, Destination, PerFileOptions, VolumeOptions,
};
