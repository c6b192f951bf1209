//! mtree: lists of files with their attributes, one file a line. Spec: mtree(5) of NetBSD and of
//! libarchive.

pub mod read;
pub mod write;
