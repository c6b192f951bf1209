//! Decodes records of bit fields in either byte order, as stored by versions 1 to 3.
//!
//! In: bytes, the order, and the widths of a record's fields in bits. Out: the fields.
//!
//! These versions store C structures with bit fields in the byte order of the machine: fields start
//! at the lowest bit of the first byte in little-endian images, at the highest bit in big-endian
//! ones. Integers of 16, 32 or 64 bits follow the same rule.
//! **Invariant:** the widths of a record add up to whole bytes.

/// The byte order of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldOrder {
    /// Least significant byte (and bit field) first.
    Little,
    /// Most significant byte (and bit field) first.
    Big,
}

/// Returns the length of a record in bytes.
pub(crate) const fn bytes_of(widths: &[u32]) -> usize {
    let (mut bits, mut rest) = (0, widths);
    while let [width, others @ ..] = rest {
        bits += *width as usize;
        rest = others;
    }
    bits / 8
}

/// Splits a record into fields; bits past the end of the bytes are zero.
pub(crate) fn split<const N: usize>(
    bytes: &[u8],
    order: FieldOrder,
    widths: &[u32; N],
) -> [u64; N] {
    let mut at = 0;
    widths.map(|width| {
        let value = take(bytes, order, at, width);
        at += width;
        value
    })
}

/// Extracts the field of `width` bits at bit `at`.
fn take(bytes: &[u8], order: FieldOrder, mut at: u32, width: u32) -> u64 {
    let mut value = 0;
    let mut done = 0;
    while done < width {
        let byte = bytes.get((at / 8) as usize).copied().unwrap_or(0);
        let skipped = at % 8;
        let count = (8 - skipped).min(width - done);
        let mask = (1u16 << count) - 1;
        let shift = match order {
            FieldOrder::Little => skipped,
            FieldOrder::Big => 8 - skipped - count,
        };
        let part = u64::from((u16::from(byte) >> shift) & mask);
        value = match order {
            FieldOrder::Little => value | (part << done),
            FieldOrder::Big => (value << count) | part,
        };
        at += count;
        done += count;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTORY: [u32; 4] = [19, 13, 32, 24];

    #[test]
    fn both_orders_are_mirrors() {
        assert_eq!(bytes_of(&DIRECTORY), 11);
        // 19 bits 0x12345, 13 bits 0x0678, 32 bits 0x9abcdef0, 24 bits 0x112233
        let little = [
            0x45, 0x23, 0xc1, 0x33, 0xf0, 0xde, 0xbc, 0x9a, 0x33, 0x22, 0x11,
        ];
        let big = [
            0x24, 0x68, 0xa6, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x11, 0x22, 0x33,
        ];
        let fields = [0x12345, 0x678, 0x9abc_def0, 0x11_2233];
        assert_eq!(split(&little, FieldOrder::Little, &DIRECTORY), fields);
        assert_eq!(split(&big, FieldOrder::Big, &DIRECTORY), fields);
    }

    #[test]
    fn integers_are_fields_too() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(
            split(&bytes, FieldOrder::Big, &[64]),
            [u64::from_be_bytes(bytes)]
        );
        assert_eq!(
            split(&bytes, FieldOrder::Little, &[64]),
            [u64::from_le_bytes(bytes)]
        );
        assert_eq!(split(&[], FieldOrder::Big, &[16]), [0]);
    }
}
