//! Digests of all bytes of an image: hashes of its leaves, and a root over these.
//!
//! In: bytes in order, or digests as they are stored. Out: digests, their root, a source that hands
//! out nothing else than the bytes it was made of ([`Verified`]). Spec: `docs/formats/digest.md`.
//!
//! **Invariant:** the root is taken over every byte of the stored form, so who knows the root needs
//! to trust nothing of it.

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
