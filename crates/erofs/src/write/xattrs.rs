//! Extended attributes: after the inode if it alone has them, at one shared offset otherwise.
//!
//! In: the attribute sets of the tree. Out: the shared attributes, and for each set what follows
//! its inodes. **Invariant:** the bytes follow the order of nodes, not that in which sets were
//! found. Format: `docs/formats/erofs.md`, "Extended attributes".

use std::collections::HashMap;

use sinterfs_block::checksum::xxh32;
use sinterfs_model::{Error, Loss, NodeId, Result, Tree, XattrSet};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::prefixes::{NameCounts, XattrPrefixes};
use super::xattr_name::split_prefix;
use crate::layout::{NAME_MAX, XATTR_FILTER_SEED, XATTR_WORD, XattrEntry, XattrHeader};

/// An attribute is shared if more inodes than these have it.
const MAX_UNSHARED: u32 = 2;

/// An attribute is shared if its value is longer, so that inodes stay close to each other.
const LONG: usize = 1024;

/// The most shared attributes of an inode.
pub(crate) const SHARED_MAX: usize = u8::MAX as usize;

/// The attributes that the image does not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DroppedXattrs {
    /// Those with prefixes that kernels do not show.
    pub(crate) foreign: u64,
    /// Those whose names or values are too long for the format.
    pub(crate) long: Loss,
}

impl Default for DroppedXattrs {
    fn default() -> Self {
        let what = "extended attributes with names above 255 bytes or values above 65535";
        Self {
            foreign: 0,
            long: Loss::entries(what),
        }
    }
}

impl DroppedXattrs {
    /// Returns the losses to report.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        let mut losses = Loss::counted([(
            "extended attributes that are not in user, trusted or security, nor ACLs",
            self.foreign,
        )]);
        losses.extend(Loss::happened([self.long.clone()]));
        losses
    }
}

/// An attribute with the number of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct XattrPair<'a> {
    prefix: u8,
    name: &'a [u8],
    value: &'a [u8],
}

impl<'a> XattrPair<'a> {
    /// Splits the prefix off; counts the attribute as dropped if the image cannot keep it, and
    /// names it by `path`.
    pub(crate) fn new(
        full: &'a [u8],
        value: &'a [u8],
        path: impl FnOnce() -> Vec<u8>,
        dropped: &mut DroppedXattrs,
    ) -> Option<Self> {
        let Some((prefix, name)) = split_prefix(full) else {
            dropped.foreign += 1;
            return None;
        };
        if full.len() > NAME_MAX || value.len() > usize::from(u16::MAX) {
            dropped.long.add(path);
            return None;
        }
        Some(Self {
            prefix,
            name,
            value,
        })
    }

    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        write_entry(self.prefix, self.name, self.value, to);
    }

    fn write_short(&self, prefixes: &XattrPrefixes, to: &mut Vec<u8>) {
        let (prefix, name) = prefixes.shorten(self.prefix, self.name);
        write_entry(prefix, name, self.value, to);
    }

    /// Returns whether an attribute of this number of inodes is shared.
    fn is_shared(&self, count: u32) -> bool {
        count > MAX_UNSHARED || self.value.len() > LONG
    }
}

/// Returns the bit of the name filter for a name without its prefix, whose number is given.
pub(crate) fn filter_bit(prefix: u8, name: &[u8]) -> u32 {
    1 << (xxh32(name, XATTR_FILTER_SEED + u32::from(prefix)) % u32::BITS)
}

/// Appends an attribute, whose name is without its prefix, and pads to a word.
pub(crate) fn write_entry(prefix: u8, name: &[u8], value: &[u8], to: &mut Vec<u8>) {
    let entry = XattrEntry {
        name_len: name.len() as u8,
        name_index: prefix,
        value_size: U16::new(value.len() as u16),
    };
    to.extend_from_slice(entry.as_bytes());
    to.extend_from_slice(name);
    to.extend_from_slice(value);
    to.resize(to.len().next_multiple_of(XATTR_WORD as usize), 0);
}

/// The attributes of a tree.
#[derive(Debug, Default)]
pub(super) struct Xattrs<'a> {
    /// The tree; `None` if no attributes are kept.
    tree: Option<&'a Tree>,
    /// The shared attributes, one after the other.
    pub(super) shared: Vec<u8>,
    /// The offset of each of them in words.
    offsets: HashMap<XattrPair<'a>, u32>,
    /// The long prefixes of names.
    pub(super) prefixes: XattrPrefixes,
    /// Whether any inode has an attribute.
    pub(super) is_any: bool,
    pub(super) dropped: DroppedXattrs,
}

impl<'a> Xattrs<'a> {
    /// Collects shared attributes; chooses long prefixes unless some are given.
    pub(super) fn new(tree: &'a Tree, given: Option<XattrPrefixes>) -> Result<Self> {
        let mut all = Self {
            tree: Some(tree),
            ..Self::default()
        };
        let mut counts: HashMap<XattrPair<'a>, u32> = HashMap::new();
        let nodes = || (0..).map(NodeId).zip(tree.nodes().iter());
        let sets = || nodes().map(|(_, node)| node.xattrs);
        let all_of = nodes().flat_map(|(id, node)| {
            let name = |attribute: &[u8]| tree.attribute_path(id, attribute);
            kept(tree, node.xattrs, name, &mut all.dropped)
        });
        for pair in all_of {
            let count = counts.entry(pair).or_default();
            *count = count.saturating_add(1);
        }
        all.is_any = !counts.is_empty();
        all.prefixes = given.unwrap_or_else(|| XattrPrefixes::choose(name_counts(&counts)));
        for pair in sets().flat_map(|set| unreported(tree, set)) {
            if counts
                .remove(&pair)
                .is_some_and(|count| pair.is_shared(count))
            {
                let offset = u32::try_from(all.shared.len() as u64 / XATTR_WORD);
                let offset = offset.map_err(|_| Error::limit("16 GiB of shared attributes"))?;
                pair.write_short(&all.prefixes, &mut all.shared);
                all.offsets.insert(pair, offset);
            }
        }
        Ok(all)
    }

    /// Makes what follows the inodes that have a set; empty for an empty set.
    pub(super) fn inline(&self, set: XattrSet) -> Vec<u8> {
        let Some(tree) = self.tree else {
            return Vec::new();
        };
        let (mut shared, mut own) = (Vec::new(), Vec::new());
        let mut filter = 0;
        for pair in unreported(tree, set) {
            filter |= filter_bit(pair.prefix, pair.name);
            match self.offsets.get(&pair) {
                Some(offset) if shared.len() < SHARED_MAX => shared.push(U32::new(*offset)),
                _ => pair.write_short(&self.prefixes, &mut own),
            }
        }
        if shared.is_empty() && own.is_empty() {
            return Vec::new();
        }
        let header = XattrHeader {
            name_filter: U32::new(!filter),
            shared_count: shared.len() as u8,
            reserved: [0; 7],
        };
        [header.as_bytes(), shared.as_bytes(), &own].concat()
    }
}

/// Lists the attributes of a set that the image keeps, and counts the others, which `path` names.
fn kept<'a>(
    tree: &'a Tree,
    set: XattrSet,
    path: impl Fn(&[u8]) -> Vec<u8>,
    dropped: &mut DroppedXattrs,
) -> Vec<XattrPair<'a>> {
    let pairs = tree.xattrs().pairs(set);
    pairs
        .filter_map(|(name, value)| XattrPair::new(name, value, || path(name), dropped))
        .collect()
}

/// Lists the attributes of a set that the image keeps; the others were counted before.
fn unreported(tree: &Tree, set: XattrSet) -> Vec<XattrPair<'_>> {
    kept(tree, set, |_| Vec::new(), &mut DroppedXattrs::default())
}

/// Counts names by the bytes that storing them takes, each shared attribute once.
fn name_counts<'a>(counts: &HashMap<XattrPair<'a>, u32>) -> NameCounts<'a> {
    let mut names = NameCounts::new();
    for (pair, &count) in counts {
        let beyond = (pair.value.len() as u64 % XATTR_WORD) as u8;
        let times = if pair.is_shared(count) { 1 } else { count };
        let known = names.entry((pair.prefix, pair.name, beyond)).or_default();
        *known = u64::from(times).saturating_add(*known);
    }
    names
}

/// Returns the field of an inode for the given number of bytes of attributes.
///
/// # Errors
///
/// `Limit` if they are too many.
pub(crate) fn count_field(len: u64) -> Result<u16> {
    let words = len.saturating_sub(size_of::<XattrHeader>() as u64) / XATTR_WORD;
    match len {
        0 => Ok(0),
        _ => u16::try_from(words + 1)
            .map_err(|_| Error::limit("256 KiB of extended attributes of one file")),
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Content, Meta, NodeId, TreeBuilder};

    use super::*;

    #[test]
    fn common_xattrs_are_shared() {
        let mut builder = TreeBuilder::new(Meta::default());
        let long = vec![b'l'; 2000];
        let mut add = |name: &str, pairs: &[(&str, &[u8])]| {
            let id = builder
                .add(
                    NodeId::ROOT,
                    name.as_bytes(),
                    Meta::default(),
                    Content::Fifo,
                )
                .unwrap();
            let mut pairs: Vec<_> = pairs
                .iter()
                .map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()))
                .collect();
            builder.set_xattrs(id, &mut pairs).unwrap();
        };
        let acl: (&str, &[u8]) = ("system.posix_acl_access", b"ACL!");
        for name in ["a", "b", "c"] {
            add(name, &[acl]);
        }
        add("d", &[acl, ("user.x", b"y")]);
        add(
            "e",
            &[("btrfs.x", b"y"), ("user.", b""), ("trusted.t", &long)],
        );
        // with its prefix, the name is longer than what is read
        let name = format!("user.{}", "n".repeat(251));
        add("f", &[("user.big", &vec![0; 65_536]), (&name, b"")]);
        let tree = builder.finish().unwrap();
        let xattrs = Xattrs::new(&tree, None).unwrap();
        let dropped = &xattrs.dropped;
        assert_eq!((dropped.foreign, dropped.long.count), (2, 2));
        assert_eq!(dropped.long.paths[0], b"f: user.big");
        assert_eq!(xattrs.shared[..8], *b"\0\x02\x04\0ACL!");
        assert_eq!(xattrs.shared.len(), 8 + 8 + 2000);
        let inline: Vec<_> = tree
            .nodes()
            .iter()
            .map(|node| xattrs.inline(node.xattrs))
            .collect();
        let header = |filter: u32| {
            let shared = [1, 0, 0, 0, 0, 0, 0, 0];
            [&(!filter).to_le_bytes()[..], &shared].concat()
        };
        let (acl, x, t) = (filter_bit(2, b""), filter_bit(1, b"x"), filter_bit(4, b"t"));
        assert_eq!(inline[1], [&header(acl)[..], &[0; 4]].concat());
        assert_eq!(
            inline[4],
            [&header(acl | x)[..], &[0; 4], b"\x01\x01\x01\0xy\0\0"].concat()
        );
        assert_eq!(inline[5], [&header(t)[..], &[2, 0, 0, 0]].concat());
        assert!(inline[0].is_empty() && inline[6].is_empty());
        assert_eq!(
            (
                count_field(0).unwrap(),
                count_field(12).unwrap(),
                count_field(24).unwrap()
            ),
            (0, 1, 4)
        );
        assert!(count_field(12 + 4 * 65_535).is_err());
    }
}
