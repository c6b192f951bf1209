//! Long prefixes of names of extended attributes: what many names begin with is stored once.
//!
//! In: the names as they will be stored. Out: the prefixes, and the table for readers.
//! **Invariant:** the choice depends only on the names. Format: `docs/formats/erofs.md`, "Attribute
//! names".

use std::collections::BTreeMap;

use sinterfs_model::{Error, Result};

use super::limits::BLOCK;
use super::xattr_name::split_prefix;
use crate::layout::{XATTR_WORD, XattrEntry};

/// The most prefixes that the writer chooses.
const MAX_PREFIXES: usize = 16;

/// The most prefixes that a user can choose: one bit of a prefix number marks a long prefix.
const GIVEN_MOST: usize = XattrEntry::LONG_PREFIX as usize;

/// The most bytes of the table, so that it fits into the first block.
const TABLE_MAX: usize = 2048;

/// The longest part of a prefix after the short one.
const INFIX_MAX: usize = u8::MAX as usize - 1;

/// A long prefix: the number of a short one and what follows that.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Prefix {
    base: u8,
    infix: Vec<u8>,
}

/// The long prefixes of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct XattrPrefixes(Vec<Prefix>);

/// The frequency of names: by the number of the short prefix, the rest of the name, and the bytes
/// of the value beyond a word, which decide whether shortening the name saves a word.
pub(super) type NameCounts<'a> = BTreeMap<(u8, &'a [u8], u8), u64>;

impl XattrPrefixes {
    /// Adds a prefix that a user chose.
    ///
    /// # Errors
    ///
    /// `Invalid` for what no name can begin with, `Limit` for too many.
    pub fn add(&mut self, name: &str) -> Result<()> {
        let split = split_prefix(name.as_bytes());
        let split = split.filter(|(_, infix)| (1..=INFIX_MAX).contains(&infix.len()));
        let (base, infix) = split.ok_or_else(|| {
            Error::invalid(format!(
                "`{name}`: a long prefix begins with user., trusted. or security. and has at most \
                 {INFIX_MAX} bytes more"
            ))
        })?;
        let infix = infix.to_vec();
        self.0.push(Prefix { base, infix });
        self.0.sort();
        self.0.dedup();
        if self.0.len() <= GIVEN_MOST && self.table().len() <= TABLE_MAX {
            return Ok(());
        }
        Err(Error::limit(format!(
            "{} long prefixes: at most {GIVEN_MOST}, in {TABLE_MAX} bytes",
            self.0.len()
        )))
    }

    /// Chooses prefixes that make the image smaller by a block at least; none if there are no such.
    pub(super) fn choose(mut names: NameCounts<'_>) -> Self {
        let (mut all, mut saved) = (Self::default(), 0);
        while all.0.len() < MAX_PREFIXES {
            let Some((prefix, gain)) = best_prefix(&names) else {
                break;
            };
            let cost = prefix.row().len() as u64;
            if gain <= 2 * cost || all.table().len() as u64 + cost > TABLE_MAX as u64 {
                break;
            }
            names.retain(|&(base, name, _), _| !prefix.begins(base, name));
            saved += gain - cost;
            all.0.push(prefix);
        }
        if saved >= BLOCK { all } else { Self::default() }
    }

    /// Returns how a name is stored: the number of its prefix, and the rest.
    pub(super) fn shorten<'a>(&self, base: u8, name: &'a [u8]) -> (u8, &'a [u8]) {
        let known = self.0.iter().zip(0..);
        let fitting = known.filter(|(prefix, _)| prefix.begins(base, name));
        let longest = fitting.max_by_key(|(prefix, _)| prefix.infix.len());
        longest.map_or((base, name), |(prefix, number): (_, u8)| {
            let rest = name.get(prefix.infix.len()..).unwrap_or_default();
            (XattrEntry::LONG_PREFIX | number, rest)
        })
    }

    /// Returns the number of prefixes.
    pub(super) fn count(&self) -> u8 {
        self.0.len() as u8
    }

    /// Makes the table; empty without prefixes.
    pub(super) fn table(&self) -> Vec<u8> {
        self.0.iter().flat_map(Prefix::row).collect()
    }
}

impl Prefix {
    fn begins(&self, base: u8, name: &[u8]) -> bool {
        self.base == base && name.starts_with(&self.infix)
    }

    /// Makes the row of the table.
    fn row(&self) -> Vec<u8> {
        let mut row = (self.infix.len() as u16 + 1).to_le_bytes().to_vec();
        row.push(self.base);
        row.extend_from_slice(&self.infix);
        row.resize(row.len().next_multiple_of(XATTR_WORD as usize), 0);
        row
    }
}

/// Returns the prefix that saves most, and how many bytes: whole names, and their parts up to a
/// dot.
fn best_prefix(names: &NameCounts<'_>) -> Option<(Prefix, u64)> {
    let mut gains: BTreeMap<(u8, &[u8]), u64> = BTreeMap::new();
    for (&(base, name, beyond), &count) in names {
        let dots = name.iter().enumerate().filter(|(_, byte)| **byte == b'.');
        let ends = dots.map(|(at, _)| at + 1).chain([name.len()]);
        let len = |name: usize| (name + usize::from(beyond)).next_multiple_of(XATTR_WORD as usize);
        let mut last = 0;
        for end in ends.filter(|end| (1..=INFIX_MAX).contains(end)) {
            if end == last {
                continue;
            }
            last = end;
            let gain = (len(name.len()) - len(name.len() - end)) as u64 * count;
            let known = gains.entry((base, name.get(..end)?)).or_default();
            *known = known.saturating_add(gain);
        }
    }
    let best = gains.into_iter().max_by_key(|&(_, gain)| gain);
    best.map(|((base, infix), gain)| {
        let infix = infix.to_vec();
        (Prefix { base, infix }, gain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_that_save_space_are_chosen() {
        let overlay: &[u8] = b"overlay.metacopy";
        let mut names = NameCounts::new();
        names.insert((4, overlay, 0), 1000);
        names.insert((4, b"overlay.redirect", 1), 900);
        names.insert((1, b"rare.name", 2), 3);
        names.insert((2, b"", 0), 5000);
        let chosen = XattrPrefixes::choose(names.clone());
        assert_eq!(chosen.shorten(4, overlay), (0x80, &b""[..]));
        assert_eq!(chosen.shorten(4, b"overlay.redirect"), (0x81, &b""[..]));
        assert_eq!(chosen.shorten(1, b"rare.name"), (1, &b"rare.name"[..]));
        assert_eq!(chosen.shorten(1, overlay), (1, overlay));
        assert_eq!(chosen.table()[..8], *b"\x11\0\x04overl");
        assert_eq!(chosen.table().len(), 40);
        names.values_mut().for_each(|count| *count /= 100);
        assert_eq!(XattrPrefixes::choose(names), XattrPrefixes::default());
    }

    #[test]
    fn given_prefixes_are_used() {
        let asked = |names: &[&str]| {
            let mut prefixes = XattrPrefixes::default();
            let mut names = names.iter();
            names.try_for_each(|name| prefixes.add(name))?;
            Ok::<_, Error>(prefixes)
        };
        let prefixes = asked(&["user.my.", "user.my.own.", "security.selinux", "user.my."]);
        let prefixes = prefixes.unwrap();
        assert_eq!(prefixes.count(), 3);
        assert_eq!(prefixes.shorten(1, b"my.own.x"), (0x81, &b"x"[..]));
        assert_eq!(prefixes.shorten(1, b"my.x"), (0x80, &b"x"[..]));
        assert_eq!(prefixes.shorten(6, b"selinux"), (0x82, &b""[..]));
        for wrong in ["", "user.", "btrfs.x", "system.posix_acl_access"] {
            assert!(asked(&[wrong]).is_err(), "{wrong}");
        }
        assert!(asked(&[&format!("user.{}", "n".repeat(255))]).is_err());
        let many: Vec<_> = (0..129).map(|n| format!("user.{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(asked(&many[..128]).is_ok() && asked(&many).is_err());
    }
}
