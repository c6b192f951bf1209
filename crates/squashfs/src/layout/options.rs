//! The layout of compressor options: one uncompressed metadata block after the superblock.
//!
//! In: the bytes of that block. Out: typed records. LZMA has no options.
//!
//! **Invariant:** only layout. No reader needs them to decode; they are informational.
//! Format: `docs/formats/squashfs.md`, "Compressor options".

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Options of gzip.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Gzip {
    /// The level, 1 to 9; 9 if no options are stored.
    pub level: U32,
    /// The binary logarithm of the window, 8 to 15; 15 if no options are stored.
    pub window: U16,
    /// One bit per strategy that was tried (`Gzip::DEFAULT` and others); none means the default.
    pub strategies: U16,
}

const _: () = assert!(size_of::<Gzip>() == 8);

impl Gzip {
    /// The default strategy.
    pub const DEFAULT: u16 = 0x1;
    /// The strategy for filtered data.
    pub const FILTERED: u16 = 0x2;
    /// Huffman codes only.
    pub const HUFFMAN_ONLY: u16 = 0x4;
    /// Run lengths.
    pub const RUN_LENGTH: u16 = 0x8;
    /// Fixed Huffman codes.
    pub const FIXED: u16 = 0x10;
}

/// Options of xz.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Xz {
    /// The dictionary size in bytes; the block size if no options are stored.
    pub dictionary: U32,
    /// One bit per branch filter that was tried (`Xz::X86` and others).
    pub filters: U32,
}

const _: () = assert!(size_of::<Xz>() == 8);

impl Xz {
    /// The filter for x86.
    pub const X86: u32 = 0x1;
    /// The filter for PowerPC.
    pub const POWERPC: u32 = 0x2;
    /// The filter for IA-64.
    pub const IA64: u32 = 0x4;
    /// The filter for ARM.
    pub const ARM: u32 = 0x8;
    /// The filter for ARM Thumb.
    pub const ARM_THUMB: u32 = 0x10;
    /// The filter for SPARC.
    pub const SPARC: u32 = 0x20;
    /// The filter for ARM64.
    pub const ARM64: u32 = 0x40;
    /// The filter for RISC-V.
    pub const RISCV: u32 = 0x80;
}

/// Options of LZO.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Lzo {
    /// The variant of the compressor: 0 to 3 are LZO1X-1, -1-11, -1-12 and -1-15, 4 is LZO1X-999.
    pub algorithm: U32,
    /// The level of LZO1X-999, 1 to 9 (8 if no options are stored); zero for the others.
    pub level: U32,
}

const _: () = assert!(size_of::<Lzo>() == 8);

impl Lzo {
    /// LZO1X-999, the algorithm if no options are stored.
    pub const LZO1X_999: u32 = 4;
}

/// Options of LZ4; always stored.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Lz4 {
    /// `Lz4::BLOCK`, the only version.
    pub version: U32,
    /// `Lz4::HC` or 0.
    pub flags: U32,
}

const _: () = assert!(size_of::<Lz4>() == 8);

impl Lz4 {
    /// Plain blocks.
    pub const BLOCK: u32 = 1;
    /// The bit of LZ4HC.
    pub const HC: u32 = 1;
}

/// Options of zstd.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Zstd {
    /// The level, 1 to 22; 15 if no options are stored.
    pub level: U32,
}

const _: () = assert!(size_of::<Zstd>() == 4);
