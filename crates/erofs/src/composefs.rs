//! composefs: an EROFS image of metadata, whose files' content is in a store of objects.
//!
//! `view` presents an image and a store as overlayfs does, `write` makes images, `parse` and
//! `print` are their text. Written images have the bytes of the reference's (mkcomposefs, versions
//! 0 and 1 of the format): nothing of them may change.
//!
//! Sources: composefs-dump(5); "Documentation/filesystems/overlayfs.rst" of Linux (metacopy,
//! redirect, nesting); composefs-rs (MIT or Apache-2.0) for the header and the attributes; images
//! of mkcomposefs 1.0.8 for their layout.

mod attributes;
mod escape;
mod files;
mod inode_layout;
mod parse;
mod plan;
mod print;
mod versions;
mod view;
mod write;

pub use files::{Body, Files, INLINE_MAX, Kept, KeptXattrs, ObjectPath};
pub use parse::parse;
pub(crate) use print::print;
pub use versions::Versions;
pub use view::{Composefs, Objects};
pub use write::{Written, write};

pub(crate) use view::redirect;

use sinterfs_block::ReadAt;
use sinterfs_block::verity::{VerityDigest, hex};
use sinterfs_model::Result;
use zerocopy::FromBytes;

use crate::layout::{COMPOSEFS_MAGIC, ComposefsHeader};

/// The prefix of the attributes of overlayfs that only root sees.
const TRUSTED: &[u8] = b"trusted.overlay.";

/// The prefix of the attributes of overlayfs that every user sees.
const USER: &[u8] = b"user.overlay.";

/// The infix between the prefix and the name of an escaped attribute.
const ESCAPED: &[u8] = b"overlay.";

/// The bytes before a digest in the attribute `metacopy`: the version, the length, no flags,
/// SHA-256.
const METACOPY: [u8; 4] = [0, 36, 0, 1];

/// Returns the path of the object with a digest: its first byte is a directory.
pub fn object_path(digest: &VerityDigest) -> String {
    let mut path = hex(digest);
    path.insert(2, '/');
    path
}

/// Returns the version of the format that the beginning of a composefs image names; `None` for
/// other images.
pub(crate) fn version(source: &dyn ReadAt) -> Result<Option<u32>> {
    let mut bytes = [0; size_of::<ComposefsHeader>()];
    if source.len() < bytes.len() as u64 {
        return Ok(None);
    }
    source.read_at(0, &mut bytes)?;
    let header = ComposefsHeader::ref_from_bytes(&bytes).ok();
    let ours = header.filter(|header| header.magic.get() == COMPOSEFS_MAGIC);
    Ok(ours.map(|header| header.version.get()))
}
