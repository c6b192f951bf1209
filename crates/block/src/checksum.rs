//! Checksums of bytes in memory, each as the formats store it.

use sha2::{Digest, Sha512_256};

/// Computes XXH3 with 64 bits and seed 0.
pub fn xxh3_64(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// Computes SHA-512/256 (FIPS 180-4), not SHA-512 cut short.
pub fn sha512_256(bytes: &[u8]) -> [u8; 32] {
    Sha512_256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xxh3_of_known_bytes() {
        assert_eq!(xxh3_64(b""), 0x2d06_8005_38d3_94c2);
        assert_eq!(xxh3_64(b"abc"), 0x78af_5f94_892f_3950);
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
