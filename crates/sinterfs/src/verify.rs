//! Whether images are whole, and whose they are: checks, root digests, signatures.

mod check;
mod digest;
pub(crate) mod report;
mod signature;
pub(crate) mod trusted_source;

pub use crate::trust::{Anchor, Trust};
pub use check::check;
pub use digest::{digest, embed_signature, write_digests};
pub use report::{CheckOptions, CheckReport};
pub use signature::{sign, signature_path, signed_statement};

pub use sinterfs_block::digest::Root;
pub use sinterfs_block::verity;
