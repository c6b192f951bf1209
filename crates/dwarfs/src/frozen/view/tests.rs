//! Views over annotated bytes: what the schema says is where, and nowhere else.

use super::*;
use crate::frozen::schema::{Field, tests::EXAMPLE};

fn layout(size: u32, bits: u16, fields: &[(i16, i16, i16)]) -> Layout {
    let fields = fields
        .iter()
        .map(|&(id, layout, offset)| (id, Field { layout, offset }))
        .collect();
    Layout { size, bits, fields }
}

fn schema(layouts: Vec<Layout>) -> Schema {
    let layouts: std::collections::BTreeMap<i16, Layout> = (0..).zip(layouts).collect();
    let root = *layouts.keys().next_back().unwrap();
    Schema {
        file_version: 1,
        relax_type_checks: true,
        layouts,
        root,
    }
}

#[test]
fn a_bit_packed_list() {
    let schema = Schema::parse(EXAMPLE).unwrap();
    #[rustfmt::skip]
    let data = [
        0b010_00010, // 5 bits: count 2; 3 bits of the distance: 2 ...
        0b0000_0000, // ... and the other 3
        0xa6, 0x2a, 0x00, // item 0: 0xaa6 = 2726, 2
        0x34, 0x12, 0xab, // item 1: 0x234, 0xab1
    ];
    let list = Node::root(&schema, &data).list().unwrap();
    assert_eq!(list.len(), 2);
    let offset = list.column(2, 32).unwrap();
    let size = list.column(3, 32).unwrap();
    assert_eq!(offset.iter(&data).collect::<Vec<_>>(), [2726, 0x234]);
    assert_eq!(size.iter(&data).collect::<Vec<_>>(), [2, 0xab1]);
    assert_eq!(
        list.item(1).unwrap().field(3).unwrap().u32().unwrap(),
        0xab1
    );
    assert_eq!(offset.get(&data, 2), 0);

    // a field that the schema leaves out is zero everywhere
    let absent = list.column(1, 32).unwrap();
    assert_eq!(absent.iter(&data).collect::<Vec<_>>(), [0, 0]);

    // one byte less, and the last item is outside
    assert!(Node::root(&schema, &data[..7]).list().is_err());
    assert!(list.item(2).is_err());
}

#[test]
fn byte_sized_items_are_at_whole_bytes() {
    let schema = schema(vec![
        layout(0, 8, &[]),                                 // 0: u8
        layout(0, 4, &[]),                                 // 1: u4
        layout(3, 20, &[(1, 0, 1), (2, 1, -4)]), // 2: item, 3 bytes: u8 at byte 1, u4 at bit 4
        layout(2, 16, &[(1, 0, 0), (2, 0, 1), (3, 2, 0)]), // 3: list
    ]);
    #[rustfmt::skip]
    let data = [
        2, 2,          // distance, count
        0x50, 7, 0,    // item 0: 5 in the high bits of byte 0, 7
        0x60, 8, 0xff, // item 1
    ];
    let list = Node::root(&schema, &data).list().unwrap();
    assert_eq!(
        list.column(1, 8).unwrap().iter(&data).collect::<Vec<_>>(),
        [7, 8]
    );
    assert_eq!(
        list.column(2, 8).unwrap().iter(&data).collect::<Vec<_>>(),
        [5, 6]
    );
}

#[test]
fn strings_count_their_distance_from_the_start_of_the_list() {
    let schema = schema(vec![
        layout(0, 4, &[]),                                 // 0: u4
        layout(0, 8, &[(1, 0, 0), (2, 0, -4)]),            // 1: string: distance, count
        layout(0, 8, &[(1, 0, 0), (2, 0, -4), (3, 1, 0)]), // 2: list
    ]);
    #[rustfmt::skip]
    let data = [
        0x31, // list: distance 1, count 3
        0x23, // string 0: distance 3, count 2
        0x00, // string 1: empty
        0x15, // string 2: distance 5, count 1
        b'a', b'b', b'c',
    ];
    let strings = Node::root(&schema, &data)
        .list()
        .unwrap()
        .strings()
        .unwrap();
    let all: Vec<_> = (0..strings.len()).map(|i| strings.get(&data, i)).collect();
    assert_eq!(all, [b"ab".as_slice(), b"", b"c"]);
    assert_eq!(strings.get(&data, 3), b"");
    assert!(
        Node::root(&schema, &data[..6])
            .list()
            .unwrap()
            .strings()
            .is_err()
    );
}

#[test]
fn optionals_and_absent_fields() {
    let schema = schema(vec![
        layout(0, 1, &[]),                      // 0: bool
        layout(0, 7, &[]),                      // 1: u7
        layout(0, 8, &[(1, 0, 0), (2, 1, -1)]), // 2: optional u7
        layout(2, 16, &[(1, 2, 0), (2, 2, 1)]), // 3: root: two optionals
    ]);
    let data = [0b0010_1011, 0b0000_0010];
    let root = Node::root(&schema, &data);
    assert_eq!(
        root.field(1)
            .unwrap()
            .optional()
            .unwrap()
            .unwrap()
            .u32()
            .unwrap(),
        21
    );
    assert!(root.field(2).unwrap().optional().unwrap().is_none());
    let absent = root.field(9).unwrap();
    assert!(absent.optional().unwrap().is_none());
    assert_eq!(absent.list().unwrap().len(), 0);
    assert_eq!(absent.string().unwrap(), 0..0);
    assert_eq!(absent.field(4).unwrap().u64().unwrap(), 0);
}

#[test]
fn hostile_schemas_are_refused() {
    let schema = schema(vec![
        layout(0, 64, &[]),                                  // 0: u64
        layout(0, 0, &[]),                                   // 1: nothing
        layout(16, 128, &[(1, 0, 0), (2, 0, 8), (3, 1, 0)]), // 2: list of nothing
    ]);
    let mut data = [0xff; 16];
    assert!(Node::root(&schema, &data).list().is_err()); // 2^64 - 1 items without bits
    data[8..].copy_from_slice(&3_u64.to_le_bytes());
    assert!(Node::root(&schema, &data).list().is_err()); // distance 2^64 - 1
    data[..8].copy_from_slice(&0_u64.to_le_bytes());
    assert_eq!(
        Node::root(&schema, &data)
            .list()
            .unwrap()
            .ints(32)
            .unwrap()
            .get(&data, 2),
        0
    );
    assert!(Node::root(&schema, &data).field(1).unwrap().u32().is_err()); // 64 bits for a u32
}
