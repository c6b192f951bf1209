//! The tools that are measured.

pub mod installed;
pub mod peers;
