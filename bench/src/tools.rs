//! The tools that are measured: ours apart from rivals', both as rows of command lines.

pub mod catalog;
pub mod command;
pub mod installed;
pub mod ours;
pub mod rivals;
pub mod tool;
