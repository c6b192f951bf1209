//! The options of ricepp.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use sinterfs_model::{Error, Result};

use super::packing::MAX_BLOCK;
use crate::codec::{Codec, Encode, Hints};
use crate::cost::BASE;
use crate::options::Options;

#[expect(
    clippy::cast_possible_truncation,
    reason = "MAX_BLOCK is a small constant"
)]
const BLOCKS: RangeInclusive<u32> = 1..=MAX_BLOCK as u32;

/// Ricepp: formats give the samples to [`super::encode`], and take them from [`super::decode`].
pub(crate) struct RiceppCodec;

impl Codec for RiceppCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let block_size = options.number(&["block_size"], BLOCKS)?;
        Ok(Arc::new(Ricepp { block_size }))
    }
}

/// The options of an encoder.
#[derive(Debug, Clone, Copy)]
pub struct Ricepp {
    /// Samples of one component in a block, instead of the best of several numbers.
    pub block_size: Option<u32>,
}

impl Encode for Ricepp {
    fn encode_with(&self, _raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        Err(Error::invalid("ricepp: only for images of a known form"))
    }

    fn memory(&self, len: u32) -> u64 {
        BASE + u64::from(len) * 2
    }

    fn window(&self) -> u64 {
        0
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block_size {
            Some(size) => write!(f, ":block_size={size}"),
            None => Ok(()),
        }
    }
}
