//! PCM audio in files: the range of the samples, and their format.
//!
//! Enters a file; leaves the range of its samples and their format, or `None` for files that are
//! not PCM or that FLAC cannot hold. Headers are not trusted: sizes are clipped to the file, and
//! few positions of a file are inspected.

mod aiff;
mod au;
mod caf;
mod wav;

use std::ops::Range;

use sinterfs_model::{ByteOrder, Padding, Waveform};

use super::probe::Probe;

/// The most chunks before the samples.
const CHUNKS: usize = 64;

/// Samples somewhere in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Audio {
    pub(super) range: Range<u64>,
    pub(super) waveform: Waveform,
}

/// Finds the samples of a file of any of the known kinds.
pub(super) fn find(probe: &mut Probe<'_>) -> Option<Audio> {
    match probe.head().first_chunk()? {
        b"RIFF" | b"RF64" | b"BW64" => wav::riff(probe),
        b"riff" => wav::wave64(probe),
        b"FORM" => aiff::find(probe),
        b"caff" => caf::find(probe),
        b".snd" => au::find(probe),
        _ => None,
    }
}

/// The format of samples, from a header.
#[derive(Debug, Clone, Copy)]
struct Form {
    channels: u32,
    /// Significant bits of a sample.
    bits: u32,
    /// Bytes of a sample.
    bytes: u32,
    order: ByteOrder,
    signed: bool,
}

impl Form {
    /// Returns the waveform, with the sample at the top of its bytes; `None` for what FLAC does not
    /// hold.
    fn waveform(self) -> Option<Waveform> {
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
fn samples(probe: &Probe<'_>, start: u64, len: u64, waveform: Waveform) -> Option<Audio> {
    let end = start.saturating_add(len).min(probe.size());
    (start < end).then_some(Audio {
        range: start..end,
        waveform,
    })
}

#[cfg(test)]
mod tests;
