//! Whiteouts: marks in a layer that hide names of lower layers.
//!
//! Spec: OCI image-spec, "Image Layer Filesystem Changeset", "Whiteouts" (as in aufs); Linux'
//! Documentation/filesystems/overlayfs.rst, "whiteouts and opaque directories".
//! **Invariant:** a mark is never a name of the common tree, and hides names of lower layers only.

use sinterfs_model::{Content, Error, NodeId, Rdev, Result, Tree};

use super::links::child;

/// The prefix of OCI whiteouts.
const PREFIX: &[u8] = b".wh.";
/// The name that makes a directory opaque.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// The prefixes of the attributes of overlayfs.
const OVERLAY: [&[u8]; 2] = [b"trusted.overlay.", b"user.overlay."];

/// The kinds of whiteouts in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WhiteoutMarks {
    /// Names that begin with `.wh.`.
    pub names: bool,
    /// Character devices 0/0 and attributes, as in upper directories of overlayfs.
    pub overlay: bool,
}

/// The meaning of a marked name.
pub(crate) enum Mark<'a> {
    /// Hides all names of lower layers.
    Opaque,
    /// Hides this name of lower layers.
    Whiteout(&'a [u8]),
    /// A name that is not part of the tree.
    Ignored,
}

impl WhiteoutMarks {
    /// Returns the mark that a name is; `None` if it is an ordinary name.
    pub(crate) fn of_name<'a>(self, name: &'a [u8]) -> Option<Mark<'a>> {
        if !self.names {
            return None;
        }
        let hidden = name.strip_prefix(PREFIX)?;
        Some(match hidden {
            _ if name == OPAQUE => Mark::Opaque,
            // reserved by aufs
            b"" => Mark::Ignored,
            hidden if hidden.starts_with(PREFIX) => Mark::Ignored,
            hidden => Mark::Whiteout(hidden),
        })
    }

    /// Returns whether names in a directory hide a name of lower layers.
    pub(super) fn hides(self, tree: &Tree, dir: NodeId, name: &[u8]) -> bool {
        let has = |mark: &[u8]| child(tree, dir, mark).is_some();
        self.names && (has(OPAQUE) || has(&[PREFIX, name].concat()))
    }

    /// Returns whether a directory is opaque.
    pub(super) fn is_opaque(self, tree: &Tree, node: NodeId) -> bool {
        // the value `x` only announces whiteouts that are files
        self.overlay && attribute(tree, node, b"opaque").is_some_and(|value| value == b"y")
    }

    /// Returns whether a node is a whiteout.
    pub(crate) fn is_whiteout(self, tree: &Tree, node: NodeId) -> bool {
        if !self.overlay {
            return false;
        }
        match tree.node(node).content {
            Content::CharDevice(rdev) => rdev == Rdev { major: 0, minor: 0 },
            Content::File { size: 0 } => attribute(tree, node, b"whiteout").is_some(),
            _ => false,
        }
    }

    /// Returns whether an attribute belongs to overlayfs, not to the file.
    pub(crate) fn owns(self, attribute: &[u8]) -> bool {
        self.overlay && OVERLAY.iter().any(|prefix| attribute.starts_with(prefix))
    }

    /// Fails with `Unsupported` for entries whose content or names are elsewhere, which only
    /// overlayfs can resolve.
    pub(super) fn refuse_foreign(self, tree: &Tree, node: NodeId) -> Result<()> {
        for (name, what) in [
            (&b"redirect"[..], "a directory that overlayfs renamed"),
            (b"metacopy", "a file of which overlayfs copied no content"),
        ] {
            if self.overlay && attribute(tree, node, name).is_some() {
                let what = format!("{what}: mount the layers and pack the mount");
                return Err(
                    Error::unsupported(what).path(super::conflicts::display_path(&tree.path(node)))
                );
            }
        }
        Ok(())
    }
}

/// Returns an attribute of overlayfs.
fn attribute<'a>(tree: &'a Tree, node: NodeId, name: &[u8]) -> Option<&'a [u8]> {
    let pairs = &mut tree.xattrs().pairs(tree.node(node).xattrs);
    let found = pairs.find(|(known, _)| {
        let prefix = OVERLAY.iter().find(|prefix| known.starts_with(prefix));
        prefix.is_some_and(|prefix| known.get(prefix.len()..) == Some(name))
    });
    found.map(|(_, value)| value)
}
