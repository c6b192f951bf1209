//! String tables: each string once, in one buffer, encoded with FSST if that is smaller.
//!
//! In: strings in the order of use. Out: the index of each, and the table in the requested form.
//! **Invariant:** indexes are in the order of first use, so the image does not depend on the hash
//! seed. Format: "Names and Symlinks String Table Packing" of dwarfs-format(5).

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "there are fewer strings than entries, and slots are at most twice as many"
)]

use std::hash::{BuildHasher, RandomState};

use sinterfs_model::{Error, Result};

use super::freeze::{Column, Items, Value};
use super::fsst::{Cuts, train};
use super::options::StringPacking;
use crate::layout::metadata::string_table;

/// Numbers strings in the order of first use. Takes 8 to 16 bytes per string, in addition to its
/// reference.
#[derive(Debug)]
pub(super) struct Interner<'s> {
    strings: Vec<&'s [u8]>,
    /// Open addressing: index plus one, or zero. The length is a power of two.
    slots: Vec<u32>,
    hasher: RandomState,
}

impl<'s> Interner<'s> {
    /// Makes an empty table.
    pub(super) fn new() -> Self {
        Self {
            strings: Vec::new(),
            slots: vec![0; 64],
            hasher: RandomState::new(),
        }
    }

    /// Returns a string's index, adding the string if it is new.
    pub(super) fn number(&mut self, string: &'s [u8]) -> u32 {
        if self.strings.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.find(string);
        if self.slots[slot] == 0 {
            self.strings.push(string);
            self.slots[slot] = self.strings.len() as u32;
        }
        self.slots[slot] - 1
    }

    /// Returns the strings by index.
    pub(super) fn into_strings(self) -> Vec<&'s [u8]> {
        self.strings
    }

    /// Returns the strings in bytewise order, and converts indexes accordingly.
    pub(super) fn into_sorted(self, numbers: &mut [u32]) -> Vec<&'s [u8]> {
        let string = |&number: &u32| self.strings[number as usize];
        let mut order: Vec<u32> = (0..self.strings.len() as u32).collect();
        order.sort_unstable_by_key(string);
        let mut places = vec![0; order.len()];
        for (place, &number) in (0..).zip(&order) {
            places[number as usize] = place;
        }
        for number in numbers {
            *number = places[*number as usize];
        }
        order.iter().map(string).collect()
    }

    /// Returns the slot of a string, or the free slot for it.
    fn find(&self, string: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hasher.hash_one(string) as usize & mask;
        while self.slots[slot] != 0 && self.strings[self.slots[slot] as usize - 1] != string {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for number in 1..=self.strings.len() {
            let slot = self.find(self.strings[number - 1]);
            self.slots[slot] = number as u32;
        }
    }
}

/// A string table, ready to freeze.
#[derive(Debug)]
pub(super) enum StringTable<'s> {
    /// A list of strings.
    Plain(Vec<&'s [u8]>),
    /// One buffer with an index.
    Compact {
        /// The strings one after the other.
        buffer: Vec<u8>,
        /// The FSST table that the buffer is encoded with.
        symtab: Option<Vec<u8>>,
        /// Lengths, or offsets and the end of the last.
        index: Vec<u32>,
        /// Whether the index holds lengths.
        packed: bool,
    },
}

impl<'s> StringTable<'s> {
    /// Makes a table. `Limit` if its strings take 4 GiB. The strings are not encoded if FSST makes
    /// one longer than `longest` bytes.
    pub(super) fn new(
        strings: Vec<&'s [u8]>,
        packing: StringPacking,
        longest: usize,
    ) -> Result<Self> {
        let (fsst, packed) = match packing {
            StringPacking::Plain => return Ok(Self::Plain(strings)),
            StringPacking::Compact { fsst, index } => (fsst, index),
        };
        let raw: usize = strings.iter().map(|string| string.len()).sum();
        let encoded = if fsst {
            encode(&strings, raw, longest)
        } else {
            None
        };
        let (buffer, symtab, lens) = match encoded {
            Some(Encoded {
                buffer,
                symtab,
                lens,
            }) => (buffer, Some(symtab), lens),
            None => {
                let lens = strings.iter().map(|string| string.len() as u32).collect();
                (strings.concat(), None, lens)
            }
        };
        if u32::try_from(buffer.len()).is_err() {
            return Err(Error::limit(
                "names or symlink targets of more than 4 GiB in total",
            ));
        }
        let index = if packed { lens } else { offsets(&lens) };
        Ok(Self::Compact {
            buffer,
            symtab,
            index,
            packed,
        })
    }

    /// Returns a plain table as a list; `None` for a compact one.
    pub(super) fn plain(&self) -> Option<Value<'_>> {
        match self {
            Self::Plain(strings) => Some(Value::List(Items::Strings(strings.clone()))),
            Self::Compact { .. } => None,
        }
    }

    /// Returns a compact table as a structure; `None` for a plain one.
    pub(super) fn compact(&self) -> Option<Value<'_>> {
        let Self::Compact {
            buffer,
            symtab,
            index,
            packed,
        } = self
        else {
            return None;
        };
        let mut fields = vec![(string_table::BUFFER, Value::String(buffer))];
        if let Some(symtab) = symtab {
            fields.push((string_table::SYMTAB, Value::some(Value::String(symtab))));
        }
        fields.push((
            string_table::INDEX,
            Value::List(Items::Ints(Column::U32(index))),
        ));
        fields.push((string_table::PACKED_INDEX, Value::Bool(*packed)));
        Some(Value::Struct(fields))
    }
}

/// Strings encoded with FSST.
struct Encoded {
    buffer: Vec<u8>,
    symtab: Vec<u8>,
    lens: Vec<u32>,
}

/// Encodes strings; `None` if that saves nothing or makes one longer than `longest`.
fn encode(strings: &[&[u8]], raw: usize, longest: usize) -> Option<Encoded> {
    let table = train(strings);
    let symtab = table.stored();
    let mut buffer = Vec::with_capacity(raw / 2);
    let mut lens = Vec::with_capacity(strings.len());
    let mut cuts = Cuts::default();
    for string in strings {
        let start = buffer.len();
        table.encode(string, &mut cuts, &mut buffer);
        let len = buffer.len() - start;
        if len > longest {
            return None;
        }
        lens.push(len as u32);
    }
    (symtab.len() + buffer.len() < raw).then_some(Encoded {
        buffer,
        symtab,
        lens,
    })
}

/// Converts lengths to offsets and the end of the last.
fn offsets(lens: &[u32]) -> Vec<u32> {
    super::with_sentinel(lens, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPACT: StringPacking = StringPacking::Compact {
        fsst: false,
        index: false,
    };

    #[test]
    fn numbers_go_by_first_use() {
        let names: Vec<String> = (0..1000).map(|i| format!("{}", i % 300)).collect();
        let mut interner = Interner::new();
        let numbers: Vec<u32> = names
            .iter()
            .map(|name| interner.number(name.as_bytes()))
            .collect();
        assert!(
            numbers
                .iter()
                .enumerate()
                .all(|(i, &number)| number as usize == i % 300)
        );
        assert_eq!(interner.into_strings().len(), 300);
    }

    #[test]
    fn sorted_strings_keep_their_users() {
        let names = [&b"b"[..], b"\xff", b"", b"b", b"a"];
        let mut interner = Interner::new();
        let mut numbers: Vec<u32> = names.iter().map(|name| interner.number(name)).collect();
        let strings = interner.into_sorted(&mut numbers);
        assert_eq!(strings, [&b""[..], b"a", b"b", b"\xff"]);
        for (name, number) in names.iter().zip(numbers) {
            assert_eq!(strings[number as usize], *name);
        }
    }

    #[test]
    fn an_index_holds_offsets_or_lengths() {
        let strings = vec![&b"ab"[..], b"", b"cde"];
        let table = StringTable::new(strings.clone(), COMPACT, 512).unwrap();
        let StringTable::Compact {
            buffer,
            symtab: None,
            index,
            packed: false,
        } = table
        else {
            panic!("{table:?}");
        };
        assert_eq!(
            (&buffer[..], &index[..]),
            (&b"abcde"[..], &[0, 2, 2, 5][..])
        );
        let table = StringTable::new(strings, StringPacking::ALL, 512).unwrap();
        let StringTable::Compact {
            symtab: None,
            index,
            packed: true,
            ..
        } = table
        else {
            panic!("{table:?}");
        };
        assert_eq!(index, [2, 0, 3]);
    }

    #[test]
    fn a_string_that_fsst_would_make_too_long_keeps_all_from_it() {
        let mut strings: Vec<Vec<u8>> = vec![b"/usr/share/doc/package".repeat(9); 3000];
        for (i, string) in strings.iter_mut().enumerate() {
            string.extend(i.to_le_bytes());
        }
        let odd: Vec<u8> = (0..400).map(|i| (i * 37 % 256) as u8).collect();
        let refs: Vec<&[u8]> = strings
            .iter()
            .map(Vec::as_slice)
            .chain([&odd[..]])
            .collect();
        let has_symtab = |longest| {
            let table = StringTable::new(refs.clone(), StringPacking::ALL, longest).unwrap();
            matches!(
                table,
                StringTable::Compact {
                    symtab: Some(_),
                    ..
                }
            )
        };
        assert!(has_symtab(800));
        assert!(!has_symtab(100));
    }
}
