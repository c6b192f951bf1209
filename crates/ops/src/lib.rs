//! The operations on an opened image, written once over `&dyn Image`: walk, list, cat, extract,
//! archive and verify.
//!
//! **Invariant:** no format is known here, and nothing is printed: progress and warnings go to
//! the observer, results to the caller.

mod archive;
mod cat;
mod contents;
mod diff;
mod extract;
mod failures;
mod find;
mod glob;
mod jobs;
mod list;
mod part;
mod plan;
mod resolve;
mod runs;
mod select;
mod taken;
mod tree;
mod unread;
mod usage;
mod verify;
mod walk;
mod watch;
mod workers;

pub use self::archive::{Archive, ArchiveFormat, ArchiveOptions, ArchiveOrder, ArchiveReport};
pub use cat::cat;
pub use contents::{ContentReader, ContentsOptions, ContentsReport, OpenedContent, contents};
pub use diff::{Change, DiffOptions, DiffReport, Difference, Field, Side, What, diff};
pub use extract::{ExtractOptions, ExtractReport, Overwrite, extract};
pub use failures::{FailedInode, ReadFailures};
pub use find::{FindOptions, ModeBits, find};
pub use glob::expand;
pub use list::{ListOptions, Row, list, row, survey};
pub use part::{PartOptions, PartialImage};
pub use resolve::{Follow, resolve, trail};
pub use tree::{TreeEntry, TreeOptions, tree};
pub use unread::Unread;
pub use usage::{
    Cell, DuOptions, DuRow, ShowBlocks, Sum, Usage, UsageKind, UsageNode, disk_usage, usage,
};
pub use verify::{VerifyReport, verify};
pub use walk::{Visit, WalkEntry, WalkStep, walk};
pub use watch::{Activity, OnRead, Watched};

pub use sinterfs_model::StoredBlock;
