//! A zstd frame, decoded from front to back.

use std::io::{self, BufRead, ErrorKind, Read};

use sinterfs_model::{Error, Result};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::decoder::Decoder;
use super::input::Input;
use super::window::WINDOW_LOG_MAX;

/// Starts to decode. Fails with `Limit` if there is no memory for a decoder.
pub(super) fn decoder<R: BufRead + Send + 'static>(input: Input<R>) -> Result<Box<dyn Decoder<R>>> {
    let no_memory = || Error::limit("zstd: no memory for a decoder");
    let mut context = DCtx::try_create().ok_or_else(no_memory)?;
    let set = context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX));
    set.map_err(|_| no_memory())?;
    Ok(Box::new(Frame {
        input,
        context,
        is_ended: false,
    }))
}

/// The content of a frame.
struct Frame<R> {
    input: Input<R>,
    context: DCtx<'static>,
    is_ended: bool,
}

impl<R: BufRead> Read for Frame<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            if buf.is_empty() || self.is_ended {
                return Ok(0);
            }
            let available = self.input.fill_buf()?;
            let at_end = available.is_empty();
            let (mut input, mut output) =
                (InBuffer::around(available), OutBuffer::around(&mut *buf));
            let decoded = self.context.decompress_stream(&mut output, &mut input);
            let left = decoded.map_err(|code| {
                io::Error::new(ErrorKind::InvalidData, zstd_safe::get_error_name(code))
            })?;
            let (read, written) = (input.pos(), output.pos());
            self.input.consume(read);
            self.is_ended = left == 0;
            if written > 0 {
                return Ok(written);
            }
            if at_end && !self.is_ended {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<R: BufRead + Send> Decoder<R> for Frame<R> {
    fn into_input(self: Box<Self>) -> Input<R> {
        self.input
    }
}
