//! Encodes Frozen2: values to a schema and the bit-packed bytes that it describes.
//!
//! In: a tree of `Value`s, its long lists borrowed columns, so that nothing is allocated per item.
//! Out: the thrift-encoded schema and the bytes, with 8 zero bytes at their end.
//! **Invariant:** every number has the fewest bits that hold its largest value; fields that are
//! always zero or absent have none and are not in the schema. Format: upstream's
//! `frozen/thrift/lib/cpp2/frozen`.

mod bits;
mod pack;
mod plan;
mod schema;
#[cfg(test)]
mod tests;
mod value;

use sinterfs_model::Result;

use bits::BitBuffer;
use schema::Schema;

pub(super) use value::{Column, Items, Value};

/// The number of zero bytes at the end, so that readers may load 64 bits at any position.
pub(super) const PADDING: usize = 8;

/// A frozen value.
#[derive(Debug)]
pub(super) struct Frozen {
    /// The schema in thrift's compact encoding.
    pub(super) schema: Vec<u8>,
    /// The bytes that the schema describes.
    pub(super) data: Vec<u8>,
}

/// Freezes a struct. `Limit` if it needs more bits than 16-bit offsets can address.
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
