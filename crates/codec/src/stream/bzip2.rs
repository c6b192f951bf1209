//! A bzip2 stream, decoded from front to back.

use std::io::BufRead;

use bzip2::bufread::BzDecoder;
use sinterfs_model::Result;

use super::decoder::Decoder;
use super::input::Input;

/// Starts to decode.
pub(super) fn decoder<R: BufRead + Send + 'static>(input: Input<R>) -> Result<Box<dyn Decoder<R>>> {
    Ok(Box::new(BzDecoder::new(input)))
}

impl<R: BufRead + Send> Decoder<R> for BzDecoder<Input<R>> {
    fn into_input(self: Box<Self>) -> Input<R> {
        (*self).into_inner()
    }
}
