//! WAV: RIFF chunks (Multimedia Programming Interface 1.0), those with 64-bit sizes (EBU Tech 3306,
//! ITU-R BS.2088), and Sony's Wave64. Numbers are little-endian.

use sinterfs_model::{ByteOrder, Waveform};

use super::samples::{Audio, CHUNKS, Form, samples};
use crate::classify::probe::Probe;

/// Plain PCM.
const PCM: u16 = 1;
/// The format is named by a GUID.
const EXTENSIBLE: u16 = 0xfffe;

/// The bytes after the format's number in a GUID of the registered formats.
const REGISTERED: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];

/// A size that is stored elsewhere.
const ELSEWHERE: u32 = u32::MAX;

/// Finds the samples after `RIFF`, `RF64` or `BW64`.
pub(super) fn riff(probe: &mut Probe<'_>) -> Option<Audio> {
    if probe.get(8)? != *b"WAVE" {
        return None;
    }
    let mut form = None;
    let mut long = None;
    let mut at = 12;
    for _ in 0..CHUNKS {
        let name: [u8; 4] = probe.get(at)?;
        let size = u32::from_le_bytes(probe.get(at + 4)?);
        let start = at + 8;
        match &name {
            b"ds64" => long = Some(u64::from_le_bytes(probe.get(start + 8)?)),
            b"fmt " => form = Some(waveform(probe, start, size.into())?),
            b"data" => {
                let len = match (size, long) {
                    (ELSEWHERE, Some(long)) => long,
                    // writers to pipes leave it so: up to the end
                    _ => size.into(),
                };
                return samples(probe, start, len, form?);
            }
            _ => {}
        }
        at = start + u64::from(size).next_multiple_of(2);
    }
    None
}

/// The bytes after the first four letters in a GUID of Wave64.
const RIFF_TAIL: [u8; 12] = [
    0x2e, 0x91, 0xcf, 0x11, 0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0, 0,
];
const CHUNK_TAIL: [u8; 12] = [
    0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a,
];

/// Finds the samples of a Wave64 file.
pub(super) fn wave64(probe: &mut Probe<'_>) -> Option<Audio> {
    let (riff, wave): ([u8; 12], [u8; 16]) = (probe.get(4)?, probe.get(24)?);
    if riff != RIFF_TAIL || !wave.starts_with(b"wave") || !wave.ends_with(&CHUNK_TAIL) {
        return None;
    }
    let mut form = None;
    let mut at = 40u64;
    for _ in 0..CHUNKS {
        let name: [u8; 16] = probe.get(at)?;
        // with the name and itself
        let size = u64::from_le_bytes(probe.get(at.checked_add(16)?)?);
        let (start, len) = (at + 24, size.checked_sub(24)?);
        if name.ends_with(&CHUNK_TAIL) {
            match name.first_chunk()? {
                b"fmt " => form = Some(waveform(probe, start, len)?),
                b"data" => return samples(probe, start, len, form?),
                _ => {}
            }
        }
        at = at.checked_add(size.checked_next_multiple_of(8)?)?;
    }
    None
}

/// Reads a format chunk: format, channels, rate, bytes a second, bytes of a frame, bits; in the
/// extension its size, valid bits, speakers, GUID.
fn waveform(probe: &mut Probe<'_>, start: u64, len: u64) -> Option<Waveform> {
    let number = |bytes: [u8; 2]| u16::from_le_bytes(bytes);
    if len < 16 {
        return None;
    }
    let format = number(probe.get(start)?);
    let channels = u32::from(number(probe.get(start.checked_add(2)?)?));
    let frame = u32::from(number(probe.get(start + 12)?));
    let mut bits = u32::from(number(probe.get(start + 14)?));
    // the bits of the container, of which the extension may declare fewer as valid
    let signed = bits > 8;
    match format {
        PCM => {}
        EXTENSIBLE if len >= 40 => {
            let registered: [u8; 14] = probe.get(start + 26)?;
            if number(probe.get(start + 24)?) != PCM || registered != REGISTERED {
                return None;
            }
            let valid = u32::from(number(probe.get(start + 18)?));
            if valid > 0 {
                bits = bits.min(valid);
            }
        }
        _ => return None,
    }
    if channels == 0 || !frame.is_multiple_of(channels) {
        return None;
    }
    let form = Form {
        channels,
        bits,
        bytes: frame / channels,
        order: ByteOrder::Little,
        signed,
    };
    form.waveform()
}
