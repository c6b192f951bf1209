//! The legacy frame of LZ4, as `lz4 -l` writes it for the kernel, decoded from front to back.
//!
//! Spec: lz4_Frame_format.md, "Legacy frame": a magic, then blocks of up to 8 MiB of content, each
//! behind its length. **Invariant:** a frame ends where the next length is none that a block can
//! have: at the end of the file, at another magic, or at a length of zero, as the kernel has it.

use std::io::{self, BufRead, Read};

use sinterfs_model::{Error, Result};

use super::decoder::Decoder;
use super::input::Input;

/// The first bytes of a frame.
const MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// The most bytes that a block decodes to.
const CONTENT_MAX: usize = 8 << 20;

/// The most bytes of a block: incompressible ones have a byte more for each 255, and 16.
const BLOCK_MAX: usize = CONTENT_MAX + CONTENT_MAX / 255 + 16;

/// Starts to decode.
pub(super) fn decoder<R: BufRead + Send + 'static>(input: Input<R>) -> Result<Box<dyn Decoder<R>>> {
    Ok(Box::new(Frame {
        input,
        is_started: false,
        is_ended: false,
        block: Vec::new(),
        content: Vec::new(),
        used: 0,
        len: 0,
    }))
}

/// The content of a frame.
struct Frame<R> {
    input: Input<R>,
    /// Whether the magic was read.
    is_started: bool,
    is_ended: bool,
    block: Vec<u8>,
    /// What the block decoded to, of which `used` bytes were read and `len` are there.
    content: Vec<u8>,
    used: usize,
    len: usize,
}

impl<R: BufRead> Frame<R> {
    /// Decodes the next block; returns whether there was one.
    fn next_block(&mut self) -> io::Result<bool> {
        if !self.is_started {
            self.input.read_exact(&mut [0; MAGIC.len()])?;
            self.is_started = true;
        }
        let at = self.input.position();
        let &[a, b, c, d, ..] = self.input.peek()? else {
            // zeros that fill a file up, or a length that was cut
            let rest = self.input.peek()?;
            if rest.iter().any(|&byte| byte != 0) {
                return Err(bad(at, "the file ends in the length of a block"));
            }
            return Ok(false);
        };
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        if len == 0 || len > BLOCK_MAX {
            return Ok(false);
        }
        self.input.consume(size_of::<u32>());
        self.block.clear();
        let found = (&mut self.input)
            .take(len as u64)
            .read_to_end(&mut self.block)?;
        if found < len {
            return Err(bad(at, "the file ends in a block"));
        }
        self.content.resize(CONTENT_MAX, 0);
        let decoded = lzzzz::lz4::decompress(&self.block, &mut self.content);
        self.len = decoded.map_err(|_| bad(at, "a damaged block"))?;
        self.used = 0;
        Ok(true)
    }
}

impl<R: BufRead> Read for Frame<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.used == self.len && !self.is_ended {
            self.is_ended = !self.next_block()?;
        }
        let mut rest = self.content.get(self.used..self.len).unwrap_or_default();
        let count = rest.read(buf)?;
        self.used += count;
        Ok(count)
    }
}

impl<R: BufRead + Send> Decoder<R> for Frame<R> {
    fn into_input(self: Box<Self>) -> Input<R> {
        self.input
    }
}

#[cold]
fn bad(at: u64, what: &'static str) -> io::Error {
    Error::corrupt(what).at("lz4 block", at).into()
}
