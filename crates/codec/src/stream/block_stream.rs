//! Streams of blocks that are decoded one at a time.
//!
//! In: the decoder of the next block. Out: a decoder of the stream. **Invariant:** one block is in
//! memory.

use std::io::{self, Read};

use super::decoder::Decoder;
use super::input::Input;

/// A stream of blocks.
pub(super) trait BlockStream {
    /// The source of the stream.
    type Source;

    /// Decodes the next block into `content`, in place of its content; returns whether there was
    /// one.
    fn next_block(&mut self, content: &mut Vec<u8>) -> io::Result<bool>;

    /// Returns the bytes after the stream.
    fn into_input(self) -> Input<Self::Source>;
}

/// The content of a stream of blocks.
pub(super) struct BlockDecoder<B> {
    blocks: B,
    /// The decoded block, of which `used` bytes were read.
    content: Vec<u8>,
    used: usize,
    is_ended: bool,
}

impl<B> BlockDecoder<B> {
    /// Starts before the first block.
    pub(super) fn new(blocks: B) -> Self {
        Self {
            blocks,
            content: Vec::new(),
            used: 0,
            is_ended: false,
        }
    }
}

impl<B: BlockStream> Read for BlockDecoder<B> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.used == self.content.len() && !self.is_ended {
            let next = self.blocks.next_block(&mut self.content);
            self.is_ended = !matches!(next, Ok(true));
            // after the last block and after an error, nothing is left
            self.used = if self.is_ended { self.content.len() } else { 0 };
            next?;
        }
        let mut rest = self.content.get(self.used..).unwrap_or_default();
        let count = rest.read(buf)?;
        self.used += count;
        Ok(count)
    }
}

impl<R, B: BlockStream<Source = R> + Send> Decoder<R> for BlockDecoder<B> {
    fn into_input(self: Box<Self>) -> Input<R> {
        self.blocks.into_input()
    }
}
