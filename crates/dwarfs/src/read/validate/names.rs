//! Validates names, their strict order within directories, and that symlink targets can be decoded.

use std::ops::Range;

use sinterfs_model::{Error, Result};

use crate::read::fsst::FsstScratch;
use crate::read::metadata::Metadata;
use crate::read::strings::undecodable;

/// Validates all names and the order of all directories.
pub(super) fn check(metadata: &Metadata) -> Result<()> {
    if metadata.names.len() > metadata.entries.name.len() {
        return Err(Error::corrupt("more names than directory entries"));
    }
    let sorted = check_names(metadata)?;
    check_directories(metadata, sorted)?;
    check_targets(metadata)
}

/// Checks that all symlink targets can be decoded; any content is valid.
fn check_targets(metadata: &Metadata) -> Result<()> {
    let mut scratch = FsstScratch::default();
    (0..metadata.symlinks.len()).try_for_each(|index| {
        let target = metadata.symlinks.get(&metadata.data, index, &mut scratch);
        target.map(drop).ok_or_else(|| undecodable(index))
    })
}

/// Validates all names; returns whether the table is sorted.
fn check_names(metadata: &Metadata) -> Result<bool> {
    let data: &[u8] = &metadata.data;
    let mut sorted = true;
    let (mut before, mut scratch) = (Vec::new(), FsstScratch::default());
    for index in 0..metadata.names.len() {
        let name = metadata.names.get(data, index, &mut scratch);
        let name = name.ok_or_else(|| undecodable(index))?;
        check_name(name, index)?;
        if sorted {
            sorted = index == 0 || *before < *name;
            before.clear();
            before.extend_from_slice(name);
        }
    }
    Ok(sorted)
}

fn check_name(name: &[u8], index: u64) -> Result<()> {
    if has_separator(name) || matches!(name, b"" | b"." | b"..") {
        let name = name.escape_ascii();
        return Err(Error::corrupt(format!(
            "name {index}, \"{name}\", is not a valid file name"
        )));
    }
    Ok(())
}

/// Returns whether the name contains `/` or zero; examines eight bytes at once.
fn has_separator(name: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    const SLASHES: u64 = u64::from_le_bytes([b'/'; 8]);
    // sets the high bit of the lowest zero byte, if there is one
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH_BITS;
    let (words, rest) = name.as_chunks::<8>();
    let found = words.iter().fold(0, |found, word| {
        let word = u64::from_le_bytes(*word);
        found | zero(word) | zero(word ^ SLASHES)
    });
    found != 0 || rest.iter().any(|byte| matches!(byte, b'/' | 0))
}

/// Checks the order in all directories: by the names' indexes if the table is sorted, else by the
/// names themselves.
fn check_directories(metadata: &Metadata, sorted: bool) -> Result<()> {
    let data: &[u8] = &metadata.data;
    let mut order = NameOrder {
        metadata,
        before: Vec::new(),
        scratch: FsstScratch::default(),
    };
    let directories = metadata.first_entry.len().saturating_sub(1);
    let mut start = u64::from(metadata.first_entry.get(data, 0));
    for directory in 0..directories {
        let end = u64::from(metadata.first_entry.get(data, directory.saturating_add(1)));
        let wrong = if sorted {
            order.by_number(start..end)
        } else {
            order.by_name(start..end)?
        };
        if let Some(entry) = wrong {
            let name = metadata.entries.name.get(data, entry);
            let names = metadata.names.len();
            return Err(Error::corrupt(if name >= names {
                format!("entry {entry} has name {name} of {names}")
            } else {
                format!("the names of directory {directory} are not in order at entry {entry}")
            }));
        }
        start = end;
    }
    Ok(())
}

/// Finds the first entry of a directory that does not follow the one before, or has no name.
struct NameOrder<'a> {
    metadata: &'a Metadata,
    before: Vec<u8>,
    scratch: FsstScratch,
}

impl NameOrder<'_> {
    fn by_number(&self, entries: Range<u64>) -> Option<u64> {
        let column = &self.metadata.entries.name;
        let names = self.metadata.names.len();
        // one more than the index before
        let mut least = 0;
        for entry in entries {
            let number = column.get(&self.metadata.data, entry);
            if number < least || number >= names {
                return Some(entry);
            }
            least = number.saturating_add(1);
        }
        None
    }

    fn by_name(&mut self, entries: Range<u64>) -> Result<Option<u64>> {
        let data: &[u8] = &self.metadata.data;
        let first = entries.start;
        for entry in entries {
            let number = self.metadata.entries.name.get(data, entry);
            if number >= self.metadata.names.len() {
                return Ok(Some(entry));
            }
            let name = self.metadata.names.get(data, number, &mut self.scratch);
            let name = name.ok_or_else(|| undecodable(number))?;
            if entry != first && *self.before >= *name {
                return Ok(Some(entry));
            }
            self.before.clear();
            self.before.extend_from_slice(name);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_found_at_every_place() {
        for len in 0..40 {
            let name: Vec<u8> = (0..len)
                .map(|at| [b'.', b'0', 1, 0x80, 0xff, b'a'][at % 6])
                .collect();
            assert!(!has_separator(&name));
            for at in 0..len {
                for byte in [0, b'/'] {
                    let mut name = name.clone();
                    name[at] = byte;
                    assert!(has_separator(&name), "{len} {at}");
                }
            }
        }
    }

    #[test]
    fn names_that_mean_directories_are_refused() {
        for name in [&b""[..], b".", b"..", b"a/b", b"a\0"] {
            assert!(check_name(name, 0).is_err());
        }
        for name in [&b"..."[..], b". ", b"\xff", b"\\"] {
            assert!(check_name(name, 0).is_ok());
        }
    }
}
