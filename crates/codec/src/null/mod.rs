//! Blocks as they are.

use std::sync::Arc;

use sinterfs_model::Result;

use crate::codec::{Codec, Encode, Hints};
use crate::options::Options;
use crate::wrong_length;

/// No codec.
pub(crate) struct NullCodec;

impl Codec for NullCodec {
    fn parse(&self, _options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        Ok(Arc::new(Null))
    }

    fn decoded_len(&self, stream: &[u8]) -> Result<Option<u64>> {
        Ok(Some(stream.len() as u64))
    }

    fn decode(&self, stream: &[u8], len: u64) -> Result<Vec<u8>> {
        match stream.len() as u64 {
            found if found == len => Ok(stream.to_vec()),
            found => Err(wrong_length("none", len, found)),
        }
    }
}

/// Leaves blocks as they are.
#[derive(Debug)]
pub(crate) struct Null;

impl Encode for Null {
    fn encode_with(&self, raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        Ok(raw.to_vec())
    }

    fn encode_smaller(&self, _raw: &[u8], _hints: Hints<'_>) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn memory(&self, _len: u32) -> u64 {
        0
    }

    fn window(&self) -> u64 {
        0
    }
}
