//! What is done with images and directories alike: archives, comparison.

pub mod archive;
pub mod diff;
pub mod filtered;
