//! Extracts numbers of 0 to 64 bits from any bit position of a byte string, lowest bit first.
//!
//! **Invariant:** bits past the end read as zero; views check their range once, when they are
//! created, so this case does not occur for valid images.

/// Extracts `width` bits, at most 64, at bit number `bit`.
#[inline]
pub(crate) fn extract(data: &[u8], bit: u64, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let Ok(start) = usize::try_from(bit >> 3) else {
        return 0;
    };
    let shift = (bit & 7) as u32;
    let Some(tail) = data.get(start..) else {
        return 0;
    };
    let word = match tail.first_chunk::<8>() {
        Some(chunk) => {
            let word = u64::from_le_bytes(*chunk) >> shift;
            if shift + width > 64 {
                let next = tail.get(8).copied().map_or(0, u64::from);
                word | (next << (64 - shift))
            } else {
                word
            }
        }
        None => near_the_end(tail) >> shift,
    };
    if width == 64 {
        word
    } else {
        word & ((1 << width) - 1)
    }
}

/// Reads the last bytes, fewer than eight, as one number.
#[cold]
fn near_the_end(tail: &[u8]) -> u64 {
    tail.iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads bit by bit, the slow and obvious way.
    fn reference(data: &[u8], bit: u64, width: u32) -> u64 {
        (0..u64::from(width)).fold(0, |value, i| {
            let at = bit + i;
            let byte = data.get((at / 8) as usize).copied().unwrap_or(0);
            value | (u64::from(byte >> (at % 8) & 1) << i)
        })
    }

    #[test]
    fn the_example_of_the_format_description() {
        let data = [0x91, 0xac];
        assert_eq!(extract(&data, 0, 5), 17); // count of chunks
        assert_eq!(extract(&data, 5, 6), 36); // their distance
    }

    #[test]
    fn every_place_and_width_agrees_with_bit_by_bit() {
        let data: Vec<u8> = (0..24_u32).map(|i| (i * 167 + 13) as u8).collect();
        for bit in 0..200 {
            for width in 0..=64 {
                assert_eq!(
                    extract(&data, bit, width),
                    reference(&data, bit, width),
                    "{bit} {width}"
                );
            }
        }
    }

    #[test]
    fn past_the_end_there_are_zeros() {
        assert_eq!(extract(&[0xff], 8, 64), 0);
        assert_eq!(extract(&[0xff], u64::MAX, 64), 0);
        assert_eq!(extract(&[], 0, 64), 0);
    }
}
