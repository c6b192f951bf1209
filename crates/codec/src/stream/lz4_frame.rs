//! A frame of LZ4, as the lz4 program writes it, decoded from front to back.
//!
//! Spec: lz4_Frame_format.md 1.6.4. **Invariant:** all checksums that a frame has are compared; a
//! block decodes to no more than the frame says, at most 4 MiB, and refers to at most 64 KiB before
//! it. Frames with a dictionary are refused.

use std::io::{self, BufRead, Read};

use sinterfs_model::{Error, Result};
use xxhash_rust::xxh32::{Xxh32, xxh32};

use super::block_stream::{BlockDecoder, BlockStream};
use super::decoder::Decoder;
use super::input::Input;

/// How far back a block refers to blocks before it.
const HISTORY: usize = 64 << 10;

/// The bit of a block's length that says that it is stored as it is.
const STORED: u32 = 1 << 31;

/// Starts to decode.
pub(super) fn decoder<R: BufRead + Send + 'static>(input: Input<R>) -> Result<Box<dyn Decoder<R>>> {
    Ok(Box::new(BlockDecoder::new(Frame {
        input,
        header: None,
        stored: Vec::new(),
        history: Vec::new(),
        hash: Xxh32::new(0),
        total: 0,
    })))
}

/// The contents of the descriptor of a frame.
#[derive(Debug, Clone, Copy)]
struct FrameHeader {
    are_linked: bool,
    has_block_sums: bool,
    has_sum: bool,
    /// Bytes of all content.
    size: Option<u64>,
    block_max: usize,
}

/// The content of a frame.
struct Frame<R> {
    input: Input<R>,
    header: Option<FrameHeader>,
    stored: Vec<u8>,
    /// The last bytes before the block.
    history: Vec<u8>,
    hash: Xxh32,
    total: u64,
}

impl<R: BufRead> Frame<R> {
    /// Reads the magic and the descriptor.
    fn header(&mut self) -> io::Result<FrameHeader> {
        let at = self.input.position();
        let [_, _, _, _, flags, sizes] = self.array()?;
        let mut descriptor = vec![flags, sizes];
        if flags >> 6 != 1 || flags & 2 != 0 || sizes & 0x8f != 0 {
            return Err(bad("lz4 frame", at, "an unknown version of the frame"));
        }
        if flags & 1 != 0 {
            let error = Error::unsupported("a frame that needs a dictionary");
            return Err(error.at("lz4 frame", at).into());
        }
        let size = match flags & 8 {
            0 => None,
            _ => Some(self.array::<8>()?),
        };
        descriptor.extend(size.into_iter().flatten());
        let [sum] = self.array()?;
        let [_, expected, ..] = xxh32(&descriptor, 0).to_le_bytes();
        let bits = u32::from(sizes >> 4);
        if sum != expected || bits < 4 {
            return Err(bad("lz4 frame", at, "a damaged descriptor"));
        }
        Ok(FrameHeader {
            are_linked: flags & 0x20 == 0,
            has_block_sums: flags & 0x10 != 0,
            has_sum: flags & 4 != 0,
            size: size.map(u64::from_le_bytes),
            block_max: 1 << (8 + 2 * bits),
        })
    }

    /// Compares the checksum and the size of all content.
    fn finish(&mut self, header: FrameHeader, at: u64) -> io::Result<()> {
        if header.has_sum && self.array()? != self.hash.digest().to_le_bytes() {
            return Err(bad("lz4 frame", at, "content with another checksum"));
        }
        if header.size.is_some_and(|size| size != self.total) {
            return Err(bad("lz4 frame", at, "content of another size"));
        }
        Ok(())
    }

    fn array<const LEN: usize>(&mut self) -> io::Result<[u8; LEN]> {
        let mut bytes = [0; LEN];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl<R: BufRead> BlockStream for Frame<R> {
    type Source = R;

    fn next_block(&mut self, content: &mut Vec<u8>) -> io::Result<bool> {
        let header = match self.header {
            Some(header) => header,
            None => self.header()?,
        };
        self.header = Some(header);
        let at = self.input.position();
        let word = u32::from_le_bytes(self.array()?);
        if word == 0 {
            self.finish(header, at)?;
            return Ok(false);
        }
        let len = (word & !STORED) as usize;
        if len > header.block_max {
            return Err(bad(
                "lz4 block",
                at,
                "a block of more bytes than the frame says",
            ));
        }
        self.stored.resize(len, 0);
        self.input.read_exact(&mut self.stored)?;
        if header.has_block_sums && self.array()? != xxh32(&self.stored, 0).to_le_bytes() {
            return Err(bad("lz4 block", at, "a block with another checksum"));
        }
        if word & STORED != 0 {
            content.clone_from(&self.stored);
        } else {
            content.resize(header.block_max, 0);
            let (from, to) = (&self.stored, &mut *content);
            let decoded = lzzzz::lz4::decompress_with_dict(from, to, &self.history);
            let decoded = decoded.map_err(|_| bad("lz4 block", at, "a damaged block"))?;
            content.truncate(decoded);
        }
        self.total += content.len() as u64;
        if header.has_sum {
            self.hash.update(content);
        }
        if header.are_linked {
            self.history.extend_from_slice(content);
            let old = self.history.len().saturating_sub(HISTORY);
            self.history.drain(..old);
        }
        Ok(true)
    }

    fn into_input(self) -> Input<R> {
        self.input
    }
}

#[cold]
fn bad(structure: &'static str, at: u64, what: &'static str) -> io::Error {
    Error::corrupt(what).at(structure, at).into()
}
