//! Flags that several commands share: one file a group, with what the group asks of a request.
//!
//! **Invariant:** each group that a command flattens sets the heading of its flags in the help:
//! clap keeps a heading until the next one (checked by a test over all commands).

pub mod attributes;
#[cfg(target_os = "linux")]
pub mod damage;
pub mod extract;
pub mod fetch;
pub mod files_written;
pub mod filter;
pub mod input;
pub mod pack;
pub mod parity;
pub mod part;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(not(feature = "remote"))]
#[path = "no_remote.rs"]
pub mod remote;
pub mod report;
pub mod run;
#[cfg(target_os = "linux")]
pub mod self_mount;
#[cfg(not(target_os = "linux"))]
#[path = "no_self_mount.rs"]
pub mod self_mount;
#[cfg(target_os = "linux")]
pub mod stats;

/// The heading of flags without a group: `Options:`, before all others.
pub const GENERAL: Option<&str> = None;

#[cfg(test)]
mod tests;
