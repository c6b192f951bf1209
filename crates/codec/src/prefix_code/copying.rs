//! Writes literals and matches into an output of fixed length.
//!
//! **Invariant:** nothing is written past the end of the output or read before its start; both are
//! errors.

use sinterfs_model::{Error, Result};

/// Writes a byte. Fails with `Corrupt` past the end.
#[inline]
pub(crate) fn put(output: &mut [u8], at: &mut usize, byte: u8) -> Result<()> {
    let room = output.get_mut(*at).ok_or_else(too_long)?;
    *room = byte;
    *at += 1;
    Ok(())
}

/// Repeats `len` bytes from `distance` bytes back, which may overlap. Fails with `Corrupt` before
/// the start and past the end.
#[inline]
pub(crate) fn copy_match(
    output: &mut [u8],
    at: &mut usize,
    distance: usize,
    len: usize,
) -> Result<()> {
    let start = *at;
    let Some(from) = start.checked_sub(distance).filter(|_| distance > 0) else {
        return Err(before_start(distance, start));
    };
    if len > output.len() - start {
        return Err(too_long());
    }
    if distance >= len {
        output.copy_within(from..from + len, start);
    } else {
        let mut done = 0;
        while done < len {
            // what has been repeated so far can be repeated as a whole
            let now = (distance + done).min(len - done);
            output.copy_within(from..from + now, start + done);
            done += now;
        }
    }
    *at = start + len;
    Ok(())
}

#[cold]
fn too_long() -> Error {
    Error::corrupt("more content than the block has")
}

#[cold]
fn before_start(distance: usize, at: usize) -> Error {
    Error::corrupt(format!("a match {distance} bytes back at byte {at}"))
}
