//! Checksums of bytes in memory, each as the formats store it.

use std::io::{ErrorKind, Read};

use sha2::{Digest, Sha256, Sha384, Sha512, Sha512_256};

/// Computes XXH3 with 64 bits and seed 0.
pub fn xxh3_64(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// Computes XXH32.
pub fn xxh32(bytes: &[u8], seed: u32) -> u32 {
    xxhash_rust::xxh32::xxh32(bytes, seed)
}

/// Computes [`xxh3_64`] of bytes that arrive in parts.
#[derive(Default)]
pub struct Xxh3(xxhash_rust::xxh3::Xxh3Default);

impl Xxh3 {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the checksum of all bytes so far.
    pub fn digest(&self) -> u64 {
        self.0.digest()
    }
}

impl std::fmt::Debug for Xxh3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Xxh3")
    }
}

/// Computes SHA-256.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Computes SHA-256 of everything up to the end of a stream; also returns the number of bytes.
pub fn sha256_of(source: impl Read) -> std::io::Result<([u8; 32], u64)> {
    let (hash, len) = hash_of::<Sha256>(source)?;
    Ok((hash.finalize().into(), len))
}

/// Computes SHA-384 of everything up to the end of a stream.
pub fn sha384_of(source: impl Read) -> std::io::Result<[u8; 48]> {
    Ok(hash_of::<Sha384>(source)?.0.finalize().into())
}

/// Computes SHA-512 of everything up to the end of a stream.
pub fn sha512_of(source: impl Read) -> std::io::Result<[u8; 64]> {
    Ok(hash_of::<Sha512>(source)?.0.finalize().into())
}

/// Computes SHA-512/256 of everything up to the end of a stream.
pub fn sha512_256_of(source: impl Read) -> std::io::Result<[u8; 32]> {
    Ok(hash_of::<Sha512_256>(source)?.0.finalize().into())
}

fn hash_of<D: Digest>(mut source: impl Read) -> std::io::Result<(D, u64)> {
    let mut hash = D::new();
    let mut buffer = vec![0; 256 << 10];
    let mut len = 0;
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok((hash, len)),
            Ok(count) => {
                hash.update(buffer.get(..count).unwrap_or_default());
                len += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A SHA-1 digest.
pub type Sha1Digest = [u8; 20];

/// Computes SHA-1 of bytes that arrive in parts.
#[derive(Default, Clone)]
pub struct Sha1(sha1::Sha1);

impl Sha1 {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        Digest::update(&mut self.0, bytes);
    }

    /// Returns the digest of all bytes.
    pub fn finish(self) -> Sha1Digest {
        self.0.finalize().into()
    }
}

impl std::fmt::Debug for Sha1 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sha1")
    }
}

/// Computes SHA-512/256 (FIPS 180-4), which is not a truncated SHA-512.
pub fn sha512_256(bytes: &[u8]) -> [u8; 32] {
    Sha512_256::digest(bytes).into()
}

/// Continues a CRC32C (Castagnoli, RFC 3720) over more bytes. The first state is `u32::MAX`;
/// formats differ in whether they invert the last one.
pub fn crc32c(state: u32, bytes: &[u8]) -> u32 {
    continue_crc(&CRC32C, state, bytes)
}

/// Continues a CRC-32 (RFC 1952, as in zlib) over more bytes. The first state is `u32::MAX`; the
/// checksum is the inverse of the last one.
pub fn crc32(state: u32, bytes: &[u8]) -> u32 {
    continue_crc(&CRC32, state, bytes)
}

fn continue_crc(table: &[u32; 256], state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, &byte| {
        let [low, ..] = state.to_le_bytes();
        (state >> 8) ^ table.get(usize::from(low ^ byte)).copied().unwrap_or(0)
    })
}

const CRC32C: [u32; 256] = crc_table(0x82f6_3b78);

const CRC32: [u32; 256] = crc_table(0xedb8_8320);

/// Computes the contribution of each low byte of a state to the next one.
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated by the compiler, with a byte"
)]
const fn crc_table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let carry = state & 1;
            state = (state >> 1) ^ (polynomial * carry);
            bit += 1;
        }
        table[byte] = state;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_of_the_standard_input() {
        assert_eq!(!crc32(u32::MAX, b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn xxh3_of_known_bytes() {
        assert_eq!(xxh3_64(b""), 0x2d06_8005_38d3_94c2);
        assert_eq!(xxh3_64(b"abc"), 0x78af_5f94_892f_3950);
    }

    #[test]
    fn crc32c_of_known_bytes() {
        // RFC 3720, B.4
        let crc = |bytes: &[u8]| !crc32c(u32::MAX, bytes);
        assert_eq!(crc(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc(&[0xff; 32]), 0x62a8_ab43);
        let counted: Vec<u8> = (0..32).collect();
        let (first, second) = counted.split_at(11);
        assert_eq!(!crc32c(crc32c(u32::MAX, first), second), 0x46dd_794e);
    }

    #[test]
    fn xxh3_in_parts() {
        let bytes: Vec<u8> = (0..700_001_u64).map(|i| ((i * i) >> 7) as u8).collect();
        for cut in [0, 1, 64, 300_000, bytes.len()] {
            let mut parts = Xxh3::default();
            parts.update(&bytes[..cut]);
            for part in bytes[cut..].chunks(100_000) {
                parts.update(part);
            }
            assert_eq!(parts.digest(), xxh3_64(&bytes));
        }
    }

    #[test]
    fn sha512_256_of_the_fips_example() {
        let hex: String = sha512_256(b"abc")
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hex,
            "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"
        );
    }
}
