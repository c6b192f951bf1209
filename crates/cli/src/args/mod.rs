//! Flags that several commands share: one file a group, with what the group asks of a request.

pub mod attributes;
pub mod common;
pub mod filter;
pub mod input;
pub mod pack;
pub mod report;
pub mod stats;
