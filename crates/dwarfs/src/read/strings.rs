//! String tables of every kind: plain lists, one buffer with an index, FSST-encoded or not.
//!
//! In: `names` or `compact_names` (`symlinks` or `compact_symlinks`) of the metadata. Out: strings
//! by index.
//!
//! **Invariant:** once a table was opened, every index below `len` leads to bytes within the
//! metadata. Only FSST can still fail, for a string that was not encoded right.

use std::ops::Range;

use sinterfs_model::{Error, Result};

use super::fsst::Fsst;
pub(crate) use super::fsst::Scratch;
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
        /// Where all strings lie, one after the other.
        buffer: Range<usize>,
        /// Where each starts in the buffer, with the end of the last.
        index: Table,
        /// How they are encoded, if they are.
        symbols: Option<Box<Fsst>>,
    },
}

impl StringTable {
    /// Opens the compact table if it is there, else the plain one.
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
        // names and targets are not empty: this bounds what the index is unpacked to
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

    /// Returns a string, decoded into `scratch` where it has to be. `None` if it is not encoded
    /// right or past the end.
    pub(crate) fn get<'b>(
        &self,
        data: &'b [u8],
        at: u64,
        scratch: &'b mut Scratch,
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

/// Makes the error for a string that `get` could not give.
#[cold]
pub(crate) fn undecodable(at: u64) -> Error {
    Error::corrupt(format!("string {at} is not encoded right")).within("string table")
}
