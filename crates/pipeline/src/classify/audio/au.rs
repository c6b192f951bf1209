//! The audio files of Sun and NeXT: six big-endian numbers, then samples.

use sinterfs_model::ByteOrder;

use super::samples::{Audio, Form, samples};
use crate::classify::probe::Probe;

/// Finds the samples after `.snd`: their start, bytes, encoding, rate, channels.
pub(super) fn find(probe: &mut Probe<'_>) -> Option<Audio> {
    let mut number = |at| probe.get(at).map(u32::from_be_bytes);
    let (start, len, encoding, channels) = (number(4)?, number(8)?, number(12)?, number(20)?);
    // 2 to 5 are linear, with 1 to 4 bytes
    let bytes = encoding
        .checked_sub(1)
        .filter(|bytes| (1..=4).contains(bytes))?;
    let form = Form {
        channels,
        bits: 8 * bytes,
        bytes,
        order: ByteOrder::Big,
        signed: true,
    };
    // a length of all ones is not known
    samples(probe, start.into(), len.into(), form.waveform()?)
}
