//! Streams one after the other, of one format or of several, read as one.
//!
//! Zeros may be between and after them: this accepts everything that the kernel accepts as an
//! initramfs (its Documentation/driver-api/early-userspace/buffer-format.rst), and everything that
//! the programs themselves concatenate. **Invariant:** a decoder has read exactly its own stream
//! when it ends; bytes that begin no known format are an error with their position, unless the
//! caller takes them as they are.

use std::io::{self, BufRead, ErrorKind, Read};

use sinterfs_model::Error;

use super::decoder::Decoder;
use super::format::StreamFormat;
use super::input::Input;

/// The content of all streams.
pub(super) struct Concatenated<R> {
    state: State<R>,
    /// Whether bytes begin something that is passed on as it is.
    is_plain: fn(&[u8]) -> bool,
}

enum State<R> {
    /// In a stream of a format, which began at a position.
    Decoding(Box<dyn Decoder<R>>, StreamFormat, u64),
    /// In bytes that are passed on.
    Plain(Input<R>),
    /// At the end, or after an error.
    End,
}

impl<R: BufRead + Send + 'static> Concatenated<R> {
    /// Starts with a stream of a known format.
    pub(super) fn new(
        first: StreamFormat,
        input: Input<R>,
        is_plain: fn(&[u8]) -> bool,
    ) -> sinterfs_model::Result<Self> {
        let at = input.position();
        Ok(Self {
            state: State::Decoding(first.decoder(input)?, first, at),
            is_plain,
        })
    }

    /// Chooses how the bytes after a stream are read.
    fn follow(&self, mut input: Input<R>) -> io::Result<State<R>> {
        input.skip_zeros()?;
        let at = input.position();
        let start = input.peek()?;
        if start.is_empty() {
            return Ok(State::End);
        }
        if (self.is_plain)(start) {
            return Ok(State::Plain(input));
        }
        let Some(format) = StreamFormat::detect(start) else {
            let what = "the data after a compressed stream is in no known format";
            return Err(Error::corrupt(what).at("compressed file", at).into());
        };
        let decoder = format.decoder(input)?;
        Ok(State::Decoding(decoder, format, at))
    }
}

impl<R: BufRead + Send + 'static> Read for Concatenated<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.state {
                State::End => return Ok(0),
                State::Plain(input) => return input.read(buf),
                State::Decoding(decoder, format, at) => match decoder.read(buf) {
                    Ok(0) => {}
                    Ok(count) => return Ok(count),
                    Err(error) => return Err(located(error, *format, *at)),
                },
            }
            if let State::Decoding(decoder, ..) = std::mem::replace(&mut self.state, State::End) {
                self.state = self.follow(decoder.into_input())?;
            }
        }
    }
}

/// Adds the stream to the error of its decoder; errors of reading are not changed.
#[cold]
fn located(error: io::Error, format: StreamFormat, at: u64) -> io::Error {
    let own = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    if own.is_some() || error.raw_os_error().is_some() || error.kind() == ErrorKind::Interrupted {
        return error;
    }
    let what = "the compressed data is damaged or truncated";
    let located = Error::corrupt(what).at(format.name(), at);
    located.because(error).into()
}
