//! Single bzip2 streams.

use sinterfs_model::Result;

use super::whole::read_whole;

/// Decodes one stream; its checks are compared.
pub(super) fn decode(stream: &[u8], output: &mut [u8]) -> Result<usize> {
    let mut decoder = bzip2::bufread::BzDecoder::new(stream);
    read_whole("bzip2", &mut decoder, output)
}
