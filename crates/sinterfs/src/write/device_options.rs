//! How a device is compressed, and what came of it: plain data.

/// The version of an image of cloop, and the codec of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeviceCodec {
    /// Version 2.0, with zlib: every driver reads it.
    #[default]
    Version2,
    /// Version 4.0 with zlib.
    Zlib,
    /// Version 4.0 with xz.
    Xz,
    /// Version 4.0 with LZ4.
    Lz4,
    /// Version 4.0 with LZO.
    Lzo,
}

/// How a device is compressed.
#[derive(Debug, Clone, Copy)]
pub struct DeviceOptions {
    /// Bytes of a decoded block: a multiple of 512.
    pub block_size: u32,
    /// The version and the codec.
    pub codec: DeviceCodec,
    /// 0 stores, 1 to 12 compress (9 with xz): higher is smaller and slower.
    pub level: i32,
    /// The number of threads that compress.
    pub threads: usize,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            block_size: 64 << 10,
            codec: DeviceCodec::Version2,
            level: 9,
            threads: 1,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceReport {
    /// The number of blocks.
    pub blocks: u32,
    /// Bytes of the device, with the padding of its last block.
    pub device_len: u64,
    /// Bytes of the image.
    pub stored: u64,
}
