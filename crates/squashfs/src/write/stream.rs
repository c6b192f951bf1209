//! A stream of metadata: a sequence of records, cut into blocks of 8 KiB that are encoded.
//!
//! In: records of any size. Out: encoded blocks with their headers, and their positions.
//! **Invariant:** a block depends only on its bytes, so several threads may encode. Memory: `BATCH`
//! blocks, 8 bytes per earlier block, and encoded blocks until the caller takes them. Format:
//! `docs/formats/squashfs.md`, "Metadata blocks".

#![expect(
    clippy::cast_possible_truncation,
    reason = "offsets in a metadata block are below 8192"
)]

use sinterfs_model::{Error, Result};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

use super::compression::Compression;
use crate::layout::{METADATA_SIZE, MetaRef, MetadataHeader};

/// The number of blocks encoded at once.
const BATCH: usize = 64;

/// The minimum number of blocks per thread.
const MIN_BLOCKS: usize = 8;

/// The encoder of metadata blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoder<'a> {
    /// The codec.
    pub(super) compression: &'a Compression,
    /// The block size of content in bytes, which limits the codec's dictionary.
    pub(super) block_size: u32,
    /// Whether blocks are stored uncompressed.
    pub(super) raw: bool,
    /// The number of threads.
    pub(super) threads: usize,
}

impl Encoder<'_> {
    /// Encodes a block of at most 8 KiB, with its header.
    pub(super) fn block(&self, block: &[u8]) -> Result<Vec<u8>> {
        let encoded = if self.raw {
            None
        } else {
            self.compression.encode(block, self.block_size)?
        };
        let (bytes, bit) = match &encoded {
            Some(encoded) => (&encoded[..], 0),
            None => (block, MetadataHeader::RAW),
        };
        let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        let header = MetadataHeader(U16::new(len | bit));
        Ok([header.as_bytes(), bytes].concat())
    }

    /// Encodes blocks in order, on several threads if there are many.
    fn blocks(&self, blocks: &[&[u8]]) -> Result<Vec<Vec<u8>>> {
        let threads = self.threads.min(blocks.len() / MIN_BLOCKS).max(1);
        let one = |blocks: &[&[u8]]| blocks.iter().map(|block| self.block(block)).collect();
        if threads == 1 {
            return one(blocks);
        }
        let (own, others) = blocks.split_at(blocks.len().div_ceil(threads));
        std::thread::scope(|scope| {
            let start = |share| sinterfs_workers::spawn(scope, "metadata", move || one(share)).ok();
            let workers: Vec<_> = others
                .chunks(own.len())
                .map(|share| (share, start(share)))
                .collect();
            let mut all: Vec<Vec<u8>> = one(own)?;
            for (share, worker) in workers {
                all.extend(match worker {
                    Some(worker) => worker.join().map_err(|_| {
                        Error::invalid("a thread that encoded metadata ended early")
                    })?,
                    None => one(share),
                }?);
            }
            Ok(all)
        })
    }
}

/// A growing stream.
#[derive(Debug)]
pub(super) struct MetadataStream<'a> {
    encoder: Encoder<'a>,
    /// Bytes that are not encoded yet; begins at a block boundary.
    open: Vec<u8>,
    /// Encoded blocks that the caller has not taken yet.
    encoded: Vec<u8>,
    /// The position of each encoded block, from the start of the stream.
    starts: Vec<u64>,
    /// The number of encoded bytes so far.
    stored: u64,
}

impl<'a> MetadataStream<'a> {
    /// Starts a stream.
    pub(super) fn new(encoder: Encoder<'a>) -> Self {
        Self {
            encoder,
            open: Vec::new(),
            encoded: Vec::new(),
            starts: Vec::new(),
            stored: 0,
        }
    }

    /// Returns the position of the next record in the decoded stream.
    pub(super) fn position(&self) -> u64 {
        self.starts.len() as u64 * METADATA_SIZE as u64 + self.open.len() as u64
    }

    /// Returns the position of each encoded block, from the start of the stream.
    pub(super) fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Appends bytes of a record.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.open.extend_from_slice(bytes);
        if self.open.len() >= BATCH * METADATA_SIZE {
            self.encode_full()?;
        }
        Ok(())
    }

    /// Encodes all full blocks, so that every position so far can be resolved.
    pub(super) fn encode_full(&mut self) -> Result<()> {
        let full = self.open.len() / METADATA_SIZE * METADATA_SIZE;
        self.encode(full)
    }

    /// Encodes everything, including the last, partial block.
    pub(super) fn end(&mut self) -> Result<()> {
        self.encode(self.open.len())
    }

    fn encode(&mut self, len: usize) -> Result<()> {
        let rest = self.open.split_off(len);
        let blocks: Vec<&[u8]> = self.open.chunks(METADATA_SIZE).collect();
        for batch in blocks.chunks(BATCH) {
            for block in self.encoder.blocks(batch)? {
                self.starts.push(self.stored);
                self.stored += block.len() as u64;
                self.encoded.extend_from_slice(&block);
            }
        }
        self.open = rest;
        Ok(())
    }

    /// Returns the number of encoded bytes that were not taken yet.
    pub(super) fn encoded(&self) -> usize {
        self.encoded.len()
    }

    /// Takes the encoded blocks.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.encoded)
    }

    /// Converts a position to a reference; all blocks before it must be encoded.
    pub(super) fn resolve(&self, position: u64) -> Result<MetaRef> {
        let block = usize::try_from(position / METADATA_SIZE as u64).unwrap_or(usize::MAX);
        let offset = (position % METADATA_SIZE as u64) as u16;
        let start = match self.starts.get(block) {
            Some(&start) => start,
            None if block == self.starts.len() => self.stored,
            None => {
                return Err(Error::invalid(
                    "metadata is referred to before it is encoded",
                ));
            }
        };
        Ok(MetaRef::new(start, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(compression: &Compression, threads: usize) -> MetadataStream<'_> {
        MetadataStream::new(Encoder {
            compression,
            block_size: 1 << 17,
            raw: false,
            threads,
        })
    }

    fn records() -> Vec<Vec<u8>> {
        (0..90_000u32)
            .map(|n| n.to_le_bytes().repeat(1 + n as usize % 5))
            .collect()
    }

    #[test]
    fn threads_do_not_show_and_positions_resolve() {
        let compression: Compression = "zstd:level=3".parse().unwrap();
        let mut results = Vec::new();
        for threads in [1, 2, 7] {
            let mut stream = stream(&compression, threads);
            for record in records() {
                stream.push(&record).unwrap();
            }
            let last = stream.position();
            stream.encode_full().unwrap();
            let last = stream.resolve(last).unwrap();
            stream.end().unwrap();
            assert_eq!(stream.starts().last(), Some(&last.block()));
            results.push((last, stream.starts().to_vec(), stream.take()));
        }
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0], results[2]);
    }

    #[test]
    fn blocks_that_do_not_get_smaller_are_stored() {
        let compression: Compression = "zstd:level=3".parse().unwrap();
        let mut stream = stream(&compression, 1);
        stream.push(b"abc").unwrap();
        assert!(stream.resolve(9000).is_err());
        stream.end().unwrap();
        assert_eq!(stream.take(), b"\x03\x80abc");
    }
}
