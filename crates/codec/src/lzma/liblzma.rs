//! Decoders and encoders of liblzma, run over whole streams.

use ::liblzma::stream::{Action, Status, Stream};
use sinterfs_model::{Error, Result};

use crate::limits::{MAX_DICTIONARY, too_long};

/// The most memory of a decoder of liblzma without its dictionary, in bytes.
pub(crate) const LZMA_TABLES: u64 = 4 << 20;

/// Runs a decoder of liblzma over a whole stream.
pub(crate) fn run_lzma(
    mut decoder: Stream,
    codec: &'static str,
    stream: &[u8],
    output: &mut [u8],
) -> Result<usize> {
    let mut full = false;
    loop {
        let (read, written) = (position(decoder.total_in()), position(decoder.total_out()));
        let rest = stream.get(read..).unwrap_or_default();
        // one byte more, to detect a stream that is too long
        let mut spare = [0];
        let left = match output.get_mut(written..) {
            Some(left) if !left.is_empty() => left,
            _ => {
                full = true;
                &mut spare[..]
            }
        };
        let status = decoder.process(rest, left, Action::Finish);
        let status = status.map_err(|error| lzma_error(codec, error))?;
        let made = position(decoder.total_out());
        if full && made > written {
            return Err(too_long(codec, output));
        }
        match status {
            Status::StreamEnd => return Ok(made),
            _ if made == written && position(decoder.total_in()) == read => {
                return Err(Error::corrupt(format!("{codec}: stream ends early")));
            }
            _ => {}
        }
    }
}

pub(crate) fn position(total: u64) -> usize {
    usize::try_from(total).unwrap_or(usize::MAX)
}

#[cold]
pub(crate) fn lzma_error(codec: &str, error: ::liblzma::stream::Error) -> Error {
    use ::liblzma::stream::Error as Lzma;
    match error {
        Lzma::MemLimit => Error::limit(format!(
            "{codec}: the dictionary is above the limit of {MAX_DICTIONARY} bytes"
        )),
        Lzma::Mem => Error::limit(format!("{codec}: no memory for the dictionary")),
        Lzma::Options | Lzma::UnsupportedCheck => {
            Error::unsupported(format!("{codec}: unknown filter or check"))
        }
        _ => Error::corrupt(format!("{codec}: damaged stream")).because(error),
    }
}

/// Encodes all of a block with a new encoder.
pub(crate) fn finish(mut encoder: Stream, raw: &[u8]) -> Result<Vec<u8>> {
    let mut encoded = Vec::with_capacity(raw.len() / 2 + 128);
    let mut rest = raw;
    loop {
        let read = encoder.total_in();
        let status = encoder
            .process_vec(rest, &mut encoded, Action::Finish)
            .map_err(cannot_encode)?;
        if status == Status::StreamEnd {
            encoded.shrink_to_fit();
            return Ok(encoded);
        }
        let consumed = usize::try_from(encoder.total_in() - read).unwrap_or(usize::MAX);
        rest = rest.get(consumed..).unwrap_or_default();
        encoded.reserve(encoded.len().max(4096));
    }
}

#[cold]
pub(crate) fn cannot_encode(error: ::liblzma::stream::Error) -> Error {
    match error {
        ::liblzma::stream::Error::Mem => Error::limit("xz: no memory for the encoder"),
        error => Error::invalid("xz: cannot encode").because(error),
    }
}
