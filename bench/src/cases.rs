//! What can be measured, a file each.

pub mod ablate;
pub mod erofs;
pub mod mounts;
pub mod parts;
pub mod recipe;
pub mod scale;
pub mod served;
pub mod setting;
