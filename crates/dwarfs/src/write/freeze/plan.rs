//! First half of freezing: computes all widths and the offsets of out-of-line bytes.
//!
//! In: values. Out: a tree of layout nodes in the shape of the values, and the byte offset of each
//! list and string in the order of a depth-first walk. **Invariant:** widths only grow from round
//! to round, so the search for a fixed point ends.

#![expect(
    clippy::indexing_slicing,
    reason = "the index is one that `rposition` found"
)]

use sinterfs_model::{Error, Result};

use super::value::{Items, Value, width};
use crate::layout::metadata::{FieldId, list, optional, string};

/// A layout with the layouts of its fields, all of which are inlined in the owner's bits.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// The number of bits, including fields.
    pub(super) bits: u32,
    /// Fields with bits: id, bit offset and layout.
    pub(super) fields: Vec<(FieldId, u32, Node)>,
}

impl Node {
    /// Makes the layout of a number.
    pub(super) fn int(bits: u32) -> Self {
        Self {
            bits,
            fields: Vec::new(),
        }
    }

    /// Appends a field; one without bits is omitted.
    fn push(&mut self, id: FieldId, node: Node) {
        if node.bits > 0 {
            let offset = self.bits;
            self.bits += node.bits;
            self.fields.push((id, offset, node));
        }
    }

    /// Appends the layout of a list's items, which are out of line and take no bits here.
    fn push_item(&mut self, node: Node) {
        if node.bits > 0 {
            self.fields.push((list::ITEM, 0, node));
        }
    }

    /// Returns a field and its bit offset.
    pub(super) fn field(&self, id: FieldId) -> Option<(u32, &Node)> {
        self.fields
            .iter()
            .find(|field| field.0 == id)
            .map(|(_, offset, node)| (*offset, node))
    }
}

/// The positions of all values.
#[derive(Debug)]
pub(super) struct Plan {
    /// The layout of the root.
    pub(super) root: Node,
    /// The bytes of the root itself.
    pub(super) root_bytes: u64,
    /// The byte offsets of lists and strings directly below the root or its structs, in order.
    pub(super) places: Vec<u64>,
    /// The total bytes, without padding.
    pub(super) total: usize,
}

/// Computes the layout of a struct.
pub(super) fn plan(root: &Value<'_>) -> Result<Plan> {
    let mut root_bytes = 0;
    loop {
        let mut walk = PlanWalk {
            cursor: root_bytes,
            places: Vec::new(),
        };
        let node = walk.value(root)?;
        if node.bits > i16::MAX.unsigned_abs().into() {
            return Err(Error::limit(
                "metadata with more fields than its schema can describe",
            ));
        }
        let bytes = u64::from(node.bits.div_ceil(8)).max(root_bytes);
        if bytes == root_bytes {
            let total = usize::try_from(walk.cursor)
                .map_err(|_| Error::limit("metadata larger than the address space"))?;
            return Ok(Plan {
                root: node,
                root_bytes,
                places: walk.places,
                total,
            });
        }
        root_bytes = bytes;
    }
}

/// One walk over the values, with a given size of the root.
struct PlanWalk {
    /// The offset of the next out-of-line bytes.
    cursor: u64,
    places: Vec<u64>,
}

impl PlanWalk {
    fn value(&mut self, value: &Value<'_>) -> Result<Node> {
        let mut node = Node::default();
        match value {
            Value::Bool(value) => node.bits = u32::from(*value),
            Value::Int(value) => node.bits = width(*value),
            Value::String(bytes) => {
                let distance = self.place(bytes.len() as u64)?;
                node.push(string::DISTANCE, Node::int(width(distance)));
                node.push(string::COUNT, Node::int(width(bytes.len() as u64)));
            }
            Value::Some(value) => {
                node.push(optional::ISSET, Node::int(1));
                node.push(optional::VALUE, self.value(value)?);
            }
            Value::Struct(fields) => {
                debug_assert!(fields.is_sorted_by_key(|field| field.0));
                for (id, value) in fields {
                    let field = self.value(value)?;
                    node.push(*id, field);
                }
            }
            Value::List(items) => node = self.list(items)?,
        }
        Ok(node)
    }

    fn list(&mut self, items: &Items<'_>) -> Result<Node> {
        let (count, item, tail) = items.measure();
        let bytes = stored(count, item.bits) + tail;
        let distance = self.place(bytes)?;
        let mut node = Node::default();
        node.push(list::COUNT, Node::int(width(count)));
        node.push(list::DISTANCE, Node::int(width(distance)));
        node.push_item(item);
        Ok(node)
    }

    /// Reserves out-of-line bytes and returns their offset; 0 for none.
    fn place(&mut self, bytes: u64) -> Result<u64> {
        if bytes == 0 {
            self.places.push(0);
            return Ok(0);
        }
        let at = self.cursor;
        self.cursor = at
            .checked_add(bytes)
            .ok_or_else(|| Error::limit("metadata larger than the address space"))?;
        self.places.push(at);
        Ok(at)
    }
}

/// Returns the bytes of `count` items of `bits` bits.
pub(super) fn stored(count: u64, bits: u32) -> u64 {
    (count * u64::from(bits)).div_ceil(8)
}

impl Items<'_> {
    /// Returns the number of items, the layout of one and the bytes that follow the items.
    fn measure(&self) -> (u64, Node, u64) {
        match self {
            Self::Ints(column) => (column.len() as u64, Node::int(column.width()), 0),
            Self::Structs(columns) => {
                let count = columns.first().map_or(0, |(_, column)| column.len());
                debug_assert!(columns.iter().all(|(_, column)| column.len() == count));
                debug_assert!(columns.is_sorted_by_key(|column| column.0));
                let mut item = Node::default();
                for (id, column) in columns {
                    item.push(*id, Node::int(column.width()));
                }
                (count as u64, item, 0)
            }
            Self::Strings(strings) => {
                let tail = strings.iter().map(|string| string.len() as u64).sum();
                (strings.len() as u64, string_item(strings), tail)
            }
        }
    }
}

/// Computes the layout of the items of a list of strings: their distances are relative to the start
/// of the list and so depend on their own width.
fn string_item(strings: &[&[u8]]) -> Node {
    let longest = strings.iter().map(|string| string.len()).max().unwrap_or(0);
    let count_bits = width(longest as u64);
    let last = strings.iter().rposition(|string| !string.is_empty());
    let before_last: u64 = last.map_or(0, |last| {
        strings[..last]
            .iter()
            .map(|string| string.len() as u64)
            .sum()
    });
    let mut distance_bits = 0;
    if last.is_some() {
        loop {
            let items = stored(strings.len() as u64, distance_bits + count_bits);
            let needed = width(items + before_last).max(distance_bits);
            if needed == distance_bits {
                break;
            }
            distance_bits = needed;
        }
    }
    let mut item = Node::default();
    item.push(string::DISTANCE, Node::int(distance_bits));
    item.push(string::COUNT, Node::int(count_bits));
    item
}
