//! Deflate in a zlib stream (RFC 1950), by libdeflate.

use std::cell::RefCell;

use libdeflater::{CompressionError, CompressionLvl, Compressor};
use sinterfs_model::Error;

use super::LEVELS;

thread_local! {
    static ENCODER: RefCell<Option<(i32, Compressor)>> = const { RefCell::new(None) };
}

/// Encodes into a zlib stream. Fails with `Invalid` for a level out of `LEVELS`.
pub(crate) fn encode(raw: &[u8], level: i32) -> sinterfs_model::Result<Option<Vec<u8>>> {
    ENCODER.with_borrow_mut(|slot| {
        let encoder = match slot {
            Some((of, encoder)) if *of == level => encoder,
            _ => {
                let known = LEVELS.contains(&level).then(|| CompressionLvl::new(level));
                let known = known.and_then(Result::ok);
                let known = known.ok_or_else(|| Error::invalid(format!("zlib: level {level}")))?;
                &mut slot.insert((level, Compressor::new(known))).1
            }
        };
        // a stream that does not fit is not smaller
        let mut encoded = vec![0; raw.len().saturating_sub(1)];
        match encoder.zlib_compress(raw, &mut encoded) {
            Ok(len) => {
                encoded.truncate(len);
                encoded.shrink_to_fit();
                Ok(Some(encoded))
            }
            Err(CompressionError::InsufficientSpace) => Ok(None),
        }
    })
}
