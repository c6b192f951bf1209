//! What a caller trusts about an image before it is read: plain data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sinterfs_block::digest::Root;
use sinterfs_block::verity::VerityDigest;

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
    /// The caller knows the fs-verity digest of the whole file instead, of which the root is made
    /// in the same reading.
    FsVerity(VerityDigest),
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
        Self::by(Anchor::Digest(root))
    }

    /// Requires what an anchor vouches for.
    pub fn by(anchor: Anchor) -> Self {
        Self {
            anchor,
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
