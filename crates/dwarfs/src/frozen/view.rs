//! Views of values in the metadata: positions and widths, resolved once through the schema.
//!
//! In: a schema and the metadata's bytes. Out: `Node` (one value or structure), `List` (its
//! items), `Ints` and `Strings` (one field of all items, for fast reading).
//!
//! **Invariant:** a view is wholly within the metadata. `Ints` and `Strings` hold no bytes: callers
//! pass the same bytes to every read. Fields that the schema omits are zero, false, empty or
//! absent.

use std::ops::Range;

use sinterfs_model::{Error, Result};

use super::bits::extract;
use super::schema::{Layout, Schema};
use crate::layout::metadata::{FieldId, list, optional, string};

/// The largest number of items in lists that become objects: features, categories, versions.
const SHORT: u64 = 1 << 16;

/// A position as a byte and bits beyond it: distances count from the byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    byte: u64,
    bit: u64,
}

impl Position {
    /// Returns the bit number from the start of the metadata.
    fn to_bits(self) -> Result<u64> {
        self.byte
            .checked_mul(8)
            .and_then(|bits| bits.checked_add(self.bit))
            .ok_or_else(out_of_bounds)
    }
}

/// A value or structure in the metadata whose type the caller knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    schema: &'a Schema,
    data: &'a [u8],
    /// `None` if the schema omits the field.
    layout: Option<&'a Layout>,
    at: Position,
}

impl<'a> Node<'a> {
    /// Views the root.
    pub(crate) fn root(schema: &'a Schema, data: &'a [u8]) -> Self {
        let at = Position { byte: 0, bit: 0 };
        Self {
            schema,
            data,
            layout: schema.layout(schema.root),
            at,
        }
    }

    /// Views a field of a structure.
    pub(crate) fn field(&self, id: FieldId) -> Result<Self> {
        let field = self.layout.and_then(|layout| layout.fields.get(&id));
        let Some(field) = field else {
            return Ok(Self {
                layout: None,
                ..*self
            });
        };
        let at = match u64::try_from(field.offset) {
            Ok(bytes) => Position {
                byte: self.at.byte.checked_add(bytes).ok_or_else(out_of_bounds)?,
                bit: self.at.bit,
            },
            Err(_) => Position {
                byte: self.at.byte,
                bit: self
                    .at
                    .bit
                    .checked_add(u64::from(field.offset.unsigned_abs()))
                    .ok_or_else(out_of_bounds)?,
            },
        };
        Ok(Self {
            layout: self.schema.layout(field.layout),
            at,
            ..*self
        })
    }

    /// Reads an unsigned number; `Corrupt` if the schema gives it more than `type_bits` bits.
    pub(crate) fn uint(&self, type_bits: u32) -> Result<u64> {
        let width = self.width(type_bits)?;
        let bit = self.at.to_bits()?;
        check_bits(self.data, bit, u64::from(width))?;
        Ok(extract(self.data, bit, width))
    }

    /// Reads a `u32`.
    pub(crate) fn u32(&self) -> Result<u32> {
        u32::try_from(self.uint(32)?).map_err(|_| out_of_bounds())
    }

    /// Reads a `u64`.
    pub(crate) fn u64(&self) -> Result<u64> {
        self.uint(64)
    }

    /// Reads a `bool`.
    pub(crate) fn flag(&self) -> Result<bool> {
        Ok(self.uint(64)? & 1 == 1)
    }

    fn width(&self, type_bits: u32) -> Result<u32> {
        let width = self.layout.map_or(0, |layout| u32::from(layout.bits));
        if width > type_bits {
            return Err(Error::corrupt(format!(
                "the schema stores a number of {type_bits} bits in {width}"
            )));
        }
        Ok(width)
    }

    /// Views an optional's value; `None` if it is not set.
    pub(crate) fn optional(&self) -> Result<Option<Self>> {
        if self.field(optional::ISSET)?.flag()? {
            self.field(optional::VALUE).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Views a list, set or map.
    pub(crate) fn list(&self) -> Result<List<'a>> {
        let count = self.field(list::COUNT)?.u64()?;
        let item = self.field(list::ITEM)?.layout;
        if count == 0 {
            return Ok(List {
                schema: self.schema,
                data: self.data,
                item,
                base: 0,
                count: 0,
            });
        }
        // A list of items without bits has no size, for any count. A valid one is shorter than the
        // lists that refer to its items, and those do have a size.
        let bound = (self.data.len() as u64).saturating_mul(8);
        if count > bound {
            return Err(Error::corrupt(format!(
                "a list of {count} items in {bound} bits"
            )));
        }
        let distance = self.field(list::DISTANCE)?.u64()?;
        let base = self
            .at
            .byte
            .checked_add(distance)
            .ok_or_else(out_of_bounds)?;
        let list = List {
            schema: self.schema,
            data: self.data,
            item,
            base,
            count,
        };
        let bits = list.stride().checked_mul(count).ok_or_else(out_of_bounds)?;
        check_bits(self.data, Position { byte: base, bit: 0 }.to_bits()?, bits)?;
        Ok(list)
    }

    /// Returns the range of a string's bytes.
    pub(crate) fn string(&self) -> Result<Range<usize>> {
        let count = self.field(string::COUNT)?.u64()?;
        if count == 0 {
            return Ok(0..0);
        }
        let distance = self.field(string::DISTANCE)?.u64()?;
        range(self.data, self.at.byte, distance, count).ok_or_else(out_of_bounds)
    }

    /// Reads a string, replacing what is not UTF-8.
    pub(crate) fn text(&self) -> Result<String> {
        let bytes = self.data.get(self.string()?).ok_or_else(out_of_bounds)?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// The items of a list, set or map.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List<'a> {
    schema: &'a Schema,
    data: &'a [u8],
    item: Option<&'a Layout>,
    base: u64,
    count: u64,
}

impl<'a> List<'a> {
    /// Returns the number of items.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Returns the bits from one item to the next: whole bytes if the item's layout has a size.
    fn stride(&self) -> u64 {
        self.item.map_or(0, |item| match item.size {
            0 => u64::from(item.bits),
            size => u64::from(size) * 8,
        })
    }

    /// Views an item.
    pub(crate) fn item(&self, index: u64) -> Result<Node<'a>> {
        if index >= self.count {
            return Err(out_of_bounds());
        }
        let offset = self.stride().checked_mul(index).ok_or_else(out_of_bounds)?;
        let at = match self.item {
            Some(Layout { size: 1.., .. }) => {
                let byte = self
                    .base
                    .checked_add(offset / 8)
                    .ok_or_else(out_of_bounds)?;
                Position { byte, bit: 0 }
            }
            _ => Position {
                byte: self.base,
                bit: offset,
            },
        };
        Ok(Node {
            schema: self.schema,
            data: self.data,
            layout: self.item,
            at,
        })
    }

    /// Views all items, one after the other.
    pub(crate) fn items(&self) -> impl Iterator<Item = Result<Node<'a>>> + use<'a> {
        let list = *self;
        (0..list.count).map(move |index| list.item(index))
    }

    /// Reads the strings of a short list.
    pub(crate) fn texts(&self) -> Result<Vec<String>> {
        self.expect_short()?;
        self.items().map(|item| item?.text()).collect()
    }

    /// Fails with `Limit` for a list too long to become objects.
    pub(crate) fn expect_short(&self) -> Result<()> {
        if self.count > SHORT {
            return Err(Error::limit(format!(
                "{} items; the limit is {SHORT}",
                self.count
            )));
        }
        Ok(())
    }

    /// Views the items of a list of numbers.
    pub(crate) fn ints(&self, type_bits: u32) -> Result<Ints> {
        if self.count == 0 {
            return Ok(Ints::default());
        }
        self.column_of(&self.item(0)?, type_bits)
    }

    /// Views one field, a number, of all items.
    pub(crate) fn column(&self, id: FieldId, type_bits: u32) -> Result<Ints> {
        if self.count == 0 {
            return Ok(Ints::default());
        }
        self.column_of(&self.item(0)?.field(id)?, type_bits)
    }

    /// Views a list of strings. `Corrupt` unless each string is within the metadata and begins
    /// where the one before it ends, as all writers store them.
    pub(crate) fn strings(&self) -> Result<Strings> {
        if self.count == 0 {
            return Ok(Strings::default());
        }
        let first = self.item(0)?;
        let strings = Strings {
            owner: self.base,
            step: self.item.map_or(0, |item| u64::from(item.size)),
            distance: self.column_of(&first.field(string::DISTANCE)?, 64)?,
            len: self.column_of(&first.field(string::COUNT)?, 64)?,
        };
        let mut end = None;
        for index in 0..self.count {
            let found = strings.find(self.data, index).ok_or_else(out_of_bounds)?;
            if found.is_empty() {
                continue;
            }
            if end.is_some_and(|end| end != found.start) {
                return Err(Error::corrupt("the strings of a list are not contiguous"));
            }
            end = Some(found.end);
        }
        Ok(strings)
    }

    /// Derives the column from the field of the first item.
    fn column_of(&self, first: &Node<'a>, type_bits: u32) -> Result<Ints> {
        let ints = Ints {
            bit: first.at.to_bits()?,
            stride: self.stride(),
            width: first.width(type_bits)?,
            count: self.count,
        };
        let last = (self.count - 1)
            .checked_mul(ints.stride)
            .ok_or_else(out_of_bounds)?;
        let start = ints.bit.checked_add(last).ok_or_else(out_of_bounds)?;
        check_bits(self.data, start, u64::from(ints.width))?;
        Ok(ints)
    }
}

/// Numbers at a constant stride.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ints {
    bit: u64,
    stride: u64,
    width: u32,
    count: u64,
}

impl Ints {
    /// Returns the number of items.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Returns the width of each number in bits.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Reads a number; 0 past the end.
    #[inline]
    pub(crate) fn get(&self, data: &[u8], index: u64) -> u64 {
        if index >= self.count {
            return 0;
        }
        extract(
            data,
            self.bit.wrapping_add(self.stride.wrapping_mul(index)),
            self.width,
        )
    }

    /// Reads a number of a list of at most 32 bits each; 0 past the end.
    #[inline]
    pub(crate) fn get_u32(&self, data: &[u8], index: u64) -> u32 {
        u32::try_from(self.get(data, index)).unwrap_or(u32::MAX)
    }

    /// Reads all numbers in order.
    pub(crate) fn iter<'d>(&self, data: &'d [u8]) -> impl Iterator<Item = u64> + use<'d> {
        let ints = *self;
        (0..ints.count).map(move |index| ints.get(data, index))
    }
}

/// The strings of a list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Strings {
    owner: u64,
    step: u64,
    distance: Ints,
    len: Ints,
}

impl Strings {
    /// Returns the number of items.
    pub(crate) fn len(&self) -> u64 {
        self.len.len()
    }

    /// Returns a string's bytes; empty past the end.
    pub(crate) fn get<'d>(&self, data: &'d [u8], index: u64) -> &'d [u8] {
        self.find(data, index)
            .and_then(|range| data.get(range))
            .unwrap_or_default()
    }

    fn find(&self, data: &[u8], index: u64) -> Option<Range<usize>> {
        let len = self.len.get(data, index);
        if len == 0 {
            return Some(0..0);
        }
        let owner = self.step.checked_mul(index)?.checked_add(self.owner)?;
        range(data, owner, self.distance.get(data, index), len)
    }
}

fn range(data: &[u8], owner: u64, distance: u64, len: u64) -> Option<Range<usize>> {
    let start = owner.checked_add(distance)?;
    let end = start.checked_add(len)?;
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    (range.end <= data.len()).then_some(range)
}

fn check_bits(data: &[u8], bit: u64, bits: u64) -> Result<()> {
    let total = (data.len() as u64).saturating_mul(8);
    match bit.checked_add(bits) {
        _ if bits == 0 => Ok(()),
        Some(end) if end <= total => Ok(()),
        _ => Err(out_of_bounds()),
    }
}

#[cold]
fn out_of_bounds() -> Error {
    Error::corrupt("the schema places a value outside of the metadata")
}

#[cfg(test)]
mod tests;
