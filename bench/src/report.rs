//! The document of all results, and the claims that they have to bear out.

pub mod claims;
pub mod document;
pub mod overview;
