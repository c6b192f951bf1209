//! The decoder of a unit of an archive: a reader for each step.
//!
//! In: steps, the archive. Out: a reader of the decoded bytes. **Invariant:** a reader reads only
//! the stored bytes of its step.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use sinterfs_archive::packed::{DecodeStep, Method};
use sinterfs_codec::raw::{self, Stream};
use sinterfs_model::{Error, Result};
use sinterfs_platform::FileAt;

/// Bytes of the archive that are read at once.
const BUFFER: u64 = 64 << 10;

/// Returns the reader of a step.
pub(super) fn reader(step: &DecodeStep, file: &Arc<File>) -> Result<Stream> {
    let (method, inputs, len) = match step {
        &DecodeStep::Stored { at, len } => {
            let range = Range {
                file: Arc::clone(file),
                at,
                left: len,
            };
            // at most the buffer's length
            let buffer = len.min(BUFFER) as usize;
            return Ok(Box::new(BufReader::with_capacity(buffer, range)));
        }
        DecodeStep::Decoded {
            method,
            inputs,
            len,
        } => (method, inputs, *len),
    };
    let inputs = inputs.iter().map(|input| reader(input, file));
    let mut inputs = inputs.collect::<Result<Vec<_>>>()?.into_iter();
    let input = inputs.next();
    let mut input = input.ok_or_else(|| Error::corrupt("a method without input"))?;
    match *method {
        Method::Deflate => raw::deflate(input),
        Method::Bzip2 => raw::bzip2(input),
        Method::Zstd => raw::zstd(input),
        Method::Xz => raw::xz(input),
        Method::Lzma {
            properties,
            dictionary,
        } => raw::lzma(input, properties, dictionary, len),
        Method::Lzma2 { dictionary } => raw::lzma2(input, dictionary, len),
        Method::ZipLzma => {
            let mut header = [0; 9];
            let read = input.read_exact(&mut header);
            read.map_err(|_| Error::corrupt("lzma: the properties are cut off"))?;
            let [_, _, 5, 0, properties, a, b, c, d] = header else {
                return Err(Error::corrupt("lzma: properties of an unknown length"));
            };
            raw::lzma(input, properties, u32::from_le_bytes([a, b, c, d]), len)
        }
    }
}

/// A range of a file from front to back.
struct Range {
    file: Arc<File>,
    at: u64,
    left: u64,
}

impl Read for Range {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = usize::try_from(self.left).map_or(buf.len(), |left| left.min(buf.len()));
        let read = self
            .file
            .read_at(buf.get_mut(..len).unwrap_or_default(), self.at)?;
        self.at = self.at.saturating_add(read as u64);
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}
