//! What a caller trusts about an image before it is read: plain data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sinterfs_block::digest::Root;

/// What an image must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// What vouches for the root digest.
    pub anchor: Anchor,
    /// The file of the image's digests; `None` takes those in the image, or computes them over the
    /// whole file.
    pub digests: Option<PathBuf>,
    /// The file of the image, if it has one; a signature may be beside it.
    pub image: Option<PathBuf>,
}

/// What vouches for a root digest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Anchor {
    /// The caller knows it.
    Digest(Root),
    /// It is signed.
    Signature {
        /// The public key, or the file that holds it.
        key: OsString,
        /// The file of the signature; `None` means the one in the image, or else beside it.
        signature: Option<PathBuf>,
    },
}

impl Trust {
    /// Requires a root digest.
    pub fn of(root: Root) -> Self {
        Self {
            anchor: Anchor::Digest(root),
            digests: None,
            image: None,
        }
    }

    /// Completes the requirement for an image whose file is known.
    pub(crate) fn beside(&self, image: &Path) -> Self {
        let image = self.image.clone().unwrap_or_else(|| image.to_owned());
        Self {
            image: Some(image),
            ..self.clone()
        }
    }
}
