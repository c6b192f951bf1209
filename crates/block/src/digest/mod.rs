//! Digests of all bytes of an image: hashes of its leaves, and a root over these.
//!
//! In: bytes in order, or stored digests. Out: digests, their root, and a source that returns only
//! bytes that match them ([`Verified`]).
//! Spec: `docs/formats/digest.md`.
//!
//! **Invariant:** the root covers every byte of the stored form: a reader that knows the root needs
//! to trust none of it.

mod builder;
mod digests;
mod layout;
mod root;
mod verified;

pub use builder::{DigestBuilder, digest_range};
pub use digests::Digests;
pub use root::Root;
pub use verified::Verified;

#[cfg(test)]
mod tests;
