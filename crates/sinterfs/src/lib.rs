//! SinterFS: sinterfs.
