//! The .xz stream around one block of LZMA2 (tukaani.org/xz/xz-file-format.txt, sections 2 to 5).
//!
//! In: the chunks of a block. Out: stream header, block header, chunks and their end, padding,
//! CRC64, index, footer.

use super::crc::{crc32, crc64};

/// The stream's flags: a CRC64 of each block.
const FLAGS: [u8; 2] = [0, 4];

/// The bytes of the stream header.
const STREAM_HEADER: usize = 12;

/// Ids of filters.
const LZMA2: u8 = 0x21;

/// A dictionary's size as LZMA2 writes it: 2 or 3 times a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dictionary(u8);

impl Dictionary {
    /// The code of the largest one, 3 GiB; the one of 4 GiB less one byte is not used.
    const LAST: u8 = 39;

    /// Returns the smallest one for a block, or for a power of two if that is less.
    pub(super) fn for_block(len: usize, log: Option<u32>) -> Self {
        let most = log.map_or(u64::MAX, |log| 1 << log.min(32));
        let wanted = most.min(len as u64);
        let code = (0..Self::LAST).find(|&code| u64::from(Self(code).bytes()) >= wanted);
        Self(code.unwrap_or(Self::LAST))
    }

    /// Returns its size.
    pub(super) fn bytes(self) -> u32 {
        (2 | u32::from(self.0 & 1)) << (self.0 / 2 + 11)
    }
}

/// Starts a stream of one block.
pub(super) fn start(dictionary: Dictionary, branch_filter: Option<u8>) -> Vec<u8> {
    let mut out = b"\xfd7zXZ\0".to_vec();
    out.extend(FLAGS);
    out.extend(crc32(&FLAGS).to_le_bytes());
    // size in words less one, then the number of filters less one; sizes of the block are left out
    let mut header = vec![0, u8::from(branch_filter.is_some())];
    if let Some(id) = branch_filter {
        header.extend([id, 0]);
    }
    header.extend([LZMA2, 1, dictionary.0]);
    header.resize(header.len().next_multiple_of(4), 0);
    header[0] = (header.len() / 4) as u8;
    out.extend(&header);
    out.extend(crc32(&header).to_le_bytes());
    out
}

/// The mark after the last chunk.
const END: u8 = 0;

/// Ends the stream after the chunks of a block.
pub(super) fn finish(out: &mut Vec<u8>, block: &[u8]) {
    out.push(END);
    let unpadded = out.len() - STREAM_HEADER + size_of::<u64>();
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(crc64(block).to_le_bytes());
    let mut index = vec![0, 1];
    integer(&mut index, unpadded as u64);
    integer(&mut index, block.len() as u64);
    index.resize(index.len().next_multiple_of(4), 0);
    out.extend(&index);
    out.extend(crc32(&index).to_le_bytes());
    // the index's size in words less one, where the checksum is a word
    let mut footer = ((index.len() / 4) as u32).to_le_bytes().to_vec();
    footer.extend(FLAGS);
    out.extend(crc32(&footer).to_le_bytes());
    out.extend(&footer);
    out.extend(b"YZ");
}

/// Writes a variable-length integer: 7 bits a byte, least first.
fn integer(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
