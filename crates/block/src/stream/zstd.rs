//! Concatenated zstd frames, decoded one after the other.

use std::io::{self, BufRead, ErrorKind, Read};

use sinterfs_model::{Error, Result};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::window::WINDOW_LOG_MAX;

/// Starts to decode. Fails with `Limit` if there is no memory for a decoder.
pub(super) fn decode<R: BufRead + Send + 'static>(stream: R) -> Result<Box<dyn Read + Send>> {
    Ok(Box::new(Frames::new(stream)?))
}

/// The content of all frames of a stream.
struct Frames<R> {
    stream: R,
    context: DCtx<'static>,
    /// Whether a frame has started and not ended.
    in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(stream: R) -> Result<Self> {
        let no_memory = || Error::limit("zstd: no memory for a decoder");
        let mut context = DCtx::try_create().ok_or_else(no_memory)?;
        let set = context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX));
        set.map_err(|_| no_memory())?;
        Ok(Self {
            stream,
            context,
            in_frame: false,
        })
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            let available = self.stream.fill_buf()?;
            let at_end = available.is_empty();
            if at_end && !self.in_frame {
                return Ok(0);
            }
            let (mut input, mut output) =
                (InBuffer::around(available), OutBuffer::around(&mut *buf));
            let decoded = self.context.decompress_stream(&mut output, &mut input);
            let left = decoded.map_err(|code| {
                io::Error::new(ErrorKind::InvalidData, zstd_safe::get_error_name(code))
            })?;
            let (read, written) = (input.pos(), output.pos());
            self.stream.consume(read);
            self.in_frame = left != 0;
            if written > 0 {
                return Ok(written);
            }
            if at_end && self.in_frame {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
