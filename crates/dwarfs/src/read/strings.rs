//! String tables: plain lists, or a buffer with an index, optionally FSST-encoded.
//!
//! In: `names` or `compact_names` (`symlinks` or `compact_symlinks`) of the metadata. Out: strings
//! by index.
//!
//! **Invariant:** in an opened table, every index below `len` refers to bytes within the metadata.
//! Only FSST decoding can still fail.

use std::ops::Range;

use sinterfs_model::{Error, Result};

use super::fsst::Fsst;
pub(crate) use super::fsst::FsstScratch;
use super::table::Table;
use crate::frozen::view::{Node, Strings};
use crate::layout::metadata::string_table;

/// Strings of the metadata by index.
#[derive(Debug)]
pub(crate) enum StringTable {
    /// `list<string>`.
    Plain(Strings),
    /// `string_table`.
    Compact {
        /// The range of all strings, one after the other.
        buffer: Range<usize>,
        /// The offset of each string in the buffer, and the end of the last.
        index: Table,
        /// The symbol table, if the strings are encoded.
        symbols: Option<Box<Fsst>>,
    },
}

impl StringTable {
    /// Opens the compact table if it exists, else the plain one.
    pub(crate) fn open(plain: &Node<'_>, compact: &Node<'_>, data: &[u8]) -> Result<Self> {
        match compact.optional()? {
            None => plain.list()?.strings().map(Self::Plain),
            Some(table) => Self::open_compact(&table, data),
        }
    }

    fn open_compact(table: &Node<'_>, data: &[u8]) -> Result<Self> {
        let buffer = table.field(string_table::BUFFER)?.string()?;
        let ints = table.field(string_table::INDEX)?.list()?.ints(32)?;
        let packed = table.field(string_table::PACKED_INDEX)?.flag()?;
        // names and targets are not empty: this bounds the length of the unpacked index
        if ints.len() > (buffer.len() as u64).saturating_add(1) {
            let bytes = buffer.len();
            let what = format!("{} strings in {bytes} bytes", ints.len());
            return Err(Error::corrupt(what).within("string table"));
        }
        let index = if packed {
            let mut offsets = Table::from_differences(&ints, data, buffer.len() as u64)?;
            offsets.insert(0, 0);
            Table::Owned(offsets)
        } else {
            let mut before = 0;
            for offset in ints.iter(data) {
                if offset < before || offset > buffer.len() as u64 {
                    return Err(
                        Error::corrupt("the offsets are not in order").within("string table")
                    );
                }
                before = offset;
            }
            Table::View(ints)
        };
        let symbols = match table.field(string_table::SYMTAB)?.optional()? {
            Some(symtab) => {
                let bytes = data.get(symtab.string()?).unwrap_or_default();
                Some(Box::new(Fsst::parse(bytes)?))
            }
            None => None,
        };
        Ok(Self::Compact {
            buffer,
            index,
            symbols,
        })
    }

    /// Returns the number of strings.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Plain(strings) => strings.len(),
            Self::Compact { index, .. } => index.len().saturating_sub(1),
        }
    }

    /// Returns a string, decoded into `scratch` if it is encoded. `None` past the end, or if the
    /// encoding is invalid.
    pub(crate) fn get<'b>(
        &self,
        data: &'b [u8],
        at: u64,
        scratch: &'b mut FsstScratch,
    ) -> Option<&'b [u8]> {
        match self {
            Self::Plain(strings) => (at < strings.len()).then(|| strings.get(data, at)),
            Self::Compact {
                buffer,
                index,
                symbols,
            } => {
                let next = at.checked_add(1).filter(|next| *next < index.len())?;
                let start = usize::try_from(index.get(data, at)).ok()?;
                let end = usize::try_from(index.get(data, next)).ok()?;
                let bytes = data.get(buffer.clone())?.get(start..end)?;
                match symbols {
                    None => Some(bytes),
                    Some(symbols) => symbols.decode(bytes, scratch),
                }
            }
        }
    }
}

/// Makes the error for a string that `get` cannot return.
#[cold]
pub(crate) fn undecodable(at: u64) -> Error {
    Error::corrupt(format!("the encoding of string {at} is invalid")).within("string table")
}
