//! Frozen2, writing side: values to a schema and the bit-packed bytes that it describes.
//!
//! In: a tree of a few `Value`s whose long lists are borrowed columns, so that nothing is
//! allocated per item. Out: the thrift-encoded schema and the bytes, 8 zero bytes at their end.
//! **Invariant:** every number has the fewest bits that hold its largest value; what is always
//! zero or absent has none and does not appear in the schema. Format: upstream's
//! `frozen/thrift/lib/cpp2/frozen`.

mod bits;
mod pack;
mod plan;
mod schema;
#[cfg(test)]
mod tests;

use sinterfs_model::Result;

use crate::layout::metadata::FieldId;
use bits::BitBuffer;
use schema::Schema;

/// Zero bytes at the end, so that a reader may load 64 bits at any place.
pub(super) const PADDING: usize = 8;

/// Something to freeze.
#[derive(Debug)]
pub(super) enum Value<'a> {
    /// One bit, or none if false.
    Bool(bool),
    /// An unsigned number.
    Int(u64),
    /// Bytes, stored out of line.
    String(&'a [u8]),
    /// A value that is there; leave the field out for one that is not.
    Some(Box<Value<'a>>),
    /// Fields in ascending order of their ids.
    Struct(Vec<(FieldId, Value<'a>)>),
    /// A list, set or map, stored out of line.
    List(Items<'a>),
}

impl<'a> Value<'a> {
    /// Wraps a value as an optional that is set.
    pub(super) fn some(value: Value<'a>) -> Self {
        Self::Some(Box::new(value))
    }
}

/// The items of a list.
#[derive(Debug)]
pub(super) enum Items<'a> {
    /// Numbers.
    Ints(Column<'a>),
    /// Structs of numbers, or the pairs of a map: a column for each field, all of one length.
    Structs(Vec<(FieldId, Column<'a>)>),
    /// Strings, stored out of line once more.
    Strings(Vec<&'a [u8]>),
}

/// The numbers of one field of all items.
#[derive(Debug, Clone, Copy)]
pub(super) enum Column<'a> {
    /// 32 bits and less.
    U32(&'a [u32]),
    /// 64 bits and less.
    U64(&'a [u64]),
}

impl Column<'_> {
    fn len(&self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
        }
    }

    /// Calls with every value in order.
    fn each(&self, mut call: impl FnMut(u64)) {
        match self {
            Self::U32(values) => values.iter().for_each(|&value| call(u64::from(value))),
            Self::U64(values) => values.iter().for_each(|&value| call(value)),
        }
    }

    /// Returns the bits that the largest value needs.
    fn width(&self) -> u32 {
        let mut all = 0;
        self.each(|value| all |= value);
        width(all)
    }
}

/// Returns the bits that a number needs; none for zero.
fn width(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// A frozen value.
#[derive(Debug)]
pub(super) struct Frozen {
    /// The schema in thrift's compact encoding.
    pub(super) schema: Vec<u8>,
    /// What the schema describes.
    pub(super) data: Vec<u8>,
}

/// Freezes a struct; `Limit` if it becomes larger than the format's 16-bit bit offsets allow.
pub(super) fn freeze(root: &Value<'_>) -> Result<Frozen> {
    let plan = plan::plan(root)?;
    let mut schema = Schema::default();
    let id = schema.add(&plan.root, Some(plan.root_bytes))?;
    let mut out = BitBuffer::new(plan.total + PADDING);
    let mut places = plan.places.iter().copied();
    pack::pack(&mut out, root, &plan.root, 0, &mut places);
    Ok(Frozen {
        schema: schema.encode(id),
        data: out.finish(),
    })
}
