//! The samples of an audio file: their range, and their format as headers declare it.
//!
//! Enters the fields of a header; leaves a `Waveform` that FLAC can hold, and a range within the
//! file. **Invariant:** ranges are not empty and end within the file (`samples` clips them).

use std::ops::Range;

use sinterfs_model::{ByteOrder, Padding, Waveform};

use crate::classify::probe::Probe;

/// The most chunks before the samples.
pub(super) const CHUNKS: usize = 64;

/// Samples somewhere in a file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::classify) struct Audio {
    pub(in crate::classify) range: Range<u64>,
    pub(in crate::classify) waveform: Waveform,
}

/// The format of samples, from a header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) channels: u32,
    /// Significant bits of a sample.
    pub(super) bits: u32,
    /// Bytes of a sample.
    pub(super) bytes: u32,
    pub(super) order: ByteOrder,
    pub(super) signed: bool,
}

impl Form {
    /// Returns the waveform, with the sample at the top of its bytes; `None` for what FLAC does not
    /// hold.
    pub(super) fn waveform(self) -> Option<Waveform> {
        let fits = (1..=8).contains(&self.channels)
            && (1..=4).contains(&self.bytes)
            && (4..=8 * self.bytes).contains(&self.bits);
        fits.then_some(Waveform {
            channels: self.channels as u8,
            bits: self.bits as u8,
            bytes: self.bytes as u8,
            // one byte has no order
            order: if self.bytes == 1 {
                ByteOrder::Little
            } else {
                self.order
            },
            signed: self.signed,
            padding: Padding::Low,
        })
    }
}

/// Returns samples of `len` bytes from `start` on, as far as the file goes.
pub(super) fn samples(
    probe: &Probe<'_>,
    start: u64,
    len: u64,
    waveform: Waveform,
) -> Option<Audio> {
    let end = start.saturating_add(len).min(probe.size());
    (start < end).then_some(Audio {
        range: start..end,
        waveform,
    })
}
