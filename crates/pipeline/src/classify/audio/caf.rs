//! Core Audio Format 1: the description first, then chunks with 64-bit sizes. Numbers are
//! big-endian.

use sinterfs_model::{ByteOrder, Waveform};

use super::samples::{Audio, CHUNKS, Form, samples};
use crate::classify::probe::Probe;

/// Samples are floating-point numbers.
const FLOAT: u32 = 1;
/// Samples are little-endian.
const LITTLE: u32 = 2;
/// A size that is not known: up to the end.
const UNKNOWN: i64 = -1;

/// Finds the samples after `caff`.
pub(super) fn find(probe: &mut Probe<'_>) -> Option<Audio> {
    if probe.get(4)? != [0, 1] || probe.get(8)? != *b"desc" {
        return None;
    }
    let mut form = None;
    let mut at = 8u64;
    for _ in 0..CHUNKS {
        let name: [u8; 4] = probe.get(at)?;
        let size = i64::from_be_bytes(probe.get(at.checked_add(4)?)?);
        let start = at + 12;
        match &name {
            b"desc" if size >= 32 => form = Some(waveform(probe, start)?),
            b"data" => {
                // after the number of edits
                let len = match size {
                    UNKNOWN => u64::MAX,
                    size => u64::try_from(size).ok()?.checked_sub(4)?,
                };
                return samples(probe, start + 4, len, form?);
            }
            _ => {}
        }
        at = start.checked_add(u64::try_from(size).ok()?)?;
    }
    None
}

/// Reads the description: rate, format, flags, bytes and frames of a packet, channels, bits.
fn waveform(probe: &mut Probe<'_>, start: u64) -> Option<Waveform> {
    let format: [u8; 4] = probe.get(start + 8)?;
    let mut number = |at| probe.get(start + at).map(u32::from_be_bytes);
    let (flags, frame, frames) = (number(12)?, number(16)?, number(20)?);
    let (channels, bits) = (number(24)?, number(28)?);
    let plain = format == *b"lpcm" && flags & FLOAT == 0 && frames == 1;
    if !plain || channels == 0 || !frame.is_multiple_of(channels) {
        return None;
    }
    let little = flags & LITTLE != 0;
    let form = Form {
        channels,
        bits,
        bytes: frame / channels,
        order: if little {
            ByteOrder::Little
        } else {
            ByteOrder::Big
        },
        signed: true,
    };
    form.waveform()
}
