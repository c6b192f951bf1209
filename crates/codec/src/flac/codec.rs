//! The options of FLAC.

use std::fmt;
use std::sync::Arc;

use sinterfs_model::{Error, Result};

use super::encode::MAX_LEVEL;
use crate::codec::{Codec, Encode, Hints};
use crate::cost::BASE;
use crate::options::Options;

/// FLAC: formats give the samples to [`super::Encoder`], and take them from [`super::Decoder`].
pub(crate) struct FlacCodec;

impl Codec for FlacCodec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let most = MAX_LEVEL.cast_signed();
        Ok(Arc::new(Flac {
            level: options.level(0..=most, most)?.unsigned_abs(),
            exhaustive: options.flag("exhaustive")?,
        }))
    }
}

/// The options of an encoder.
#[derive(Debug, Clone, Copy)]
pub struct Flac {
    /// The effort.
    pub level: u32,
    /// Whether to try everything, whatever the level.
    pub exhaustive: bool,
}

impl Encode for Flac {
    fn encode_with(&self, _raw: &[u8], _hints: Hints<'_>) -> Result<Vec<u8>> {
        Err(Error::invalid("flac: only for audio of a known form"))
    }

    fn level(&self) -> i32 {
        self.level.cast_signed()
    }

    fn memory(&self, _len: u32) -> u64 {
        // only a run of samples
        BASE
    }

    fn window(&self) -> u64 {
        0
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exhaustive = if self.exhaustive { ":exhaustive" } else { "" };
        write!(f, ":level={}{exhaustive}", self.level)
    }
}
