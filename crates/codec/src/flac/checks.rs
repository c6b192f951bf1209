//! Shared by decoder and encoder: stream information, checksums, widths, the error of a stream.

use sinterfs_model::Error;

/// The stream information of the first metadata block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamInfo {
    /// The number of channels, 1 to 8.
    pub channels: u32,
    /// The width of a sample in bits, 4 to 32.
    pub bits_per_sample: u32,
}

/// Returns whether a number fits `bits` bits in two's complement.
pub(super) fn fits(sample: i64, bits: u32) -> bool {
    matches!(sample >> (bits - 1), 0 | -1)
}

/// Computes the CRC-16 of frames: polynomial 0x8005, highest bit first, four bytes a step.
pub(super) fn crc16(bytes: &[u8]) -> u16 {
    let entry = |table: usize, byte: u8| -> u16 {
        CRC16
            .get(table)
            .and_then(|table| table.get(usize::from(byte)))
            .copied()
            .unwrap_or_default()
    };
    let (words, rest) = bytes.as_chunks::<4>();
    let crc = words.iter().fold(0u16, |crc, &[b0, b1, b2, b3]| {
        let [high, low] = crc.to_be_bytes();
        entry(3, high ^ b0) ^ entry(2, low ^ b1) ^ entry(1, b2) ^ entry(0, b3)
    });
    rest.iter().fold(crc, |crc, &byte| {
        let [high, low] = crc.to_be_bytes();
        (u16::from(low) << 8) ^ entry(0, high ^ byte)
    })
}

/// The contribution of a byte to the CRC-16 when zero to three bytes follow it.
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated by the compiler, with a byte"
)]
static CRC16: [[u16; 256]; 4] = {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut table = 0;
        while table < 4 {
            let mut bit = 0;
            while bit < 8 {
                crc = (crc << 1) ^ ((crc >> 15) * 0x8005);
                bit += 1;
            }
            tables[table][byte] = crc;
            table += 1;
        }
        byte += 1;
    }
    tables
};

/// Computes the CRC-8 of frame headers: polynomial 0x07, highest bit first.
pub(super) fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc: u8, _| (crc << 1) ^ ((crc >> 7) * 0x07))
    })
}

#[cold]
pub(super) fn bad(what: &'static str) -> Error {
    Error::corrupt(format!("flac: {what}"))
}
