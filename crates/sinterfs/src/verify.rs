//! Whether images are whole, and whose they are: checks, root digests, signatures.

mod check;
mod digest;
#[cfg(feature = "write")]
mod embed;
#[cfg(feature = "write")]
mod keys;
#[cfg(feature = "write")]
mod mend;
#[cfg(feature = "write")]
mod parity;
#[cfg(feature = "write")]
mod repair;
#[cfg(feature = "write")]
mod seems_sound;
#[cfg(feature = "write")]
mod sign;

pub use crate::open::signature::{Signable, read_signature, signature_path, signed_statement};
pub use crate::trust::{Anchor, Trust};
pub use check::{check, is_image};
pub use digest::{digest, signable};
#[cfg(feature = "write")]
pub use embed::{embed_signature, write_digests};
#[cfg(feature = "write")]
pub use keys::{KeyFiles, KeyPassword, generate_keys};
#[cfg(feature = "write")]
pub use mend::{MendReport, MendRequest, mend};
#[cfg(feature = "write")]
pub use parity::{Damage, ParityReport, check_parity, parity_path, write_parity};
#[cfg(feature = "write")]
pub use repair::{RepairReport, RepairRequest, repair};
#[cfg(feature = "write")]
pub use sign::sign;
pub use sinterfs_format::{CheckOptions, CheckReport};

pub use sinterfs_block::digest::Root;
pub use sinterfs_block::verity;
