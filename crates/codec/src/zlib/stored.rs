//! Zlib streams that store their content (RFC 1950, RFC 1951).
//!
//! In: bytes. Out: a stream, for formats whose every unit is one, also those that do not get
//! smaller.

/// The most bytes of a stored block of deflate.
const BLOCK_MAX: usize = u16::MAX as usize;

/// Returns the length of the stream of `len` bytes, one at least.
pub fn stored_len(len: usize) -> usize {
    // header, checksum, and the header of each block
    len + 6 + 5 * len.div_ceil(BLOCK_MAX)
}

/// Makes a zlib stream that stores at least one byte as it is.
pub fn stored(raw: &[u8]) -> Vec<u8> {
    let mut stream = Vec::with_capacity(stored_len(raw.len()));
    // deflate with a window of 32 KiB, by the fastest algorithm
    stream.extend([0x78, 0x01]);
    let mut pieces = raw.chunks(BLOCK_MAX).peekable();
    while let Some(piece) = pieces.next() {
        let len = u16::try_from(piece.len()).unwrap_or(u16::MAX);
        stream.push(u8::from(pieces.peek().is_none()));
        stream.extend(len.to_le_bytes());
        stream.extend((!len).to_le_bytes());
        stream.extend(piece);
    }
    stream.extend(adler32(raw).to_be_bytes());
    stream
}

/// Computes the checksum of a zlib stream (RFC 1950, section 9).
fn adler32(bytes: &[u8]) -> u32 {
    const BASE: u32 = 65521;
    let (mut low, mut high) = (1u32, 0u32);
    // the sums of this many bytes fit in 32 bits
    for piece in bytes.chunks(5552) {
        for byte in piece {
            low += u32::from(*byte);
            high += low;
        }
        (low, high) = (low % BASE, high % BASE);
    }
    (high << 16) | low
}

#[cfg(all(test, feature = "deflate"))]
mod tests {
    use sinterfs_testkit::noise;

    use super::*;
    use crate::CodecId;

    #[test]
    fn streams_decode_to_what_they_store() {
        for len in [1, 4096, BLOCK_MAX, BLOCK_MAX + 1, 200_000] {
            let raw = noise(7, len);
            let stream = stored(&raw);
            assert_eq!(stream.len(), stored_len(len));
            let mut decoded = vec![0; len];
            let found = CodecId::Zlib.decode(&stream, &mut decoded).unwrap();
            assert!(found == len && decoded == raw, "{len}");
        }
    }
}
