//! The legacy frame of LZ4, as `lz4 -l` writes it for the kernel, decoded from front to back.
//!
//! Spec: lz4_Frame_format.md, "Legacy frame": a magic, then blocks of up to 8 MiB of content, each
//! after its length. **Invariant:** a frame ends where the next length is not one that a block can
//! have: at the end of the file, at another magic, or at a length of zero, as the kernel has it.

use std::io::{self, BufRead, Read};

use sinterfs_model::{Error, Result};

use super::block_stream::{BlockDecoder, BlockStream};
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
    Ok(Box::new(BlockDecoder::new(Frame {
        input,
        is_started: false,
        block: Vec::new(),
    })))
}

/// The content of a frame.
struct Frame<R> {
    input: Input<R>,
    /// Whether the magic was read.
    is_started: bool,
    block: Vec<u8>,
}

impl<R: BufRead> BlockStream for Frame<R> {
    type Source = R;

    fn next_block(&mut self, content: &mut Vec<u8>) -> io::Result<bool> {
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
        content.resize(CONTENT_MAX, 0);
        let decoded = lzzzz::lz4::decompress(&self.block, content);
        content.truncate(decoded.map_err(|_| bad(at, "a damaged block"))?);
        Ok(true)
    }

    fn into_input(self) -> Input<R> {
        self.input
    }
}

#[cold]
fn bad(at: u64, what: &'static str) -> io::Error {
    Error::corrupt(what).at("lz4 block", at).into()
}
