//! Mounted images: how they are served, and what they take while they are.

pub mod access;
pub mod allocator;
pub mod idle;
pub mod memory;
pub mod serve;
