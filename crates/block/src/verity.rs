//! fs-verity digests: SHA-256 over a tree of SHA-256 hashes of blocks of 4096 bytes, without salt.
//!
//! In: the bytes of a file, in order. Out: the digest that the kernel's fs-verity has of the file.
//! Format: "Documentation/filesystems/fsverity.rst" of Linux ("Merkle tree", "fs-verity
//! descriptor").
//!
//! **Invariant:** memory is one block for each level of the tree.

use sha2::{Digest, Sha256};
use sinterfs_model::Result;

use crate::ReadAt;

/// A digest.
pub type VerityDigest = [u8; 32];

/// Bytes of a block.
const BLOCK: usize = 4096;

/// Computes the digest of a file from its bytes.
#[derive(Debug, Default)]
pub struct Verity {
    /// Bytes that do not fill a block yet.
    partial: Vec<u8>,
    /// For each level of the tree, the digests of its last block, which may be full.
    levels: Vec<Vec<u8>>,
    len: u64,
}

impl Verity {
    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if !self.partial.is_empty() {
            let missing = (BLOCK - self.partial.len()).min(bytes.len());
            let (first, rest) = bytes.split_at(missing);
            self.partial.extend_from_slice(first);
            bytes = rest;
            if self.partial.len() < BLOCK {
                return;
            }
            let block = std::mem::take(&mut self.partial);
            self.push(0, hash(&block));
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            self.push(0, hash(block));
        }
        self.partial.extend_from_slice(rest);
    }

    /// Adds a digest to a level; a full block of digests is hashed into the level above when
    /// another digest follows.
    fn push(&mut self, level: usize, digest: VerityDigest) {
        if self.levels.len() == level {
            self.levels.push(Vec::with_capacity(BLOCK));
        }
        let full = match self.levels.get_mut(level) {
            Some(digests) if digests.len() == BLOCK => {
                let above = hash(digests);
                digests.clear();
                digests.extend_from_slice(&digest);
                Some(above)
            }
            Some(digests) => {
                digests.extend_from_slice(&digest);
                None
            }
            None => None,
        };
        if let Some(above) = full {
            self.push(level + 1, above);
        }
    }

    /// Returns the digest of all bytes.
    pub fn finish(mut self) -> VerityDigest {
        if !self.partial.is_empty() {
            let block = std::mem::take(&mut self.partial);
            self.push(0, hash(&block));
        }
        let root = self.root();
        let mut descriptor = [0; 256];
        // version 1, SHA-256, blocks of 2^12 bytes; neither salt nor signature
        let parts: [(usize, &[u8]); 3] =
            [(0, &[1, 1, 12]), (8, &self.len.to_le_bytes()), (16, &root)];
        for (at, bytes) in parts {
            for (to, from) in descriptor.iter_mut().skip(at).zip(bytes) {
                *to = *from;
            }
        }
        Sha256::digest(descriptor).into()
    }

    /// Finishes all levels, each padded with zeros to a block.
    fn root(&mut self) -> VerityDigest {
        let mut level = 0;
        while let Some(digests) = self.levels.get(level) {
            if let (Ok(root), true) = (digests[..].try_into(), self.levels.len() == level + 1) {
                return root;
            }
            let above = hash(digests);
            self.push(level + 1, above);
            level += 1;
        }
        // an empty file has no tree
        [0; 32]
    }
}

/// Hashes a block, padded with zeros.
fn hash(bytes: &[u8]) -> VerityDigest {
    const ZEROS: [u8; BLOCK] = [0; BLOCK];
    let mut hasher = Sha256::new();
    hasher.update(bytes);
    hasher.update(ZEROS.get(bytes.len()..).unwrap_or_default());
    hasher.finalize().into()
}

/// Returns the digest of some bytes.
pub fn verity(bytes: &[u8]) -> VerityDigest {
    let mut verity = Verity::default();
    verity.update(bytes);
    verity.finish()
}

/// Returns the digest of all bytes of a source.
pub fn verity_of(source: &dyn ReadAt) -> Result<VerityDigest> {
    const STEP: usize = 256 << 10;
    let (mut verity, mut at, len) = (Verity::default(), 0, source.len());
    let mut buf = vec![0; usize::try_from(len).map_or(STEP, |len| len.min(STEP))];
    while at < len {
        let count = usize::try_from(len - at).map_or(buf.len(), |left| left.min(buf.len()));
        let part = buf.split_at_mut(count).0;
        source.read_at(at, part)?;
        verity.update(part);
        at += count as u64;
    }
    Ok(verity.finish())
}

/// Returns a digest in hexadecimal digits.
pub fn hex(digest: &VerityDigest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of letters `a`, and their digests by `composefs-info measure-file`.
    const KNOWN: [(usize, &str); 6] = [
        (
            1,
            "bce75948b9e7510293f8f2720412af9697c1479281323f3f220623fb8e94b557",
        ),
        (
            4096,
            "a2a808ddaced77f0b6b3068f47b14b5a1fb3fc43674993ab11b8e7e6f2d089e2",
        ),
        (
            4097,
            "18b155c0b6e054f3f7d22488ed15340e74dc161ce2d123e13eb685c3ce565f70",
        ),
        (
            524288,
            "35ce0df2a57eb54aeba7969570bac9dfadfac295ec181a03f13ac7a7da54909e",
        ),
        (
            524289,
            "cc4f297494cf9e0b6f159db6d30a62d3fcc219fc9c0cbc2d8792bd264da4d9cb",
        ),
        (
            1000000,
            "50049eeefec9385017816e55c0783638f225a3938338cbd673ce9ee8bc977100",
        ),
    ];

    #[test]
    fn digests_are_those_of_the_reference() {
        for (bytes, digest) in KNOWN {
            assert_eq!(hex(&verity(&vec![b'a'; bytes])), digest, "{bytes} bytes");
        }
        // an empty file has no tree for the kernel; the reference prints another digest, but never
        // stores it
        let empty = "3d248ca542a24fc62d1c43b916eae5016878e2533c88238480b26128a1f1af95";
        assert_eq!(hex(&verity(b"")), empty);
    }

    #[test]
    fn parts_make_no_difference() {
        let bytes: Vec<u8> = (0..700_000_u32).map(|n| (n / 7) as u8).collect();
        let whole = verity(&bytes);
        for step in [1000, 4096, 4097, 100_000] {
            let mut parts = Verity::default();
            for part in bytes.chunks(step) {
                parts.update(part);
            }
            assert_eq!(parts.finish(), whole, "parts of {step} bytes");
        }
        assert_eq!(verity_of(&crate::MemorySource(bytes)).unwrap(), whole);
    }
}
