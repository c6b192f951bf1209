//! The checksums of .xz: CRC32 (ISO 3309) and CRC64 (ECMA-182).
//!
//! In: bytes. Out: a checksum. The long one goes eight bytes at a time, by a table for each.

/// Tables of the remainders of a byte with 0 to 7 zeros after it, bits reversed.
static CRC64: [[u64; 256]; 8] = tables(0xc96c_5795_d787_0f42);

const fn tables(polynomial: u64) -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (polynomial & 0u64.wrapping_sub(crc & 1));
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

/// Works out the CRC64 of some bytes.
pub(super) fn crc64(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut crc = u64::MAX;
    for &word in words {
        let mixed = (crc ^ u64::from_le_bytes(word)).to_le_bytes();
        crc = mixed
            .iter()
            .zip(CRC64.iter().rev())
            .fold(0, |crc, (&byte, table)| crc ^ table[usize::from(byte)]);
    }
    for &byte in rest {
        crc = (crc >> 8) ^ CRC64[0][usize::from(crc as u8 ^ byte)];
    }
    !crc
}

/// Works out the CRC32 of a few bytes.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1))
        })
    })
}
