//! Chunks whose stored bytes cannot be decoded.
//!
//! In: stored bytes of chunks that failed. Out: the error again, without decoding them again: every
//! file of a damaged chunk of a solid resource asks for it. **Invariant:** a chunk is known by the
//! hash of its stored bytes, so that other bytes are decoded; at most [`MAX_CHUNKS`] chunks are
//! kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sinterfs_block::checksum::xxh3_64;
use sinterfs_model::{Error, Kind, Result};

/// The most chunks that are kept.
const MAX_CHUNKS: usize = 1024;

/// The errors of chunks by the hashes of their stored bytes.
#[derive(Debug, Default)]
pub(crate) struct DamagedChunks(Mutex<HashMap<u64, String>>);

impl DamagedChunks {
    /// Decodes stored bytes, unless it is known that they cannot be decoded.
    pub(super) fn decode(
        &self,
        stored: &[u8],
        decode: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // sound images pay for no hash
        if !known().is_empty()
            && let Some(what) = known().get(&xxh3_64(stored))
        {
            return Err(Error::corrupt(what.clone()));
        }
        decode(stored).inspect_err(|error| {
            let mut known = known();
            if error.kind() == Kind::Corrupt && known.len() < MAX_CHUNKS {
                known.insert(xxh3_64(stored), error.what().to_owned());
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn damaged_bytes_are_decoded_once_and_other_bytes_again() {
        let damaged = DamagedChunks::default();
        let mut calls = 0;
        let mut decode = |bytes: &[u8]| {
            damaged.decode(bytes, |bytes| {
                calls += 1;
                match bytes {
                    b"bad" => Err(Error::corrupt("a bad symbol")),
                    b"gone" => Err(Error::io("cannot read", std::io::ErrorKind::TimedOut)),
                    _ => Ok(()),
                }
            })
        };
        let first = decode(b"bad").unwrap_err().to_string();
        assert_eq!(decode(b"bad").unwrap_err().to_string(), first);
        assert!(decode(b"gone").is_err() && decode(b"gone").is_err());
        decode(b"good").unwrap();
        assert_eq!(calls, 4);
    }
}
