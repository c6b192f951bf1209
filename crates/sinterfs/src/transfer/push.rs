//! Images on their way to registries.
//!
//! In: an image, and what goes with it. Out: its name with the digest of the manifest.
//! **Invariant:** what is pushed is an image that can be opened, proven as the options require.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::digest::digest_range;
use sinterfs_model::{Error, Result};

use crate::image::container_config::stored_config;
use crate::open::{open_source, open_with, trusted_source};
use crate::open_options::OpenOptions;
use crate::place::attached_signature::AttachedSignature;
use crate::place::stores::PushedContent;
use crate::place::{self, TRANSPORT};

/// What is pushed with an image.
#[derive(Debug, Clone, Copy, Default)]
pub struct PushWith<'a> {
    /// The architecture of the programs in an EROFS image; by default this machine's.
    pub architecture: Option<&'a str>,
    /// The text of a signature of its root digest, which is attached to it.
    pub signature: Option<&'a str>,
    /// Whether the tag may name another image until now.
    pub replace: bool,
}

/// Pushes an image to a registry; returns its name with the digest of the manifest.
///
/// An EROFS image becomes an ordinary image with one layer, any other format an artifact. With a
/// signature of an image that has no digests of its own, those of the whole file are attached, too.
///
/// # Errors
/// Those of [`crate::open()`]; `Invalid` for a reference without a tag, or with one that names
/// another image and is not to be replaced, `Io` if the registry refuses or cannot be reached.
pub fn push(image: &Path, to: &Path, with: PushWith<'_>, options: &OpenOptions) -> Result<String> {
    // compared with the proof that is required
    open_with(image, options)?;
    push_content(place::source(image, options)?, to, with, options)
}

/// Pushes what is an image.
pub(crate) fn push_content(
    content: Arc<dyn ReadAt>,
    to: &Path,
    with: PushWith<'_>,
    options: &OpenOptions,
) -> Result<String> {
    let opened = open_source(Arc::clone(&content), &OpenOptions::default())?;
    let own = trusted_source::in_image(&content, options)?;
    let attached = |text: &str| {
        let digests = match &own {
            Some(_) => None,
            None => Some(digest_range(&*content, 0, content.len())?.stored().to_vec()),
        };
        Ok::<_, Error>(AttachedSignature {
            signature: text.as_bytes().to_vec(),
            digests,
        })
    };
    let signature = with.signature.map(attached).transpose()?;
    let pushed = PushedContent {
        replace: with.replace,
        signature,
        content,
        format: opened.format(),
        root: own.map(|own| own.digests.root().to_string()),
        architecture: with.architecture.map(str::to_owned),
        config: stored_config(&**opened.raw())?,
    };
    TRANSPORT.stores().push(pushed, to, options)
}
