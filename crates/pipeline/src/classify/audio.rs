//! PCM audio in files: the range of the samples, and their format.
//!
//! Enters a file; leaves the range of its samples and their format, or `None` for files that are
//! not PCM or that FLAC cannot hold. Headers are not trusted: sizes are clipped to the file, and
//! few positions of a file are inspected.

mod aiff;
mod au;
mod caf;
mod samples;
mod wav;

use super::probe::Probe;
use samples::Audio;

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

#[cfg(test)]
mod tests;
