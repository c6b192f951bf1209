//! WhiteoutMarks in a layer that names of the layers below are gone.
//!
//! Spec: OCI image-spec, "Image Layer Filesystem Changeset", "Whiteouts" (which are those of aufs); Linux'
//! Documentation/filesystems/overlayfs.rst, "whiteouts and opaque directories".
//! **Invariant:** a mark is never a name of the common tree, and hides what is in lower layers alone.

use sinterfs_model::{Content, Error, NodeId, Rdev, Result, Tree};

/// What begins the name of a mark of OCI's.
const PREFIX: &[u8] = b".wh.";
/// The name in a directory that hides all of the lower ones.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// What begins the names of overlayfs' own attributes.
const OVERLAY: [&[u8]; 2] = [b"trusted.overlay.", b"user.overlay."];

/// Which marks a layer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WhiteoutMarks {
    /// Names that begin with `.wh.`.
    pub names: bool,
    /// Character devices 0/0 and attributes, as in upper directories of overlayfs.
    pub overlay: bool,
}

/// What a name says.
pub(super) enum Mark<'a> {
    /// All names of the lower layers are gone.
    Opaque,
    /// This name of the lower layers is gone.
    Whiteout(&'a [u8]),
    /// Nothing that a tree has.
    Ignored,
}

impl WhiteoutMarks {
    /// Returns what a name says; `None` if it is a name.
    pub(super) fn of_name<'a>(self, name: &'a [u8]) -> Option<Mark<'a>> {
        if !self.names {
            return None;
        }
        let hidden = name.strip_prefix(PREFIX)?;
        Some(match hidden {
            _ if name == OPAQUE => Mark::Opaque,
            // what aufs keeps for itself
            b"" => Mark::Ignored,
            hidden if hidden.starts_with(PREFIX) => Mark::Ignored,
            hidden => Mark::Whiteout(hidden),
        })
    }

    /// Returns whether a directory hides what lower layers have in it.
    pub(super) fn is_opaque(self, tree: &Tree, node: NodeId) -> bool {
        // x: there are whiteouts that are files
        self.overlay && attribute(tree, node, b"opaque").is_some_and(|value| value == b"y")
    }

    /// Returns whether a node stands for a name that is gone.
    pub(super) fn is_whiteout(self, tree: &Tree, node: NodeId) -> bool {
        if !self.overlay {
            return false;
        }
        match tree.node(node).content {
            Content::CharDevice(rdev) => rdev == Rdev { major: 0, minor: 0 },
            Content::File { size: 0 } => attribute(tree, node, b"whiteout").is_some(),
            _ => false,
        }
    }

    /// Returns whether an attribute is one of the layer, and not of its files.
    pub(super) fn owns(self, attribute: &[u8]) -> bool {
        self.overlay && OVERLAY.iter().any(|prefix| attribute.starts_with(prefix))
    }

    /// Fails for what only overlayfs can show, which has the content or the names elsewhere.
    pub(super) fn refuse_foreign(self, tree: &Tree, node: NodeId) -> Result<()> {
        for (name, what) in [
            (&b"redirect"[..], "a directory that overlayfs renamed"),
            (b"metacopy", "a file of which overlayfs copied no content"),
        ] {
            if self.overlay && attribute(tree, node, name).is_some() {
                let what = format!("{what}: mount the layers and pack what is there");
                return Err(Error::unsupported(what).path(super::display_path(&tree.path(node))));
            }
        }
        Ok(())
    }
}

/// Finds an attribute of overlayfs'.
fn attribute<'a>(tree: &'a Tree, node: NodeId, name: &[u8]) -> Option<&'a [u8]> {
    let pairs = &mut tree.xattrs().pairs(tree.node(node).xattrs);
    let found = pairs.find(|(known, _)| {
        let prefix = OVERLAY.iter().find(|prefix| known.starts_with(prefix));
        prefix.is_some_and(|prefix| known.get(prefix.len()..) == Some(name))
    });
    found.map(|(_, value)| value)
}
