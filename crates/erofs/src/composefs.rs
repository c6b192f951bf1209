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

use sinterfs_block::verity::{VerityDigest, hex};

/// Returns the path of the object with a digest: its first byte is a directory.
pub fn object_path(digest: &VerityDigest) -> String {
    let mut path = hex(digest);
    path.insert(2, '/');
    path
}
