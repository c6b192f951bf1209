//! The metadata of an image: listings of all directories.
//!
//! In: the tree, and the digest of each file's content. Out: the bytes of the metadata resource.
//!
//! **Invariant:** listings follow each other in the order of a walk by levels. Entries that the
//! format or our reader does not support are left out, with everything below them.

use std::collections::{BTreeSet, HashMap};

use sinterfs_block::checksum::Sha1Digest;
use sinterfs_model::{Content, Link, Loss, Node, NodeId, Result, Tree};

use super::entries::{self, References};
use super::text::to_utf16;

/// The blobs that content and links of nodes refer to.
pub(super) trait Digests {
    /// Returns the digest of a file's content; zero for none.
    fn of_file(&mut self, node: NodeId) -> Result<Sha1Digest>;
    /// Returns tag and digest of the reparse point of a symlink.
    fn of_link(&mut self, target: &[u8]) -> Result<(u32, Sha1Digest)>;
    /// Returns the digest of the content of a named stream; zero for none.
    fn of_stream(&mut self, content: &[u8]) -> Result<Sha1Digest>;
}

/// The metadata, and what was counted on the way.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) bytes: Vec<u8>,
    pub(super) directories: u64,
    /// Names of all other inodes.
    pub(super) files: u64,
    /// The entries that are left out.
    pub(super) left_out: LeftOut,
}

/// Names that are left out.
#[derive(Debug)]
pub(super) struct LeftOut {
    names: Loss,
    devices: Loss,
    targets: Loss,
}

impl Default for LeftOut {
    fn default() -> Self {
        let names = "names that are not UTF-8 or longer than 255 bytes (left out, with everything \
                     below them)";
        Self {
            names: Loss::entries(names),
            devices: Loss::entries("devices with numbers above 32 bits (left out)"),
            targets: Loss::entries("symlinks with targets of 64 KiB or more (left out)"),
        }
    }
}

impl LeftOut {
    /// Returns the losses to report.
    pub(super) fn into_losses(self) -> Vec<Loss> {
        Loss::happened([self.names, self.devices, self.targets])
    }

    /// Returns the UTF-16 name of an entry that is stored, and counts the others.
    fn stored(&mut self, tree: &Tree, link: &Link) -> Option<Vec<u8>> {
        let name = tree.bytes(link.name);
        let unfit = match tree.node(link.node).content {
            Content::CharDevice(rdev) | Content::BlockDevice(rdev)
                if u32::try_from(rdev.to_dev_t()).is_err() =>
            {
                &mut self.devices
            }
            Content::Symlink(target) if tree.bytes(target).len() > TARGET_MAX => &mut self.targets,
            _ => match to_utf16(name).filter(|_| name.len() <= NAME_MAX) {
                Some(name) => return Some(name),
                None => &mut self.names,
            },
        };
        unfit.add(|| tree.link_path(link));
        None
    }
}

/// The longest name that we read, in bytes.
const NAME_MAX: usize = 255;

/// The longest target of a symlink: what we read of a reparse point, without its tag.
const TARGET_MAX: usize = (64 << 10) - 4;

/// Returns the named streams of a node, which are attributes in the tree.
fn streams(
    tree: &Tree,
    node: &Node,
    names: &BTreeSet<Vec<u8>>,
    digests: &mut dyn Digests,
) -> Result<Vec<(Vec<u8>, Sha1Digest)>> {
    let mut found = Vec::new();
    for (name, value) in tree.xattrs().pairs(node.xattrs) {
        if let Some(name) = stream_name(name, names) {
            found.push((name, digests.of_stream(value)?));
        }
    }
    Ok(found)
}

/// Returns the name in UTF-16 of the stream that an attribute becomes.
pub(super) fn stream_name(attribute: &[u8], names: &BTreeSet<Vec<u8>>) -> Option<Vec<u8>> {
    let name = attribute.strip_prefix(b"user.")?;
    let is_stream = !name.is_empty() && names.contains(attribute);
    is_stream.then(|| to_utf16(name)).flatten()
}

/// Makes the metadata of a tree; attributes with such names are streams.
pub(super) fn make(
    tree: &Tree,
    stream_names: &BTreeSet<Vec<u8>>,
    digests: &mut dyn Digests,
) -> Result<Metadata> {
    let mut made = Metadata::default();
    let is_stream = |name: &[u8]| stream_name(name, stream_names).is_some();
    // security data without descriptors
    made.bytes.extend(8_u32.to_le_bytes());
    made.bytes.extend([0; 4]);
    let root = tree.node(NodeId::ROOT);
    let to = References {
        streams: streams(tree, root, stream_names, digests)?,
        ..References::default()
    };
    entries::put(&mut made.bytes, (tree, root), b"", &to, &is_stream);
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
            let Some(name) = made.left_out.stored(tree, link) else {
                continue;
            };
            let node = tree.node(link.node);
            let mut to = References {
                streams: streams(tree, node, stream_names, digests)?,
                ..References::default()
            };
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
            entries::put(&mut made.bytes, (tree, node), &name, &to, &is_stream);
        }
        made.bytes.extend([0; 8]);
    }
    Ok(made)
}
