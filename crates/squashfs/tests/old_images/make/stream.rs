//! Packed fields and metadata blocks of old images.
//!
//! In: fields and their widths, records. Out: bytes in either order, and streams of metadata
//! blocks.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::Kind;

const RAW: u16 = 0x8000;

/// Packs fields of so many bits, as C compilers of little-endian and big-endian machines do.
pub(super) fn pack(big: bool, fields: &[(u64, u32)]) -> Vec<u8> {
    let bits: u32 = fields.iter().map(|(_, width)| width).sum();
    assert_eq!(bits % 8, 0);
    let mut bytes = vec![0u8; bits as usize / 8];
    let mut at = 0u32;
    for (value, width) in fields {
        for bit in 0..*width {
            // the first bit of a big-endian field is its highest
            let (from, to) = if big {
                (width - 1 - bit, 7 - at % 8)
            } else {
                (bit, at % 8)
            };
            bytes[at as usize / 8] |= u8::from(value >> from & 1 == 1) << to;
            at += 1;
        }
    }
    bytes
}

pub(super) fn zlib(raw: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(9));
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

/// A stream of metadata blocks.
pub(super) struct Stream {
    kind: Kind,
    pub(super) stored: Vec<u8>,
    open: Vec<u8>,
    pub(super) starts: Vec<u64>,
}

impl Stream {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            stored: Vec::new(),
            open: Vec::new(),
            starts: vec![0],
        }
    }

    /// Returns the block and the offset of what is added next.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.stored.len() as u64, self.open.len() as u64)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.open.push(*byte);
            if self.open.len() == 8192 {
                self.close();
                self.starts.push(self.stored.len() as u64);
            }
        }
    }

    pub(super) fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let encoded = zlib(&self.open);
        let (flag, bytes) = if encoded.len() < self.open.len() && !self.kind.raw {
            (0, &encoded)
        } else {
            (RAW, &self.open)
        };
        let header = flag | bytes.len() as u16;
        self.stored
            .extend(pack(self.kind.big, &[(header.into(), 16)]));
        self.stored.extend(bytes);
        self.open.clear();
    }
}
