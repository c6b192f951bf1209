//! The checksum of zip and 7z: CRC-32 (ISO 3309).
//!
//! In: bytes, in any number of pieces. Out: a checksum. **Invariant:** pieces give what the whole
//! gives; eight bytes go at a time, by a table for each.

/// Tables of the remainders of a byte with 0 to 7 zeros after it, bits reversed.
static TABLES: [[u32; 256]; 8] = tables();

#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a constant: the compiler would refuse an index out of range"
)]
const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[zeros - 1][byte];
            tables[zeros][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

/// A checksum of the bytes so far.
#[derive(Debug, Clone, Copy)]
pub struct Crc32(u32);

impl Default for Crc32 {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Crc32 {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in words {
            let low = self.0 ^ u32::from_le_bytes([a, b, c, d]);
            let [a, b, c, d] = low.to_le_bytes();
            let bytes = [a, b, c, d, e, f, g, h];
            let tables = TABLES.iter().rev();
            self.0 = bytes
                .iter()
                .zip(tables)
                .fold(0, |crc, (&byte, table)| crc ^ entry(table, byte));
        }
        for &byte in rest {
            let [low, ..] = self.0.to_le_bytes();
            self.0 = (self.0 >> 8) ^ TABLES.first().map_or(0, |table| entry(table, low ^ byte));
        }
    }

    /// Returns the checksum.
    pub fn finish(self) -> u32 {
        !self.0
    }

    /// Works out the checksum of some bytes.
    pub fn of(bytes: &[u8]) -> u32 {
        let mut crc = Self::default();
        crc.update(bytes);
        crc.finish()
    }
}

#[inline]
#[allow(
    clippy::indexing_slicing,
    reason = "a table has an entry for each byte"
)]
fn entry(table: &[u32; 256], byte: u8) -> u32 {
    table[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_is_that_of_the_catalogue() {
        assert_eq!(Crc32::of(b"123456789"), 0xcbf4_3926);
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let (first, rest) = bytes.split_at(13);
        let mut crc = Crc32::default();
        crc.update(first);
        crc.update(rest);
        assert_eq!(crc.finish(), Crc32::of(&bytes));
    }
}
