//! Marks of layers in one tree: marks of aufs become marks of overlayfs, or are left out.
//!
//! Enters a tree; leaves what becomes of each entry and of the attributes of each directory. Spec:
//! OCI image-spec, "Whiteouts"; Linux' Documentation/filesystems/overlayfs.rst. **Invariant:** a
//! mark hides a name of lower layers only: where the tree itself has the name, that stays.

use sinterfs_model::{Link, NodeId, Tree, Xattrs};

use super::edit_options::LayerMarks;
use crate::merge::{Mark, WhiteoutMarks, child};

const OPAQUE: &[u8] = b"trusted.overlay.opaque";
/// Has overlayfs look for whiteouts in a directory that no other layer has.
const ORIGIN: &[u8] = b"trusted.overlay.origin";

/// The treatment of an entry of a directory.
pub(super) enum MarkedEntry<'a> {
    /// It stays.
    Kept,
    /// It is left out.
    Dropped,
    /// A whiteout of this name takes its place.
    Whiteout(&'a [u8]),
}

impl LayerMarks {
    fn known(self) -> WhiteoutMarks {
        WhiteoutMarks {
            names: self.from_aufs,
            overlay: self.stripped,
        }
    }

    /// Returns what becomes of an entry.
    pub(super) fn entry<'a>(self, tree: &'a Tree, dir: NodeId, link: &Link) -> MarkedEntry<'a> {
        let known = self.known();
        match known.of_name(tree.bytes(link.name)) {
            None if known.is_whiteout(tree, link.node) => MarkedEntry::Dropped,
            None => MarkedEntry::Kept,
            Some(Mark::Whiteout(hidden))
                if !self.stripped && child(tree, dir, hidden).is_none() =>
            {
                MarkedEntry::Whiteout(hidden)
            }
            Some(_) => MarkedEntry::Dropped,
        }
    }

    /// Changes the attributes of a node.
    pub(super) fn change_xattrs(self, tree: &Tree, node: NodeId, all: &mut Xattrs) {
        if self.stripped {
            all.retain(|(name, _)| !self.known().owns(name));
        }
        if !self.from_aufs || self.stripped {
            return;
        }
        let (mut opaque, mut hides) = (false, false);
        for link in tree.children(node) {
            match self.known().of_name(tree.bytes(link.name)) {
                Some(Mark::Opaque) => opaque = true,
                Some(Mark::Whiteout(_)) => hides = true,
                _ => {}
            }
        }
        let marks = [(opaque, OPAQUE, &b"y"[..]), (hides && !opaque, ORIGIN, b"")];
        for (_, name, value) in marks.into_iter().filter(|(is_set, ..)| *is_set) {
            all.retain(|(known, _)| known != name);
            all.push((name.into(), value.into()));
        }
    }
}
