//! Second half of freezing: writes the values at their planned positions.
//!
//! In: values, their layout and the offsets of out-of-line bytes, in the plan's order.
//! **Invariant:** writes no bit outside a layout.

use super::bits::BitBuffer;
use super::plan::{Node, stored};
use super::value::{Column, Items, Value};
use crate::layout::metadata::{list, optional, string};

/// Writes a value at a bit position.
pub(super) fn pack(
    out: &mut BitBuffer,
    value: &Value<'_>,
    node: &Node,
    at: u64,
    places: &mut dyn Iterator<Item = u64>,
) {
    match value {
        Value::Bool(value) => out.put(at, node.bits, u64::from(*value)),
        Value::Int(value) => out.put(at, node.bits, *value),
        Value::String(bytes) => {
            let place = places.next().unwrap_or_default();
            put_field(out, node, string::DISTANCE, at, place);
            put_field(out, node, string::COUNT, at, bytes.len() as u64);
            out.copy(place, bytes);
        }
        Value::Some(value) => {
            put_field(out, node, optional::ISSET, at, 1);
            pack_field(out, node, optional::VALUE, at, value, places);
        }
        Value::Struct(fields) => {
            for (id, value) in fields {
                pack_field(out, node, *id, at, value, places);
            }
        }
        Value::List(items) => {
            let place = places.next().unwrap_or_default();
            put_field(out, node, list::COUNT, at, items.len() as u64);
            put_field(out, node, list::DISTANCE, at, place);
            if let Some((_, item)) = node.field(list::ITEM) {
                pack_items(out, items, item, place);
            }
        }
    }
}

/// Writes a number into a field; a number whose field the layout omits is zero.
fn put_field(out: &mut BitBuffer, node: &Node, id: i16, at: u64, value: u64) {
    if let Some((offset, field)) = node.field(id) {
        out.put(at + u64::from(offset), field.bits, value);
    }
}

/// Writes a value into a field. A value without bits still consumes its offsets.
fn pack_field(
    out: &mut BitBuffer,
    node: &Node,
    id: i16,
    at: u64,
    value: &Value<'_>,
    places: &mut dyn Iterator<Item = u64>,
) {
    let empty = Node::default();
    let (offset, field) = node.field(id).unwrap_or((0, &empty));
    pack(out, value, field, at + u64::from(offset), places);
}

impl Items<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Ints(column) => column.len(),
            Self::Structs(columns) => columns.first().map_or(0, |(_, column)| column.len()),
            Self::Strings(strings) => strings.len(),
        }
    }
}

fn pack_items(out: &mut BitBuffer, items: &Items<'_>, item: &Node, place: u64) {
    match items {
        Items::Ints(column) => pack_column(out, *column, place * 8, item.bits, item.bits),
        Items::Structs(columns) => {
            for (id, column) in columns {
                if let Some((offset, field)) = item.field(*id) {
                    let at = place * 8 + u64::from(offset);
                    pack_column(out, *column, at, item.bits, field.bits);
                }
            }
        }
        Items::Strings(strings) => pack_strings(out, strings, item, place),
    }
}

/// Writes one field of all items, for item `i` at `at + i * stride`.
fn pack_column(out: &mut BitBuffer, column: Column<'_>, mut at: u64, stride: u32, width: u32) {
    column.each(|value| {
        out.put(at, width, value);
        at += u64::from(stride);
    });
}

fn pack_strings(out: &mut BitBuffer, strings: &[&[u8]], item: &Node, place: u64) {
    let mut at = place * 8;
    let mut distance = stored(strings.len() as u64, item.bits);
    for bytes in strings {
        if !bytes.is_empty() {
            put_field(out, item, string::DISTANCE, at, distance);
            put_field(out, item, string::COUNT, at, bytes.len() as u64);
            out.copy(place + distance, bytes);
            distance += bytes.len() as u64;
        }
        at += u64::from(item.bits);
    }
}
