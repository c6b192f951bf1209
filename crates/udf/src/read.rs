//! Reads UDF file systems: opens them and implements `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Udf`.
//!
//! **Invariant:** all directories and file entries are read when a file system is opened. Damage of
//! one is an error when it is read, and harms no other.

mod attributes;
mod damage;
mod directory;
mod entry;
mod extents;
mod image;
mod maps;
mod nodes;
mod open;
mod partitions;
mod streams;
mod volume;
mod walk;

pub(crate) use extents::UNSTORED;
pub use nodes::UdfLosses;
pub(crate) use nodes::{UdfContent, UdfNode};
pub use open::{Probe, Udf, probe};
pub use sinterfs_format::ReadOptions;
