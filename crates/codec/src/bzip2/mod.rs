//! Single bzip2 streams.

use ::bzip2::bufread::BzDecoder;
use sinterfs_model::Result;

use crate::codec::Codec;
use crate::whole::read_whole;

/// Bzip2 streams, whose checks are compared.
pub(crate) struct Bzip2Codec;

impl Codec for Bzip2Codec {
    fn decode_unit(&self, stream: &[u8], output: &mut [u8]) -> Result<usize> {
        read_whole("bzip2", &mut BzDecoder::new(stream), output)
    }
}
