//! Checking images: structure, digests, signatures.

pub mod check;
pub mod digest;
pub mod prove;
pub mod report;
pub mod signature;
