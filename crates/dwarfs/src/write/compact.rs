//! Encodes thrift's compact protocol, for schema and history.
//!
//! In: calls in the order of the fields. Out: bytes. **Precondition:** callers open and close
//! structs in pairs. Format: Apache Thrift, "compact protocol".

/// The types of the compact protocol used by DwarFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Type {
    I16 = 4,
    I32 = 5,
    I64 = 6,
    Binary = 8,
    List = 9,
    Set = 10,
    Map = 11,
    Struct = 12,
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;

/// Encodes a struct.
#[derive(Debug, Default)]
pub(super) struct CompactWriter {
    out: Vec<u8>,
    /// The last field id of each open struct, the innermost at the end.
    last: Vec<i16>,
}

impl CompactWriter {
    /// Returns the encoded bytes.
    pub(super) fn finish(self) -> Vec<u8> {
        debug_assert!(self.last.is_empty(), "a struct is still open");
        self.out
    }

    /// Opens a struct: the root, the value of a field or an element.
    pub(super) fn begin_struct(&mut self) {
        self.last.push(0);
    }

    /// Closes the innermost struct.
    pub(super) fn end_struct(&mut self) {
        self.last.pop();
        self.out.push(0);
    }

    fn header(&mut self, id: i16, kind: u8) {
        let last = self
            .last
            .last_mut()
            .map_or(0, |last| std::mem::replace(last, id));
        match u8::try_from(i32::from(id) - i32::from(last)) {
            Ok(delta @ 1..=15) => self.out.push(delta << 4 | kind),
            _ => {
                self.out.push(kind);
                self.varint(zigzag(i64::from(id)));
            }
        }
    }

    /// Opens a field whose value the caller writes next.
    pub(super) fn field(&mut self, id: i16, kind: Type) {
        self.header(id, kind as u8);
    }

    /// Writes a boolean field.
    pub(super) fn bool_field(&mut self, id: i16, value: bool) {
        self.header(id, if value { TRUE } else { FALSE });
    }

    /// Writes an integer field.
    pub(super) fn int_field(&mut self, id: i16, kind: Type, value: i64) {
        self.header(id, kind as u8);
        self.int(value);
    }

    /// Writes a string field.
    pub(super) fn string_field(&mut self, id: i16, value: &[u8]) {
        self.header(id, Type::Binary as u8);
        self.string(value);
    }

    /// Opens a list or set of `count` elements; the caller writes them next.
    pub(super) fn elements(&mut self, kind: Type, count: usize) {
        match u8::try_from(count) {
            Ok(count @ 0..=14) => self.out.push(count << 4 | kind as u8),
            _ => {
                self.out.push(0xf0 | kind as u8);
                self.varint(count as u64);
            }
        }
    }

    /// Opens a map of `count` pairs; the caller writes them next.
    pub(super) fn pairs(&mut self, key: Type, value: Type, count: usize) {
        self.varint(count as u64);
        if count > 0 {
            self.out.push((key as u8) << 4 | value as u8);
        }
    }

    /// Writes a number that is an element or a key.
    pub(super) fn int(&mut self, value: i64) {
        self.varint(zigzag(value));
    }

    /// Writes a string that is an element.
    pub(super) fn string(&mut self, value: &[u8]) {
        self.varint(value.len() as u64);
        self.out.extend_from_slice(value);
    }

    #[allow(clippy::cast_possible_truncation, reason = "seven bits are left")]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
}

#[allow(clippy::cast_sign_loss, reason = "the sign is kept in bit 0")]
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_written_byte_by_byte() {
        let mut w = CompactWriter::default();
        w.begin_struct();
        w.bool_field(1, true);
        w.int_field(4, Type::I32, -1);
        w.string_field(40, b"ab");
        w.field(41, Type::List);
        w.elements(Type::Struct, 1);
        w.begin_struct();
        w.bool_field(2, false);
        w.end_struct();
        w.field(42, Type::Map);
        w.pairs(Type::I16, Type::I64, 0);
        w.field(43, Type::Map);
        w.pairs(Type::I16, Type::I64, 1);
        w.int(3);
        w.int(300);
        w.end_struct();
        #[rustfmt::skip]
        assert_eq!(w.finish(), [
            0x11,                   // field 1: true
            0x35, 0x01,             // field 1 + 3: i32, zigzag of -1
            0x08, 0x50, 2, b'a', b'b', // field 40 = zigzag 80: two bytes
            0x19, 0x1c,             // field 41: list of one struct
            0x22, 0x00,             //   field 2: false; end
            0x1b, 0x00,             // field 42: empty map, without types
            0x1b, 0x01, 0x46,       // field 43: map of one i16 to i64
            0x06, 0xd8, 0x04,       //   3: 300
            0x00,
        ]);
    }

    #[test]
    fn long_lists_have_a_long_header() {
        let mut w = CompactWriter::default();
        w.elements(Type::Binary, 14);
        w.elements(Type::Binary, 15);
        assert_eq!(w.finish(), [0xe8, 0xf8, 15]);
    }
}
