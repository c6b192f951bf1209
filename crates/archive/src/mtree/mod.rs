//! mtree: lists of files and what is known of them, one on a line. Spec: mtree(5) of NetBSD and of
//! libarchive.

pub mod read;
pub mod write;
