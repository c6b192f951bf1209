//! The values to freeze; long lists are borrowed columns.
//!
//! **Invariant:** nothing is allocated per item of a list of numbers or structs.

use crate::layout::metadata::FieldId;

/// A value to freeze.
#[derive(Debug)]
pub(in crate::write) enum Value<'a> {
    /// One bit, or none if false.
    Bool(bool),
    /// An unsigned number.
    Int(u64),
    /// Bytes, stored out of line.
    String(&'a [u8]),
    /// An optional that is set; omit the field for one that is not.
    Some(Box<Value<'a>>),
    /// Fields in ascending order of their ids.
    Struct(Vec<(FieldId, Value<'a>)>),
    /// A list, set or map, stored out of line.
    List(Items<'a>),
}

impl<'a> Value<'a> {
    /// Wraps a value as an optional that is set.
    pub(in crate::write) fn some(value: Value<'a>) -> Self {
        Self::Some(Box::new(value))
    }
}

/// The items of a list.
#[derive(Debug)]
pub(in crate::write) enum Items<'a> {
    /// Numbers.
    Ints(Column<'a>),
    /// Structs of numbers, or the pairs of a map: a column for each field, all of one length.
    Structs(Vec<(FieldId, Column<'a>)>),
    /// Strings, whose bytes follow the items.
    Strings(Vec<&'a [u8]>),
}

/// The numbers of one field of all items.
#[derive(Debug, Clone, Copy)]
pub(in crate::write) enum Column<'a> {
    /// 32 bits and less.
    U32(&'a [u32]),
    /// 64 bits and less.
    U64(&'a [u64]),
}

impl Column<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
        }
    }

    /// Calls `call` with every value in order.
    pub(super) fn each(&self, mut call: impl FnMut(u64)) {
        match self {
            Self::U32(values) => values.iter().for_each(|&value| call(u64::from(value))),
            Self::U64(values) => values.iter().for_each(|&value| call(value)),
        }
    }

    /// Returns the width of the largest value in bits.
    pub(super) fn width(&self) -> u32 {
        let mut all = 0;
        self.each(|value| all |= value);
        width(all)
    }
}

/// Returns the width of a number in bits; 0 for zero.
pub(super) fn width(value: u64) -> u32 {
    64 - value.leading_zeros()
}
