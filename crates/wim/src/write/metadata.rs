//! The metadata of an image: listings of all directories.
//!
//! In: the tree, and the digest of each file's content. Out: the bytes of the metadata resource.
//!
//! **Invariant:** listings follow each other in the order of a walk by levels. Names that are not
//! UTF-8 are left out, with what is below them.

use std::collections::HashMap;

use sinterfs_block::checksum::Sha1Digest;
use sinterfs_model::{Content, NodeId, Result, Tree};

use super::entries::{self, References};
use super::text::to_utf16;

/// What content and links of nodes refer to.
pub(super) trait Digests {
    /// Returns the digest of a file's content; zero for none.
    fn of_file(&mut self, node: NodeId) -> Result<Sha1Digest>;
    /// Returns tag and digest of the reparse point of a symlink.
    fn of_link(&mut self, target: &[u8]) -> Result<(u32, Sha1Digest)>;
}

/// The metadata, and what was counted on the way.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) bytes: Vec<u8>,
    pub(super) directories: u64,
    /// Names of all other inodes.
    pub(super) files: u64,
    /// Names that are left out.
    pub(super) left_out: u64,
}

/// Makes the metadata of a tree.
pub(super) fn make(tree: &Tree, digests: &mut dyn Digests) -> Result<Metadata> {
    let mut made = Metadata::default();
    // security data without descriptors
    made.bytes.extend(8_u32.to_le_bytes());
    made.bytes.extend([0; 4]);
    let root = tree.node(NodeId::ROOT);
    let to = References::default();
    entries::put(&mut made.bytes, tree, root, b"", &to);
    // one entry, and the end of its listing
    let mut listing_fields = vec![(8, NodeId::ROOT)];
    made.bytes.extend([0; 8]);
    let mut groups: HashMap<NodeId, u64> = HashMap::new();
    let mut next = 0;
    while let Some((entry_at, dir)) = listing_fields.get(next).copied() {
        next += 1;
        made.directories += 1;
        let at = made.bytes.len() as u64;
        let field = entry_at + 16;
        if let Some(room) = made.bytes.get_mut(field..field + 8) {
            room.copy_from_slice(&at.to_le_bytes());
        }
        for link in tree.children(dir) {
            let Some(name) = to_utf16(tree.bytes(link.name)) else {
                made.left_out += 1;
                continue;
            };
            let node = tree.node(link.node);
            let mut to = References::default();
            match node.content {
                Content::Directory { .. } => listing_fields.push((made.bytes.len(), link.node)),
                Content::Symlink(target) => {
                    (to.tag, to.digest) = digests.of_link(tree.bytes(target))?;
                }
                Content::File { .. } => to.digest = digests.of_file(link.node)?,
                _ => {}
            }
            if !matches!(node.content, Content::Directory { .. }) {
                made.files += 1;
            }
            if node.links > 1 {
                let number = groups.len() as u64 + 1;
                to.group = *groups.entry(link.node).or_insert(number);
            }
            entries::put(&mut made.bytes, tree, node, &name, &to);
        }
        made.bytes.extend([0; 8]);
    }
    Ok(made)
}
