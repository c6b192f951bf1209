//! Writes extended attributes: each distinct set once, each distinct long value once.
//!
//! In: the sets of a tree's nodes. Out: names and values, and a table of lists, to which inodes
//! refer by index. **Invariant:** sets are in the order of their first use by the nodes; time and
//! memory are linear in the sets. Memory: 4 bytes per set, some 100 per stored set and per value
//! longer than 8 bytes. Format: `docs/formats/squashfs.md`, "Extended attributes".

#![expect(
    clippy::cast_possible_truncation,
    reason = "the tree bounds names to 64 KiB, values to 4 GiB and sets to 32 bits"
)]

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use sinterfs_model::{Error, Loss, NodeId, Result, Tree, XattrSet};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

use super::stream::{Encoder, MetadataStream};
use crate::layout::{
    NO_XATTR, XATTR_PAIR_COST, XATTR_TOTAL_MAX, XATTR_VALUE_MAX, XattrEntry, XattrId, XattrKind,
    XattrValue,
};

/// The length of a reference to an out-of-line value: only longer values are shared.
const REFERENCE: u32 = 8;

/// The supported prefixes.
const PREFIXES: [(&[u8], u16); 3] = [
    (b"user.", XattrKind::USER),
    (b"trusted.", XattrKind::TRUSTED),
    (b"security.", XattrKind::SECURITY),
];

/// The attributes that the image does not keep, counted per inode.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dropped {
    /// POSIX ACLs.
    acls: u64,
    /// Names with any other unsupported prefix.
    others: u64,
    /// Those that are too large for readers.
    large: Loss,
}

impl Default for Dropped {
    fn default() -> Self {
        Self {
            acls: 0,
            others: 0,
            large: Loss::entries(
                "extended attributes with values above 64 KiB, or beyond 16 MiB of an inode",
            ),
        }
    }
}

impl Dropped {
    /// Returns the losses to report.
    pub(super) fn into_losses(self) -> Vec<Loss> {
        let mut losses = Loss::counted([
            ("POSIX ACLs", self.acls),
            (
                "extended attributes that are not in user, trusted or security",
                self.others,
            ),
        ]);
        losses.extend(Loss::happened([self.large]));
        losses
    }
}

/// The handling of an attribute.
enum Fate<'a> {
    /// It is stored: prefix, rest of the name, value.
    Kept(u16, &'a [u8], &'a [u8]),
    Acl,
    Foreign,
    /// Our reader, and Linux, would refuse it; its name.
    Large(&'a [u8]),
}

/// Returns what becomes of each attribute of a set.
fn fates(tree: &Tree, set: XattrSet) -> impl Iterator<Item = Fate<'_>> {
    let mut total = 0;
    tree.xattrs().pairs(set).map(move |(name, value)| {
        let split = |&(prefix, kind)| Some((kind, name.strip_prefix(prefix)?));
        let Some((kind, rest)) = PREFIXES.iter().find_map(split) else {
            return if name.starts_with(b"system.posix_acl_") {
                Fate::Acl
            } else {
                Fate::Foreign
            };
        };
        let needed = name.len() + value.len() + XATTR_PAIR_COST;
        if value.len() > XATTR_VALUE_MAX as usize || total + needed > XATTR_TOTAL_MAX {
            return Fate::Large(name);
        }
        total += needed;
        Fate::Kept(kind, rest, value)
    })
}

/// The sets of an image.
#[derive(Debug)]
pub(super) struct Xattrs<'a> {
    tree: &'a Tree,
    stream: MetadataStream<'a>,
    /// The index of each set of the tree; 0 means no attributes.
    indexes: Vec<u32>,
    /// The records of the table of lists.
    pub(super) table: Vec<XattrId>,
    pub(super) dropped: Dropped,
    /// Stored sets by the hash of their supported attributes.
    known: HashMap<u64, Vec<(XattrSet, u32)>>,
    /// Stored values by hash: the set and pair of the value, and its position.
    values: HashMap<u64, Vec<(XattrSet, u32, u64)>>,
}

impl<'a> Xattrs<'a> {
    /// Stores the attributes of all nodes.
    pub(super) fn new(tree: &'a Tree, encoder: Encoder<'a>) -> Result<Self> {
        let mut xattrs = Self {
            tree,
            stream: MetadataStream::new(encoder),
            indexes: vec![NO_XATTR; tree.xattrs().count() as usize + 1],
            table: Vec::new(),
            dropped: Dropped::default(),
            known: HashMap::new(),
            values: HashMap::new(),
        };
        let mut seen = vec![None; xattrs.indexes.len()];
        for (node, id) in tree.nodes().iter().zip(0..) {
            let set = node.xattrs;
            if set.is_none() {
                continue;
            }
            let slot = set.0 as usize;
            let dropped = match seen.get(slot).copied().flatten() {
                Some(dropped) => dropped,
                None => {
                    let is_kept = |fate: Fate<'_>| matches!(fate, Fate::Kept(..));
                    let dropped = !fates(tree, set).all(is_kept);
                    let index = xattrs.store(set)?;
                    let (Some(seen), Some(slot)) =
                        (seen.get_mut(slot), xattrs.indexes.get_mut(slot))
                    else {
                        return Err(Error::invalid(
                            "an attribute set that the tree does not have",
                        ));
                    };
                    (*seen, *slot) = (Some(dropped), index);
                    dropped
                }
            };
            if dropped {
                xattrs.count_dropped(NodeId(id), set);
            }
        }
        xattrs.stream.end()?;
        (xattrs.known, xattrs.values) = (HashMap::new(), HashMap::new());
        Ok(xattrs)
    }

    /// Returns the index of a set, or `NO_XATTR`.
    pub(super) fn index(&self, set: XattrSet) -> u32 {
        let index = self.indexes.get(set.0 as usize);
        index.copied().unwrap_or(NO_XATTR)
    }

    /// Takes the encoded names and values.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.stream.take()
    }

    /// Returns the supported attributes of a set: prefix, rest of the name, value.
    fn kept(tree: &Tree, set: XattrSet) -> impl Iterator<Item = (u16, &[u8], &[u8])> {
        fates(tree, set).filter_map(|fate| match fate {
            Fate::Kept(kind, rest, value) => Some((kind, rest, value)),
            _ => None,
        })
    }

    /// Counts the attributes of a node that are not kept.
    fn count_dropped(&mut self, node: NodeId, set: XattrSet) {
        for fate in fates(self.tree, set) {
            match fate {
                Fate::Kept(..) => {}
                Fate::Acl => self.dropped.acls += 1,
                Fate::Foreign => self.dropped.others += 1,
                Fate::Large(name) => {
                    let tree = self.tree;
                    self.dropped.large.add(|| tree.attribute_path(node, name));
                }
            }
        }
    }

    /// Stores a set unless an equal one is stored; returns its index.
    fn store(&mut self, set: XattrSet) -> Result<u32> {
        let tree = self.tree;
        if Self::kept(tree, set).next().is_none() {
            return Ok(NO_XATTR);
        }
        let mut hasher = DefaultHasher::new();
        Self::kept(tree, set).for_each(|pair| pair.hash(&mut hasher));
        let hash = hasher.finish();
        let same = self.known.get(&hash).into_iter().flatten();
        for &(other, index) in same {
            if Self::kept(tree, other).eq(Self::kept(tree, set)) {
                return Ok(index);
            }
        }
        let position = self.stream.position();
        let (mut count, mut size) = (0u32, 0u64);
        for (number, (kind, name, value)) in (0..).zip(Self::kept(tree, set)) {
            let prefix = PREFIXES.iter().find(|(_, other)| *other == kind);
            let prefix = prefix.map_or(0, |(prefix, _)| prefix.len());
            count += 1;
            size += (prefix + name.len() + 1 + value.len()) as u64;
            self.pair(set, number, (kind, name, value))?;
        }
        self.stream.encode_full()?;
        let size = u32::try_from(size);
        let size = size.map_err(|_| Error::limit("4 GiB of attributes of one file"))?;
        let index = self.table.len() as u32;
        self.table.push(XattrId {
            list: self.stream.resolve(position)?,
            count: U32::new(count),
            size: U32::new(size),
        });
        self.known.entry(hash).or_default().push((set, index));
        Ok(index)
    }

    fn pair(&mut self, set: XattrSet, number: u32, pair: (u16, &[u8], &[u8])) -> Result<()> {
        let (kind, name, value) = pair;
        let len = value.len() as u32;
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let hash = hasher.finish();
        let stored = if len > REFERENCE {
            self.stored_value(hash, value)
        } else {
            None
        };
        let bit = stored.map_or(0, |_| XattrKind::OUT_OF_LINE);
        let entry = XattrEntry {
            kind: XattrKind(U16::new(kind | bit)),
            name_len: U16::new(name.len() as u16),
        };
        self.stream.push(entry.as_bytes())?;
        self.stream.push(name)?;
        if let Some(position) = stored {
            self.stream.encode_full()?;
            let reference = self.stream.resolve(position)?;
            self.stream
                .push(XattrValue(U32::new(REFERENCE)).as_bytes())?;
            return self.stream.push(reference.as_bytes());
        }
        if len > REFERENCE {
            let place = (set, number, self.stream.position());
            self.values.entry(hash).or_default().push(place);
        }
        self.stream.push(XattrValue(U32::new(len)).as_bytes())?;
        self.stream.push(value)
    }

    fn stored_value(&self, hash: u64, value: &[u8]) -> Option<u64> {
        let places = self.values.get(&hash)?;
        let is_same = |&&(set, number, _): &&(XattrSet, u32, u64)| {
            let mut pairs = Self::kept(self.tree, set);
            pairs
                .nth(number as usize)
                .is_some_and(|(_, _, other)| other == value)
        };
        places
            .iter()
            .find(is_same)
            .map(|&(_, _, position)| position)
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Content, Meta, NodeId, TreeBuilder};

    use super::*;
    use crate::write::Compression;

    fn tree(files: &[&[(&str, &[u8])]]) -> Tree {
        let mut builder = TreeBuilder::new(Meta::default());
        for (index, pairs) in files.iter().enumerate() {
            let name = format!("{index:02}");
            let id = builder
                .add(
                    NodeId::ROOT,
                    name.as_bytes(),
                    Meta::default(),
                    Content::Fifo,
                )
                .unwrap();
            let pairs = pairs.iter();
            let mut pairs: Vec<_> = pairs
                .map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec()))
                .collect();
            builder.set_xattrs(id, &mut pairs).unwrap();
        }
        builder.finish().unwrap()
    }

    fn indexes(tree: &Tree) -> (Vec<u32>, Vec<u8>, Dropped) {
        let compression = Compression::default();
        let encoder = Encoder {
            compression: &compression,
            block_size: 1 << 17,
            raw: true,
            threads: 1,
        };
        let mut xattrs = Xattrs::new(tree, encoder).unwrap();
        let nodes = tree.nodes().iter().skip(1);
        let indexes = nodes.map(|node| xattrs.index(node.xattrs)).collect();
        let bytes = xattrs.take();
        (indexes, bytes, xattrs.dropped)
    }

    #[test]
    fn sets_that_become_equal_are_one_and_long_values_are_stored_once() {
        let long = [b'l'; 100];
        let acl: (&str, &[u8]) = ("system.posix_acl_access", b"acl");
        let tree = tree(&[
            &[("user.a", &long)],
            &[("user.a", &long), acl],
            &[("trusted.b", &long), ("user.c", b"short")],
            &[acl],
            &[],
            &[("btrfs.x", b""), ("user.c", b"short")],
        ]);
        let (indexes, bytes, dropped) = indexes(&tree);
        assert_eq!(indexes, [0, 0, 1, NO_XATTR, NO_XATTR, 2]);
        assert_eq!(
            (dropped.acls, dropped.others, dropped.large.count),
            (2, 1, 0)
        );
        let all = [
            &[109 + 1 + 21 + 10 + 10, 0x80][..],
            // user.a, inline
            &[0, 0, 1, 0, b'a', 100, 0, 0, 0],
            &long,
            // trusted.b, at the reference: block 0, offset 5
            &[1, 1, 1, 0, b'b', 8, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0],
            &[0, 0, 1, 0, b'c', 5, 0, 0, 0],
            b"short",
            &[0, 0, 1, 0, b'c', 5, 0, 0, 0],
            b"short",
        ]
        .concat();
        assert_eq!(bytes[2..], all[2..]);
    }

    #[test]
    fn reports_xattrs_that_readers_refuse() {
        let large = vec![b'v'; 70_000];
        let just = vec![b'v'; 65_536];
        let names: Vec<String> = (0..300).map(|n| format!("user.{n:03}")).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &*just)).collect();
        let tree = tree(&[&[("user.big", &large), ("user.ok", b"1")], &many]);
        let (indexes, _, dropped) = indexes(&tree);
        assert_eq!(indexes, [0, 1]);
        // 16 MiB have 255 of them, with what each costs
        assert_eq!(dropped.large.count, 1 + 300 - 255);
        assert_eq!(dropped.large.paths[0], b"00: user.big");
        assert_eq!(dropped.large.paths[1], b"01: user.255");
    }

    #[test]
    fn many_sets_take_linear_time() {
        let values: Vec<Vec<u8>> = (0..40_000u32)
            .map(|n| (n / 2).to_le_bytes().repeat(5))
            .collect();
        let mut builder = TreeBuilder::new(Meta::default());
        for (index, value) in values.iter().enumerate() {
            let name = format!("{index:06}");
            let id = builder
                .add(
                    NodeId::ROOT,
                    name.as_bytes(),
                    Meta::default(),
                    Content::Fifo,
                )
                .unwrap();
            let name = format!("user.{index}").into_bytes();
            builder
                .set_xattrs(id, &mut [(name, value.clone())])
                .unwrap();
        }
        let (indexes, bytes, _) = indexes(&builder.finish().unwrap());
        assert!(indexes.iter().copied().eq(0..40_000));
        // half of the values are references
        assert!(bytes.len() < 40_000 * (4 + 5 + 4) + 20_000 * (20 + 8) + 1000);
    }
}
