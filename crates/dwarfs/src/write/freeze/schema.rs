//! The Frozen2 schema: numbered layouts without duplicates, in thrift's compact protocol.
//!
//! In: layout nodes. Out: bytes. **Invariant:** a layout follows the layouts of its fields. Format:
//! upstream's `frozen/thrift/lib/thrift/frozen.thrift`.

#![expect(
    clippy::cast_possible_wrap,
    reason = "layouts have 16-bit numbers, and sizes are below 2^15 bits"
)]

use sinterfs_model::{Error, Result};

use super::plan::Node;
use crate::write::compact::{CompactWriter, Type};

/// A layout in the schema.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    size: u64,
    bits: u32,
    /// Field id, layout id, bit offset.
    fields: Vec<(i16, i16, i16)>,
}

/// The layouts, numbered in order.
#[derive(Debug, Default)]
pub(super) struct Schema {
    layouts: Vec<Layout>,
}

impl Schema {
    /// Adds a layout and the layouts of its fields; returns its number. Only the root has a size in
    /// bytes: all layouts below are bit-packed in their owner.
    pub(super) fn add(&mut self, node: &Node, size: Option<u64>) -> Result<i16> {
        let mut fields = Vec::with_capacity(node.fields.len());
        let mut by_id: Vec<_> = node.fields.iter().collect();
        by_id.sort_by_key(|field| field.0); // a list's count is stored before its distance
        for (id, offset, field) in by_id {
            fields.push((*id, self.add(field, None)?, narrow(*offset)?));
        }
        let layout = Layout {
            size: size.unwrap_or(0),
            bits: node.bits,
            fields,
        };
        let known = self.layouts.iter().position(|other| *other == layout);
        let number = known.unwrap_or_else(|| {
            self.layouts.push(layout);
            self.layouts.len() - 1
        });
        narrow(number)
    }

    /// Encodes the schema with the number of the root's layout.
    pub(super) fn encode(&self, root: i16) -> Vec<u8> {
        let mut w = CompactWriter::default();
        w.begin_struct();
        w.bool_field(1, true); // relaxTypeChecks
        w.field(2, Type::Map); // layouts
        w.pairs(Type::I16, Type::Struct, self.layouts.len());
        for (number, layout) in self.layouts.iter().enumerate() {
            w.int(number as i64);
            layout.encode(&mut w);
        }
        w.int_field(3, Type::I16, i64::from(root)); // rootLayout
        w.int_field(4, Type::I32, 1); // fileVersion
        w.end_struct();
        w.finish()
    }
}

impl Layout {
    fn encode(&self, w: &mut CompactWriter) {
        w.begin_struct();
        w.int_field(1, Type::I32, self.size as i64); // size
        w.int_field(2, Type::I16, i64::from(self.bits)); // bits
        w.field(3, Type::Map); // fields
        w.pairs(Type::I16, Type::Struct, self.fields.len());
        for &(id, layout, offset) in &self.fields {
            w.int(i64::from(id));
            w.begin_struct();
            w.int_field(1, Type::I16, i64::from(layout)); // layoutId
            w.int_field(2, Type::I16, -i64::from(offset)); // offset: negative = bits
            w.end_struct();
        }
        w.string_field(4, b""); // typeName
        w.end_struct();
    }
}

fn narrow<T: TryInto<i16>>(value: T) -> Result<i16> {
    value
        .try_into()
        .map_err(|_| Error::limit("metadata with more fields than its schema can describe"))
}
