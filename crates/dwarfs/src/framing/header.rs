//! The LEB128 size, and the header that follows it for FLAC and RICEPP: a struct of numbers in
//! thrift's compact protocol.
//!
//! **Invariant:** no read beyond the given bytes; a field type that cannot be skipped is an error.

use sinterfs_model::{Error, Result};

/// Decodes a LEB128 number; returns it and the remaining bytes.
pub(super) fn size(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let mut rest = bytes;
    let value = number(&mut rest)?;
    Ok((value, rest))
}

/// Encodes a number as LEB128.
pub(super) fn write_size(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        let [low, ..] = value.to_le_bytes();
        bytes.push(low | 0x80);
        value >>= 7;
    }
    let [last, ..] = value.to_le_bytes();
    bytes.push(last);
    bytes
}

/// Holds the numbers of a struct by their field ids.
pub(super) struct Fields(Vec<(i64, u64)>);

impl Fields {
    /// Decodes a struct; returns it and the remaining bytes.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let mut rest = bytes;
        let mut fields = Vec::new();
        let mut id = 0i64;
        loop {
            let head = byte(&mut rest)?;
            if head == 0 {
                return Ok((Self(fields), rest));
            }
            id = match i64::from(head >> 4) {
                0 => signed(&mut rest)?,
                delta => id.checked_add(delta).ok_or_else(|| bad("field id"))?,
            };
            let value = match head & 0x0f {
                1 => 1,
                2 => 0,
                3 => byte(&mut rest)?.into(),
                // upstream stores unsigned numbers as thrift's signed ones of the same width
                4 => signed(&mut rest)?.cast_unsigned() & 0xffff,
                5 => signed(&mut rest)?.cast_unsigned() & 0xffff_ffff,
                6 => signed(&mut rest)?.cast_unsigned(),
                other => return Err(bad(&format!("field {id} has type {other}"))),
            };
            fields.push((id, value));
        }
    }

    /// Returns the value of a field; 0 if it is absent, as in thrift.
    pub(super) fn get(&self, id: i64) -> u64 {
        self.0
            .iter()
            .rev()
            .find(|field| field.0 == id)
            .map_or(0, |field| field.1)
    }
}

/// Encodes a struct of numbers with the field ids 1, 2, and so on.
pub(super) fn write_fields(fields: &[Field]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let zigzag = |value: u32| write_size(u64::from(value) << 1);
    for field in fields {
        // each id is one more than the one before
        match *field {
            Field::Bool(value) => bytes.push(if value { 0x11 } else { 0x12 }),
            Field::Byte(value) => bytes.extend([0x13, value]),
            Field::Short(value) => {
                bytes.push(0x14);
                bytes.extend(zigzag(value.into()));
            }
            Field::Int(value) => {
                bytes.push(0x15);
                bytes.extend(zigzag(value));
            }
        }
    }
    bytes.push(0);
    bytes
}

/// A number of a struct, by its thrift type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field {
    Bool(bool),
    Byte(u8),
    /// Below 2^15.
    Short(u16),
    /// Below 2^31.
    Int(u32),
}

fn byte(bytes: &mut &[u8]) -> Result<u8> {
    let (&first, rest) = bytes.split_first().ok_or_else(|| bad("ends early"))?;
    *bytes = rest;
    Ok(first)
}

/// Decodes a LEB128 number of at most 64 bits.
fn number(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = byte(bytes)?;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(bad("number above 64 bits"))
}

/// Decodes a zigzag number.
fn signed(bytes: &mut &[u8]) -> Result<i64> {
    let value = number(bytes)?;
    Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

#[cold]
fn bad(what: &str) -> Error {
    Error::corrupt(format!("compression header: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_trip() {
        for value in [0, 1, 127, 128, 300, 1 << 32, u64::MAX] {
            let mut bytes = write_size(value);
            bytes.push(9);
            assert_eq!(size(&bytes).unwrap(), (value, &[9][..]));
        }
        assert!(size(&[]).is_err());
        assert!(size(&[0x80; 3]).is_err());
        assert!(size(&[0xff; 10]).is_err());
        assert!(size(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).is_err());
    }

    #[test]
    fn headers_round_trip() {
        let fields = [
            Field::Int(128),
            Field::Short(2),
            Field::Byte(0xc1),
            Field::Bool(true),
            Field::Bool(false),
            Field::Short(1),
        ];
        let bytes = write_fields(&fields);
        // as upstream writes them
        assert_eq!(
            bytes,
            [0x15, 0x80, 2, 0x14, 4, 0x13, 0xc1, 0x11, 0x12, 0x14, 2, 0]
        );
        let (read, rest) = Fields::read(&bytes).unwrap();
        assert_eq!(
            [1, 2, 3, 4, 5, 6].map(|id| read.get(id)),
            [128, 2, 0xc1, 1, 0, 1]
        );
        assert!(rest.is_empty());
    }

    #[test]
    fn a_struct_of_numbers() {
        let bytes = [
            0x14, 4, // field 1, i16: 2
            0x13, 24, // field 2, byte: 24
            0x13, 0xc1, // field 3, byte: 0xc1
            0x31, // field 6, true
            0x05, 20, 0x80, 0x02, // field 10 (id of its own), i32: 128
            0,    // end
            7,
        ];
        let (fields, rest) = Fields::read(&bytes).unwrap();
        let values: Vec<u64> = [1, 2, 3, 6, 10, 11].map(|id| fields.get(id)).into();
        assert_eq!(values, [2, 24, 0xc1, 1, 128, 0]);
        assert_eq!(rest, [7]);
        for cut in 0..bytes.len() - 1 {
            assert!(Fields::read(&bytes[..cut]).is_err());
        }
        assert!(Fields::read(&[0x18, 0, 0]).is_err());
    }
}
