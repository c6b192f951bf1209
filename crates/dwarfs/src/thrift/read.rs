//! Decodes thrift's compact protocol.
//!
//! In: bytes of one structure. Out: its fields one by one, as the caller asks for them.
//!
//! **Invariant:** lengths are bounded by the remaining bytes; unknown fields of any type are
//! skipped; nesting is bounded. Spec: "Thrift compact protocol encoding" of Apache Thrift.

use sinterfs_model::{Error, Result};

/// The deepest nesting that `skip` follows.
const MAX_DEPTH: u32 = 32;

/// A type on the wire; `TRUE` and `FALSE` include the field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire(u8);

impl Wire {
    pub(crate) const TRUE: Self = Self(1);
    pub(crate) const FALSE: Self = Self(2);
    pub(crate) const BYTE: Self = Self(3);
    pub(crate) const I16: Self = Self(4);
    pub(crate) const I32: Self = Self(5);
    pub(crate) const I64: Self = Self(6);
    pub(crate) const DOUBLE: Self = Self(7);
    pub(crate) const BINARY: Self = Self(8);
    pub(crate) const LIST: Self = Self(9);
    pub(crate) const SET: Self = Self(10);
    pub(crate) const MAP: Self = Self(11);
    pub(crate) const STRUCT: Self = Self(12);
    pub(crate) const FLOAT: Self = Self(13);

    /// Returns the value of a `bool` field.
    pub(crate) fn flag(self) -> Result<bool> {
        match self {
            Self::TRUE => Ok(true),
            Self::FALSE => Ok(false),
            _ => Err(wrong_type(self, "a bool")),
        }
    }

    /// Fails with `Corrupt` unless the field has the given type.
    pub(crate) fn expect(self, wanted: Self, what: &'static str) -> Result<()> {
        if self == wanted {
            Ok(())
        } else {
            Err(wrong_type(self, what))
        }
    }
}

#[cold]
fn wrong_type(found: Wire, wanted: &'static str) -> Error {
    Error::corrupt(format!("thrift: expected {wanted}, found type {}", found.0))
}

/// Decodes a structure from front to back.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the bytes that have not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| Error::corrupt("thrift: the bytes end within a value"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        self.take(1)?
            .first()
            .copied()
            .ok_or_else(|| Error::corrupt("thrift: no byte is left"))
    }

    /// Reads an unsigned varint of at most 64 bits.
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("thrift: varint of more than 64 bits"))
    }

    /// Reads a signed integer (`i16`, `i32` and `i64` look the same).
    pub(crate) fn int<T: TryFrom<i64>>(&mut self) -> Result<T> {
        let zigzag = self.varint()?;
        let value = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
        T::try_from(value)
            .map_err(|_| Error::corrupt(format!("thrift: the integer {value} is out of range")))
    }

    /// Reads the next field's id and type; `None` at the end of the structure. `last` holds the id
    /// of the field before, 0 at first.
    pub(crate) fn field(&mut self, last: &mut i16) -> Result<Option<(i16, Wire)>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        let id = match i16::from(head >> 4) {
            0 => self.int()?,
            delta => last
                .checked_add(delta)
                .ok_or_else(|| Error::corrupt("thrift: field id out of range"))?,
        };
        *last = id;
        Ok(Some((id, Wire(head & 0x0f))))
    }

    /// Reads a string's bytes.
    pub(crate) fn binary(&mut self) -> Result<&'a [u8]> {
        let len = self.count()?;
        self.take(len)
    }

    /// Reads a string, replacing what is not UTF-8.
    pub(crate) fn string(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.binary()?).into_owned())
    }

    /// Reads the head of a list or set: how many items of which type.
    pub(crate) fn list(&mut self) -> Result<(usize, Wire)> {
        let head = self.byte()?;
        let count = match usize::from(head >> 4) {
            15 => self.count()?,
            count => count,
        };
        self.check_count(count)?;
        Ok((count, Wire(head & 0x0f)))
    }

    /// Reads the head of a map: how many pairs, the types of keys and values.
    pub(crate) fn map(&mut self) -> Result<(usize, Wire, Wire)> {
        let count = self.count()?;
        if count == 0 {
            return Ok((0, Wire(0), Wire(0)));
        }
        let types = self.byte()?;
        self.check_count(count)?;
        Ok((count, Wire(types >> 4), Wire(types & 0x0f)))
    }

    fn count(&mut self) -> Result<usize> {
        usize::try_from(self.varint()?).map_err(|_| Error::corrupt("thrift: length out of range"))
    }

    /// Fails with `Corrupt` for more items than bytes: each item takes at least one byte, so loops
    /// over items are bounded by the input.
    fn check_count(&self, count: usize) -> Result<()> {
        if count > self.rest.len() {
            return Err(Error::corrupt(format!(
                "thrift: {count} items, but only {} bytes are left",
                self.rest.len()
            )));
        }
        Ok(())
    }

    /// Skips a field's value.
    pub(crate) fn skip(&mut self, wire: Wire) -> Result<()> {
        if matches!(wire, Wire::TRUE | Wire::FALSE) {
            return Ok(());
        }
        self.skip_value(wire, MAX_DEPTH)
    }

    fn skip_value(&mut self, wire: Wire, depth: u32) -> Result<()> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| Error::corrupt("thrift: structures are nested too deeply"))?;
        match wire {
            // in a container a bool is a byte
            Wire::TRUE | Wire::FALSE | Wire::BYTE => self.take(1).map(drop),
            Wire::I16 | Wire::I32 | Wire::I64 => self.varint().map(drop),
            Wire::FLOAT => self.take(4).map(drop),
            Wire::DOUBLE => self.take(8).map(drop),
            Wire::BINARY => self.binary().map(drop),
            Wire::LIST | Wire::SET => {
                let (count, item) = self.list()?;
                (0..count).try_for_each(|_| self.skip_value(item, depth))
            }
            Wire::MAP => {
                let (count, key, value) = self.map()?;
                (0..count).try_for_each(|_| {
                    self.skip_value(key, depth)?;
                    self.skip_value(value, depth)
                })
            }
            Wire::STRUCT => {
                let mut last = 0;
                while let Some((_, wire)) = self.field(&mut last)? {
                    if !matches!(wire, Wire::TRUE | Wire::FALSE) {
                        self.skip_value(wire, depth)?;
                    }
                }
                Ok(())
            }
            Wire(other) => Err(Error::corrupt(format!("thrift: unknown type {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_end_at_64_bits() {
        assert_eq!(Reader::new(&[0x7f]).varint().unwrap(), 127);
        assert_eq!(Reader::new(&[0xac, 0x02]).varint().unwrap(), 300);
        let max = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Reader::new(&max).varint().unwrap(), u64::MAX);
        let more = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert!(Reader::new(&more).varint().is_err());
        assert!(Reader::new(&[0x80]).varint().is_err());
    }

    #[test]
    fn integers_are_zigzag() {
        assert_eq!(Reader::new(&[0x00]).int::<i16>().unwrap(), 0);
        assert_eq!(Reader::new(&[0x01]).int::<i16>().unwrap(), -1);
        assert_eq!(Reader::new(&[0x02]).int::<i16>().unwrap(), 1);
        assert_eq!(
            Reader::new(&[0x81, 0x80, 0x04]).int::<i32>().unwrap(),
            -32769
        );
        assert!(Reader::new(&[0x81, 0x80, 0x04]).int::<i16>().is_err());
    }

    #[test]
    fn fields_count_up_or_name_their_id() {
        #[rustfmt::skip]
        let bytes = [
            0x15, 0x0a,       // field 1 (+1), i32: 5
            0x21,             // field 3 (+2), true
            0x08, 0x02, 0x02, // field 1 (long form), binary of 2 bytes:
            b'h', b'i',
            0x1c,             // field 2 (+1), struct
            0x19, 0x24,       //   field 1, list of 2 i16
            0x02, 0x04,       //     1, 2
            0x00,             //   end
            0x00,             // end
        ];
        let mut reader = Reader::new(&bytes);
        let mut last = 0;
        assert_eq!(reader.field(&mut last).unwrap(), Some((1, Wire::I32)));
        assert_eq!(reader.int::<i32>().unwrap(), 5);
        let (id, wire) = reader.field(&mut last).unwrap().unwrap();
        assert_eq!((id, wire.flag().unwrap()), (3, true));
        assert_eq!(reader.field(&mut last).unwrap(), Some((1, Wire::BINARY)));
        assert_eq!(reader.string().unwrap(), "hi");
        let (id, wire) = reader.field(&mut last).unwrap().unwrap();
        assert_eq!(id, 2);
        reader.skip(wire).unwrap();
        assert_eq!(reader.field(&mut last).unwrap(), None);
        assert!(reader.rest().is_empty());
    }

    #[test]
    fn lengths_are_bounded_by_the_input() {
        assert!(Reader::new(&[0xf4, 0xff, 0xff, 0xff, 0x7f]).list().is_err());
        assert!(Reader::new(&[0xff, 0xff, 0x03, 0x4c, 0]).map().is_err());
        assert!(Reader::new(&[5, b'a']).binary().is_err());
    }

    #[test]
    fn skipping_is_bounded_in_depth() {
        let nested = [0x1c; 10_000];
        assert!(Reader::new(&nested).skip(Wire::STRUCT).is_err());
    }
}
