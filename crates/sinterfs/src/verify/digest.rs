//! The root digest of an image, computed of its bytes.
//!
//! In: an image file of any format. Out: the root that `Proof` takes for it.
//! Spec: `docs/formats/digest.md`.

use std::path::Path;

use sinterfs_block::digest::{Root, Verified, digest_range};
use sinterfs_model::{Error, Observer, Result};

use crate::open::signature::Signable;
use crate::open::trusted_source;
use crate::open_options::OpenOptions;
use crate::place;

/// Computes the root of the digests that an image has of itself, or, if it has none, of its whole
/// file.
///
/// `Corrupt` for the first bytes that do not match the image's digests.
pub fn digest(path: &Path, threads: usize, observer: &dyn Observer) -> Result<Root> {
    signable(path, threads, observer).map(|signable| signable.root)
}

/// Computes what a signature of an image is of: the root, as [`digest`] does, and the SHA-256 of
/// what is before the image, where the digests do not cover that.
///
/// As [`digest`].
pub fn signable(path: &Path, threads: usize, observer: &dyn Observer) -> Result<Signable> {
    let located = |error: Error| error.path(place::shown(path));
    let source = place::source(path, &OpenOptions::default())?;
    let own = trusted_source::in_image(&source, &OpenOptions::default()).map_err(located)?;
    let Some(own) = own else {
        return Ok(digest_range(&*source, 0, source.len())
            .map_err(located)?
            .root()
            .into());
    };
    let header = trusted_source::header_hash(&source, own.start).map_err(located)?;
    let verified = Verified::new(source, own.start, own.digests).map_err(located)?;
    let wrong = verified.check(threads, observer).map_err(located)?;
    match wrong.into_iter().next() {
        Some(error) => Err(located(error)),
        None => Ok(Signable {
            root: verified.digests().root(),
            header,
        }),
    }
}
