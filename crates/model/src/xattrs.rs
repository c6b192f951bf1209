//! Extended attributes of a tree: sets of full names and values, each stored once.
//!
//! **Invariant:** the pairs of a set are sorted bytewise by name, names are unique in a set, and
//! set 0 is empty. Equal sets have equal numbers. Numbers follow the order of interning, so no byte
//! of an image may depend on them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Error, Result};

/// The number of a set of extended attributes of one tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct XattrSet(pub u32);

impl XattrSet {
    /// The set of nodes without attributes.
    pub const NONE: Self = Self(0);

    /// Returns whether the set is empty.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// All sets of a tree.
#[derive(Debug, Clone, Default)]
pub struct XattrSets {
    /// Each set but the empty one: for every pair the lengths of name (u16) and value (u32), both
    /// little-endian, then the bytes of both.
    sets: Vec<Arc<[u8]>>,
    /// The number of each set; the bytes are shared with `sets`.
    numbers: HashMap<Arc<[u8]>, XattrSet>,
}

impl XattrSets {
    /// Stores a set and returns its number; sorts `pairs`.
    ///
    /// # Errors
    /// `Invalid` if a name occurs twice, `Limit` for a name of 64 KiB or a value of 4 GiB.
    pub fn intern(&mut self, pairs: &mut [(Vec<u8>, Vec<u8>)]) -> Result<XattrSet> {
        if pairs.is_empty() {
            return Ok(XattrSet::NONE);
        }
        pairs.sort_unstable();
        let adjacent = pairs.iter().zip(pairs.iter().skip(1));
        if let Some(((name, _), _)) = adjacent.into_iter().find(|(one, next)| one.0 == next.0) {
            let name = String::from_utf8_lossy(name).into_owned();
            return Err(Error::invalid(format!(
                "the extended attribute {name} occurs twice"
            )));
        }
        let mut bytes = Vec::new();
        for (name, value) in &*pairs {
            let name_len = u16::try_from(name.len());
            let name_len =
                name_len.map_err(|_| Error::limit("an attribute name of 64 KiB or more"))?;
            let value_len = u32::try_from(value.len());
            let value_len =
                value_len.map_err(|_| Error::limit("an attribute value of 4 GiB or more"))?;
            bytes.extend_from_slice(&name_len.to_le_bytes());
            bytes.extend_from_slice(&value_len.to_le_bytes());
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(value);
        }
        if let Some(&known) = self.numbers.get(&*bytes) {
            return Ok(known);
        }
        let number = u32::try_from(self.sets.len() + 1);
        let set =
            XattrSet(number.map_err(|_| Error::limit("more than 4294967295 attribute sets"))?);
        let bytes: Arc<[u8]> = bytes.into();
        self.sets.push(Arc::clone(&bytes));
        self.numbers.insert(bytes, set);
        Ok(set)
    }

    /// Returns the number of sets without the empty one; they are numbered from 1.
    pub fn count(&self) -> u32 {
        u32::try_from(self.sets.len()).unwrap_or(u32::MAX)
    }

    /// Returns the names and values of a set, sorted by name; none for a set of another tree.
    pub fn pairs(&self, set: XattrSet) -> XattrPairs<'_> {
        let index = (set.0 as usize).checked_sub(1);
        let bytes = index.and_then(|index| self.sets.get(index));
        XattrPairs {
            rest: bytes.map_or(&[], |bytes| bytes),
        }
    }
}

/// The names and values of one set.
#[derive(Debug, Clone)]
pub struct XattrPairs<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for XattrPairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name_len, rest) = self.rest.split_first_chunk::<2>()?;
        let (value_len, rest) = rest.split_first_chunk::<4>()?;
        let (name, rest) = rest.split_at(usize::from(u16::from_le_bytes(*name_len)));
        let (value, rest) = rest.split_at(u32::from_le_bytes(*value_len) as usize);
        self.rest = rest;
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &[u8]) -> (Vec<u8>, Vec<u8>) {
        (name.as_bytes().to_vec(), value.to_vec())
    }

    #[test]
    fn equal_sets_are_one() {
        let mut sets = XattrSets::default();
        assert_eq!(sets.intern(&mut []).unwrap(), XattrSet::NONE);
        let mut two = [pair("user.b", b""), pair("security.a", b"\0\xff")];
        let first = sets.intern(&mut two).unwrap();
        two.reverse();
        assert_eq!(sets.intern(&mut two).unwrap(), first);
        let other = sets.intern(&mut [pair("user.b", b"x")]).unwrap();
        assert_ne!(other, first);
        assert_eq!(sets.count(), 2);
        let shown: Vec<_> = sets.pairs(first).collect();
        assert_eq!(
            shown,
            [(&b"security.a"[..], &b"\0\xff"[..]), (b"user.b", b"")]
        );
        assert_eq!(sets.pairs(XattrSet::NONE).count(), 0);
        assert_eq!(sets.pairs(XattrSet(9)).count(), 0);
    }

    #[test]
    fn a_name_twice_is_refused() {
        let mut twice = [pair("user.a", b"1"), pair("user.a", b"2")];
        assert!(XattrSets::default().intern(&mut twice).is_err());
    }
}
