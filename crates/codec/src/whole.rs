//! Decoders that are readers.

use std::io::Read;

use sinterfs_model::{Error, Result};

/// Reads all content of a stream, which must fit in the buffer, and returns its length.
pub(super) fn read_whole(
    codec: &'static str,
    decoder: &mut dyn Read,
    output: &mut [u8],
) -> Result<usize> {
    let failed = |error| Error::corrupt(codec).because(error);
    let mut at = 0;
    while let Some(room) = output.get_mut(at..).filter(|room| !room.is_empty()) {
        match decoder.read(room).map_err(failed)? {
            0 => return Ok(at),
            read => at += read,
        }
    }
    // the end of the stream, with its check
    match decoder.read(&mut [0]).map_err(failed)? {
        0 => Ok(at),
        _ => Err(Error::corrupt(format!(
            "{codec}: more content than expected"
        ))),
    }
}
