//! AIFF 1.3 and AIFF-C: chunks in any order. Numbers are big-endian.

use sinterfs_model::{ByteOrder, Waveform};

use super::samples::{Audio, CHUNKS, Form, samples};
use crate::classify::probe::Probe;

/// Finds the samples after `FORM`.
pub(super) fn find(probe: &mut Probe<'_>) -> Option<Audio> {
    let compressed = match &probe.get(8)? {
        b"AIFF" => false,
        b"AIFC" => true,
        _ => return None,
    };
    let mut form = None;
    let mut sound = None;
    let mut at = 12;
    for _ in 0..CHUNKS {
        let name: [u8; 4] = probe.get(at)?;
        let size = u64::from(u32::from_be_bytes(probe.get(at + 4)?));
        let start = at + 8;
        match &name {
            b"COMM" => form = Some(waveform(probe, start, size, compressed)?),
            b"SSND" => {
                // samples begin this number of bytes after this field and the next one
                let offset = u64::from(u32::from_be_bytes(probe.get(start)?));
                sound = Some((start + 8 + offset, size.checked_sub(8 + offset)?));
            }
            _ => {}
        }
        if let (Some((waveform, frames)), Some((start, len))) = (form, sound) {
            let declared = u64::from(frames) * u64::from(waveform.frame());
            return samples(probe, start, len.min(declared), waveform);
        }
        at = start + size.next_multiple_of(2);
    }
    None
}

/// Reads the common chunk: channels, frames, bits, rate; in AIFF-C also the compression.
fn waveform(
    probe: &mut Probe<'_>,
    start: u64,
    len: u64,
    compressed: bool,
) -> Option<(Waveform, u32)> {
    if len < if compressed { 22 } else { 18 } {
        return None;
    }
    let channels = u16::from_be_bytes(probe.get(start)?);
    let frames = u32::from_be_bytes(probe.get(start + 2)?);
    let bits = u32::from(u16::from_be_bytes(probe.get(start + 6)?));
    let order = match (compressed, probe.get(start + 18)) {
        (false, _) => ByteOrder::Big,
        (true, Some([b'N', b'O', b'N', b'E'] | [b't', b'w', b'o', b's'])) => ByteOrder::Big,
        (true, Some([b's', b'o', b'w', b't'])) => ByteOrder::Little,
        _ => return None,
    };
    let form = Form {
        channels: channels.into(),
        bits,
        bytes: bits.div_ceil(8),
        order,
        signed: true,
    };
    Some((form.waveform()?, frames))
}
