//! The extended attributes of an image, if it has a section for them.
//!
//! In: the section's content and the hash of the metadata. Out: the attributes of an inode.
//!
//! **Invariant:** attributes are returned only if the whole section is valid and belongs to the
//! image's metadata; otherwise the image is read as one without attributes, and [`XattrState`] has
//! the reason: other tools rewrite metadata and keep the section unchanged.
//! Spec: `docs/formats/dwarfs-extensions.md`.

use std::ops::Range;

use sinterfs_block::Bytes;
use sinterfs_model::{Error, Result, Xattrs};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use crate::layout::xattrs::{MAGIC, Pair, VERSION, XattrTableHeader, XattrTableRow, is_name};

/// The state of an image's extended attributes.
#[derive(Debug, Default)]
pub(crate) enum XattrState {
    /// There is no section.
    #[default]
    Absent,
    /// The section is valid.
    Sound(XattrTable),
    /// The section belongs to other metadata.
    Stale,
    /// The section is damaged or of a later version.
    Unusable(Error),
}

/// The attributes of all inodes.
#[derive(Debug)]
pub(crate) struct XattrTable {
    bytes: Bytes,
    rows: Range<usize>,
    starts: Range<usize>,
}

impl XattrState {
    /// Validates a section's content; `metadata` is the hash of the metadata, `inodes` its number
    /// of inodes.
    pub(super) fn from_section(content: Result<Bytes>, metadata: u64, inodes: u64) -> Result<Self> {
        match content.and_then(|bytes| XattrTable::open(bytes, metadata, inodes)) {
            Ok(Some(table)) => Ok(Self::Sound(table)),
            Ok(None) => Ok(Self::Stale),
            Err(error) if error.kind() == sinterfs_model::Kind::Io => Err(error),
            Err(error) => Ok(Self::Unusable(error)),
        }
    }

    /// Returns the reason why the section cannot be used; `None` if it can, or if there is none.
    pub(super) fn unusable_reason(&self) -> Option<Error> {
        match self {
            Self::Absent | Self::Sound(_) => None,
            Self::Stale => Some(Error::corrupt(
                "the extended attributes belong to other metadata: another tool changed the \
                 image; it is read as one without",
            )),
            Self::Unusable(why) => Some(Error::corrupt(format!(
                "the extended attributes cannot be used, the image is read as one without: {}",
                why.what()
            ))),
        }
    }

    /// Returns the attributes, if the section is valid.
    pub(crate) fn table(&self) -> Option<&XattrTable> {
        match self {
            Self::Sound(table) => Some(table),
            _ => None,
        }
    }
}

impl XattrTable {
    /// Validates a section; `None` if it belongs to other metadata.
    fn open(bytes: Bytes, metadata: u64, inodes: u64) -> Result<Option<Self>> {
        let (header, rest) = XattrTableHeader::ref_from_prefix(&bytes)
            .map_err(|_| Error::corrupt("the header is incomplete"))?;
        if header.magic != MAGIC {
            return Err(Error::corrupt("wrong magic of the extended attributes"));
        }
        if header.version.get() != VERSION {
            let version = header.version.get();
            return Err(Error::unsupported(format!("version {version}")));
        }
        if header.metadata.get() != metadata {
            return Ok(None);
        }
        let cut = || Error::corrupt("the tables end after the section");
        let (rows, rest) =
            <[XattrTableRow]>::ref_from_prefix_with_elems(rest, to_index(header.inodes))
                .map_err(|_| cut())?;
        let count = to_index(header.sets);
        let (starts, sets) = <[U32]>::ref_from_prefix_with_elems(rest, count.saturating_add(1))
            .map_err(|_| cut())?;
        let ascends = rows.is_sorted_by(|one, next| one.inode.get() < next.inode.get());
        let known =
            |row: &XattrTableRow| u64::from(row.inode.get()) < inodes && to_index(row.set) < count;
        if !ascends || !rows.iter().all(known) {
            return Err(Error::corrupt("unknown or unsorted inodes or sets"));
        }
        let end = starts.last().map_or(0, |end| to_index(*end));
        if starts.first().is_some_and(|start| start.get() != 0) || end != sets.len() {
            return Err(Error::corrupt("sets that do not fill the section"));
        }
        for (start, end) in starts.iter().zip(starts.iter().skip(1)) {
            let set = sets.get(to_index(*start)..to_index(*end));
            validate_set(set.ok_or_else(|| Error::corrupt("a set that ends before it starts"))?)?;
        }
        let rows_at = size_of::<XattrTableHeader>();
        let starts_at = rows_at + size_of_val(rows);
        let sets_at = starts_at + size_of_val(starts);
        Ok(Some(Self {
            rows: rows_at..starts_at,
            starts: starts_at..sets_at,
            bytes,
        }))
    }

    /// Returns the number of inodes with attributes.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() / size_of::<XattrTableRow>()
    }

    /// Returns the attributes of an inode.
    pub(super) fn of_inode(&self, inode: u64) -> Xattrs {
        let rows =
            <[XattrTableRow]>::ref_from_bytes(self.part(self.rows.clone())).unwrap_or_default();
        let found = rows.binary_search_by_key(&inode, |row| row.inode.get().into());
        let Some(row) = found.ok().and_then(|index| rows.get(index)) else {
            return Xattrs::new();
        };
        let starts = <[U32]>::ref_from_bytes(self.part(self.starts.clone())).unwrap_or_default();
        let set = to_index(row.set);
        let at = |index: usize| starts.get(index).map_or(0, |start| to_index(*start));
        let sets = self.part(self.starts.end..self.bytes.len());
        let set = sets
            .get(at(set)..at(set.saturating_add(1)))
            .unwrap_or_default();
        let pairs = Pairs { rest: set }.flatten();
        pairs
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect()
    }

    fn part(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Converts a stored index or length; one beyond the address space matches nothing.
fn to_index(value: U32) -> usize {
    usize::try_from(value.get()).unwrap_or(usize::MAX)
}

fn validate_set(set: &[u8]) -> Result<()> {
    let mut before: &[u8] = b"";
    for pair in (Pairs { rest: set }) {
        let (name, _) = pair?;
        if !is_name(name) {
            return Err(Error::corrupt("an invalid attribute name"));
        }
        if name <= before {
            return Err(Error::corrupt("attribute names are not sorted"));
        }
        before = name;
    }
    Ok(())
}

/// The attributes of a set; ends after the first error.
struct Pairs<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a [u8], &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        let split = || {
            let (pair, rest) = Pair::ref_from_prefix(rest).ok()?;
            let (name, rest) = rest.split_at_checked(to_index(pair.name))?;
            let (value, rest) = rest.split_at_checked(to_index(pair.value))?;
            Some((name, value, rest))
        };
        let Some((name, value, rest)) = split() else {
            return Some(Err(Error::corrupt("an attribute exceeds its set")));
        };
        self.rest = rest;
        Some(Ok((name, value)))
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{XattrSet, XattrSets};

    use super::*;
    use crate::write::xattrs::encode;

    fn pair(name: &str, value: &[u8]) -> (Vec<u8>, Vec<u8>) {
        (name.as_bytes().to_vec(), value.to_vec())
    }

    fn content() -> Vec<u8> {
        let mut sets = XattrSets::default();
        let acl = [
            pair("system.posix_acl_access", &[7; 44]),
            pair("user.b", b""),
        ];
        let two = sets.intern(&mut acl.clone()).unwrap();
        let one = sets
            .intern(&mut [pair("security.capability", b"\x01\0")])
            .unwrap();
        let rows: [(u32, XattrSet); 3] = [(0, one), (3, two), (9, one)];
        encode(&rows, &sets, XattrTableHeader::hash(b"schema", b"tables")).unwrap()
    }

    fn open(bytes: Vec<u8>) -> XattrState {
        let hash = XattrTableHeader::hash(b"schema", b"tables");
        XattrState::from_section(Ok(Bytes::from(bytes)), hash, 10).unwrap()
    }

    #[test]
    fn attributes_of_inodes_come_back() {
        let state = open(content());
        let table = state.table().unwrap();
        assert_eq!(table.len(), 3);
        assert_eq!(table.of_inode(0), [pair("security.capability", b"\x01\0")]);
        assert_eq!(table.of_inode(9), table.of_inode(0));
        assert_eq!(
            table.of_inode(3)[0],
            pair("system.posix_acl_access", &[7; 44])
        );
        assert_eq!(table.of_inode(3)[1], pair("user.b", b""));
        for inode in [1, 4, 10, u64::MAX] {
            assert!(table.of_inode(inode).is_empty());
        }
    }

    #[test]
    fn names_that_no_system_knows_are_left_out() {
        let mut sets = XattrSets::default();
        let long = "user.".to_owned() + &"n".repeat(251);
        let odd = ["", "user.a\0b", &long, "user.fine"].map(|name| pair(name, b"v"));
        let set = sets.intern(&mut odd.clone()).unwrap();
        let only = sets.intern(&mut odd[..1].to_vec()).unwrap();
        let hash = XattrTableHeader::hash(b"schema", b"tables");
        let encoded = encode(&[(2, set), (3, only)], &sets, hash).unwrap();
        let state = open(encoded);
        let table = state.table().unwrap();
        assert_eq!(table.of_inode(2), [pair("user.fine", b"v")]);
        assert!(table.of_inode(3).is_empty());
    }

    #[test]
    fn other_metadata_makes_them_stale() {
        let bytes = Bytes::from(content());
        assert!(matches!(
            XattrState::from_section(Ok(bytes), 5, 10).unwrap(),
            XattrState::Stale
        ));
    }

    #[test]
    fn no_damage_is_taken_for_attributes_of_other_inodes() {
        let sound = content();
        for len in 0..sound.len() {
            let state = open(sound[..len].to_vec());
            assert!(matches!(state, XattrState::Unusable(_)), "cut at {len}");
        }
        for at in 0..sound.len() {
            for bit in 0..8 {
                let mut bytes = sound.clone();
                bytes[at] ^= 1 << bit;
                if let XattrState::Sound(table) = open(bytes) {
                    for inode in 0..10 {
                        table.of_inode(inode);
                    }
                }
            }
        }
        let longer = [&sound[..], b"x"].concat();
        assert!(matches!(open(longer), XattrState::Unusable(_)));
    }
}
