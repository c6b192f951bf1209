//! Frozen metadata read back bit by bit, by hand.

use super::*;
use crate::write::freeze::plan::Node;

/// Reads `width` bits at a bit position.
fn bits(data: &[u8], at: u64, width: u32) -> u64 {
    (0..u64::from(width))
        .map(|i| {
            let bit = at + i;
            u64::from(data[(bit / 8) as usize] >> (bit % 8) & 1) << i
        })
        .sum()
}

/// Reads a field of a struct at a bit position.
fn field(node: &Node, at: u64, id: i16) -> Option<(u64, &Node)> {
    node.field(id)
        .map(|(offset, node)| (at + u64::from(offset), node))
}

fn int(data: &[u8], node: &Node, at: u64, id: i16) -> u64 {
    field(node, at, id).map_or(0, |(at, node)| bits(data, at, node.bits))
}

fn string<'d>(data: &'d [u8], node: &Node, at: u64, start: u64) -> &'d [u8] {
    let distance = start + int(data, node, at, 1);
    let count = int(data, node, at, 2);
    &data[distance as usize..(distance + count) as usize]
}

/// Freezes and gives the plan's layout along, which the schema is only an encoding of.
fn frozen(value: &Value<'_>) -> (Node, Vec<u8>, Vec<u8>) {
    let root = plan::plan(value).unwrap().root;
    let frozen = freeze(value).unwrap();
    assert!(frozen.data.ends_with(&[0; PADDING]));
    (root, frozen.schema, frozen.data)
}

#[test]
fn a_list_of_structs_is_laid_out_as_the_format_description_shows() {
    // list<chunk> in field 1, with no bits for the block, which is always 0
    let (offset, size) = ([2726, 5], [2, 1100]);
    let value = Value::Struct(vec![(
        1,
        Value::List(Items::Structs(vec![
            (1, Column::U32(&[0, 0])),
            (2, Column::U32(&offset)),
            (3, Column::U32(&size)),
        ])),
    )]);
    let (_, schema, data) = frozen(&value);
    #[rustfmt::skip]
    assert_eq!(data, [
        // count = 2 in 2 bits, distance = 1 in 1 bit
        0b0000_0110,
        // 2726 in 12 bits, 2 in 11 bits, 5 in 12 bits, 1100 in 11 bits
        0b1010_0110, 0b0010_1010, 0b1000_0000, 0b0000_0010, 0b0110_0000, 0b0010_0010,
        0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    #[rustfmt::skip]
    assert_eq!(schema, [
        0x11,                   // 1 relaxTypeChecks: true
        0x1b, 7, 0x4c,          // 2 layouts: 7 pairs of i16 and struct
        // 0: the distance, 1 bit
        0x00, 0x15, 0, 0x14, 2, 0x1b, 0, 0x18, 0, 0,
        // 1: the count, 2 bits
        0x02, 0x15, 0, 0x14, 4, 0x1b, 0, 0x18, 0, 0,
        // 2: offset, 12 bits
        0x04, 0x15, 0, 0x14, 24, 0x1b, 0, 0x18, 0, 0,
        // 3: size, 11 bits
        0x06, 0x15, 0, 0x14, 22, 0x1b, 0, 0x18, 0, 0,
        // 4: chunk, 23 bits
        0x08, 0x15, 0, 0x14, 46, 0x1b, 2, 0x4c,
            0x04, 0x14, 4, 0x14, 0, 0,      // 2 offset: layout 2 at 0
            0x06, 0x14, 6, 0x14, 23, 0,     // 3 size: layout 3 at -12
        0x18, 0, 0,
        // 5: list<chunk>, 3 bits
        0x0a, 0x15, 0, 0x14, 6, 0x1b, 3, 0x4c,
            0x02, 0x14, 0, 0x14, 3, 0,      // 1 distance: layout 0 at -2
            0x04, 0x14, 2, 0x14, 0, 0,      // 2 count: layout 1 at 0
            0x06, 0x14, 8, 0x14, 0, 0,      // 3 item: layout 4
        0x18, 0, 0,
        // 6: the root, 1 byte
        0x0c, 0x15, 2, 0x14, 6, 0x1b, 1, 0x4c,
            0x02, 0x14, 10, 0x14, 0, 0,     // 1 chunks: layout 5 at 0
        0x18, 0, 0,
        0x14, 12,               // 3 rootLayout
        0x15, 2,                // 4 fileVersion
        0,
    ]);
}

#[test]
fn strings_in_lists_count_from_the_list() {
    let strings: Vec<Vec<u8>> = (0..300)
        .map(|i| vec![b'a' + (i % 26) as u8; i % 40])
        .collect();
    let refs: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
    let value = Value::Struct(vec![
        (3, Value::Int(77)),
        (10, Value::List(Items::Strings(refs.clone()))),
        (11, Value::some(Value::String(b"tail"))),
    ]);
    let (root, _, data) = frozen(&value);
    assert_eq!(int(&data, &root, 0, 3), 77);
    let (at, node) = field(&root, 0, 10).unwrap();
    let start = int(&data, node, at, 1);
    assert_eq!(int(&data, node, at, 2), 300);
    let (_, item) = node.field(3).unwrap();
    for (i, expected) in refs.iter().enumerate() {
        let at = start * 8 + i as u64 * u64::from(item.bits);
        assert_eq!(string(&data, item, at, start), *expected, "string {i}");
    }
    let (at, node) = field(&root, 0, 11).unwrap();
    assert_eq!(int(&data, node, at, 1), 1);
    let (at, node) = field(node, at, 2).unwrap();
    assert_eq!(string(&data, node, at, 0), b"tail");
}

#[test]
fn zeros_take_no_bits_but_are_counted() {
    let value = Value::Struct(vec![
        (1, Value::Bool(false)),
        (4, Value::List(Items::Ints(Column::U64(&[0; 1000])))),
        (5, Value::List(Items::Ints(Column::U32(&[])))),
        (6, Value::some(Value::Int(0))),
        (7, Value::List(Items::Strings(vec![b"", b""]))),
        (8, Value::String(b"")),
    ]);
    let (root, _, data) = frozen(&value);
    assert_eq!(root.bits, 10 + 1 + 2); // the count, that 6 is set, the count
    assert_eq!(data.len(), 2 + PADDING);
    let (at, node) = field(&root, 0, 4).unwrap();
    assert_eq!(int(&data, node, at, 2), 1000);
    assert_eq!(int(&data, &root, 0, 1), 0);
    assert!(field(&root, 0, 5).is_none());
    let (at, node) = field(&root, 0, 6).unwrap();
    assert_eq!((int(&data, node, at, 1), int(&data, node, at, 2)), (1, 0));
}

#[test]
fn numbers_of_all_widths_survive_at_all_bit_positions() {
    for before in 0..9 {
        let values: Vec<u64> = (0..64).map(|bit| u64::MAX >> bit).collect();
        let value = Value::Struct(vec![
            (1, Value::Int((1 << before) - 1)),
            (2, Value::Int(u64::MAX)),
            (
                3,
                Value::List(Items::Structs(vec![
                    (1, Column::U32(&[u32::MAX; 64])),
                    (2, Column::U64(&values)),
                ])),
            ),
        ]);
        let (root, _, data) = frozen(&value);
        assert_eq!(int(&data, &root, 0, 2), u64::MAX);
        let (at, node) = field(&root, 0, 3).unwrap();
        let start = int(&data, node, at, 1) * 8;
        let (_, item) = node.field(3).unwrap();
        for (i, expected) in values.iter().enumerate() {
            let at = start + i as u64 * u64::from(item.bits);
            assert_eq!(int(&data, item, at, 1), u64::from(u32::MAX));
            assert_eq!(int(&data, item, at, 2), *expected);
        }
    }
}
