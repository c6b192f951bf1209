//! PCM audio: a FLAC stream, and how its samples were packed in the file; decodes and encodes.
//!
//! In: size, header (1 channels, 2 bits per sample, 3 flags), FLAC stream. Out: the waveform's
//! bytes. Flags: 0x80 big-endian; 0x40 signed, else offset binary; 0x20 the sample occupies the
//! high bits of its bytes with zeros below, else the low bits, sign-extended (zeros if unsigned);
//! the lowest two bits are the bytes of a sample minus one.
//!
//! **Invariant:** the header and the stream agree on channels and width, and the width fits the
//! bytes; the output exceeds the size by less than one frame.

use sinterfs_codec::{check_limit, flac};
use sinterfs_model::{ByteOrder, Error, Padding, Result, Waveform};

use super::header::{self, Field};

const BIG_ENDIAN: u8 = 0x80;
const SIGNED: u8 = 0x40;
const PADDED_BELOW: u8 = 0x20;
const BYTES: u8 = 0x03;

/// Decodes a payload of up to `limit` decoded bytes.
pub(super) fn decode(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let (len, rest) = header::size(stored)?;
    check_limit(len, limit)?;
    let (fields, stream) = header::Fields::read(rest)?;
    let [channels, bits, flags] = [1, 2, 3].map(|id| fields.get(id));
    let packing = Packing::new(bits, flags)?;
    let mut decoder = flac::Decoder::new(stream)?;
    let info = decoder.info();
    if u64::from(info.channels) != channels || info.bits_per_sample != packing.bits {
        return Err(Error::corrupt(format!(
            "flac: the header has {channels} channels of {bits} bits, the stream {} of {}",
            info.channels, info.bits_per_sample
        )));
    }
    let mut packed = Vec::new();
    let mut samples = Vec::new();
    while (packed.len() as u64) < len {
        decoder.next_frame(&mut samples)?;
        packing.pack(&samples, &mut packed);
    }
    if packed.len() as u64 != len {
        return Err(Error::corrupt(format!(
            "flac: expected {len} decoded bytes, found {} or more",
            packed.len()
        )));
    }
    Ok(packed)
}

/// Returns the sample format of a payload.
pub(super) fn sample_format(stored: &[u8]) -> Result<Waveform> {
    let (_, rest) = header::size(stored)?;
    let (fields, _) = header::Fields::read(rest)?;
    let [channels, bits, flags] = [1, 2, 3].map(|id| fields.get(id));
    let packing = Packing::new(bits, flags)?;
    Ok(Waveform {
        channels: u8::try_from(channels)
            .map_err(|_| Error::corrupt(format!("flac: {channels} channels")))?,
        bits: u8::try_from(packing.bits).unwrap_or(u8::MAX),
        bytes: packing.bytes,
        order: if packing.big_endian {
            ByteOrder::Big
        } else {
            ByteOrder::Little
        },
        signed: packing.signed,
        padding: if packing.padded_below {
            Padding::Low
        } else {
            Padding::High
        },
    })
}

/// Encodes a waveform of whole frames into a payload.
///
/// Samples whose padding is not as the waveform describes it are encoded at full width.
/// `Invalid` for a waveform that FLAC cannot represent.
pub(super) fn encode(waveform: Waveform, effort: flac::Flac, raw: &[u8]) -> Result<Vec<u8>> {
    let frame = waveform.frame() as usize;
    if frame == 0 || !raw.len().is_multiple_of(frame) {
        return Err(Error::invalid(format!(
            "flac: {} bytes are not whole frames of {frame}",
            raw.len()
        )));
    }
    let waveform = refine(waveform, raw);
    let packing = Packing::of(waveform)?;
    let info = flac::StreamInfo {
        channels: waveform.channels.into(),
        bits_per_sample: packing.bits,
    };
    let mut encoder = flac::Encoder::new(info, effort.level, effort.exhaustive)?;
    let mut samples = Vec::new();
    for run in raw.chunks(flac::RUN * frame) {
        packing.unpack(run, &mut samples);
        encoder.push(&samples)?;
    }
    let mut payload = header::write_size(raw.len() as u64);
    payload.extend(header::write_fields(&[
        Field::Short(waveform.channels.into()),
        Field::Byte(waveform.bits),
        Field::Byte(flags(waveform)),
    ]));
    payload.extend(encoder.finish());
    Ok(payload)
}

/// Returns the sample format; at full width if the padding is not as the waveform describes it.
pub(super) fn refine(waveform: Waveform, raw: &[u8]) -> Waveform {
    let full = Waveform {
        bits: waveform.bytes.saturating_mul(8),
        padding: Padding::Low,
        ..waveform
    };
    let Ok(packing) = Packing::of(waveform) else {
        return waveform;
    };
    let mut samples = Vec::new();
    let mut runs = raw.chunks(usize::from(packing.bytes) * flac::RUN);
    if waveform.bits == full.bits || runs.all(|run| packing.unpack(run, &mut samples)) {
        waveform
    } else {
        full
    }
}

fn flags(waveform: Waveform) -> u8 {
    let named = [
        (BIG_ENDIAN, waveform.order == ByteOrder::Big),
        (SIGNED, waveform.signed),
        (PADDED_BELOW, waveform.padding == Padding::Low),
    ];
    let set = named.into_iter().filter(|(_, is_set)| *is_set);
    set.fold(waveform.bytes.wrapping_sub(1), |flags, (flag, _)| {
        flags | flag
    })
}

/// Describes how a sample is stored in its bytes.
#[derive(Debug, Clone, Copy)]
struct Packing {
    bits: u32,
    bytes: u8,
    big_endian: bool,
    signed: bool,
    padded_below: bool,
}

impl Packing {
    fn of(waveform: Waveform) -> Result<Self> {
        Self::new(waveform.bits.into(), flags(waveform).into())
    }

    fn new(bits: u64, flags: u64) -> Result<Self> {
        let flags = u8::try_from(flags).unwrap_or(u8::MAX);
        if flags & !(BIG_ENDIAN | SIGNED | PADDED_BELOW | BYTES) != 0 {
            return Err(Error::unsupported(format!(
                "flac: unknown packing flags {flags:#x}"
            )));
        }
        let bytes = (flags & BYTES) + 1;
        let bits = u32::try_from(bits)
            .ok()
            .filter(|&bits| (1..=8 * u32::from(bytes)).contains(&bits))
            .ok_or_else(|| {
                Error::corrupt(format!("flac: samples of {bits} bits in {bytes} bytes"))
            })?;
        Ok(Self {
            bits,
            bytes,
            big_endian: flags & BIG_ENDIAN != 0,
            signed: flags & SIGNED != 0,
            padded_below: flags & PADDED_BELOW != 0,
        })
    }

    /// Appends samples as bytes; each must fit the width.
    fn pack(self, samples: &[i32], packed: &mut Vec<u8>) {
        match self.bytes {
            1 => self.pack_as::<1>(samples, packed),
            2 => self.pack_as::<2>(samples, packed),
            3 => self.pack_as::<3>(samples, packed),
            _ => self.pack_as::<4>(samples, packed),
        }
    }

    /// Decodes samples from their bytes; returns `false` if any padding is wrong.
    fn unpack(self, packed: &[u8], samples: &mut Vec<i32>) -> bool {
        match self.bytes {
            1 => self.unpack_as::<1>(packed, samples),
            2 => self.unpack_as::<2>(packed, samples),
            3 => self.unpack_as::<3>(packed, samples),
            _ => self.unpack_as::<4>(packed, samples),
        }
    }

    fn unpack_as<const N: usize>(self, packed: &[u8], samples: &mut Vec<i32>) -> bool {
        let spare = 32 - self.bits;
        let width = 8 * u32::from(self.bytes);
        let padding = width - self.bits;
        let mut right = true;
        samples.clear();
        samples.extend(packed.as_chunks::<N>().0.iter().map(|place| {
            let mut bytes = [0; 4];
            for (to, from) in bytes.iter_mut().zip(place) {
                *to = *from;
            }
            if self.big_endian
                && let Some(own) = bytes.get_mut(..N)
            {
                own.reverse();
            }
            let value = u32::from_le_bytes(bytes);
            // the sample in the high bits of 32, and its bytes if encoded again
            let (sample, again) = if self.padded_below {
                let sample = value >> padding << spare;
                (sample, sample >> spare << padding)
            } else {
                let sample = value << spare;
                let wide = if self.signed {
                    (sample.cast_signed() >> spare).cast_unsigned()
                } else {
                    sample >> spare
                };
                (sample, wide & (u32::MAX >> (32 - width)))
            };
            right &= again == value;
            let signed = if self.signed {
                sample
            } else {
                sample ^ 1 << 31
            };
            signed.cast_signed() >> spare
        }));
        right
    }

    fn pack_as<const N: usize>(self, samples: &[i32], packed: &mut Vec<u8>) {
        let bias = if self.signed { 0 } else { 1 << (self.bits - 1) };
        let shift = if self.padded_below {
            8 * u32::from(self.bytes) - self.bits
        } else {
            0
        };
        let start = packed.len();
        packed.resize(start + samples.len() * N, 0);
        let (places, _) = packed
            .get_mut(start..)
            .unwrap_or_default()
            .as_chunks_mut::<N>();
        for (place, sample) in places.iter_mut().zip(samples) {
            let value = sample.cast_unsigned().wrapping_add(bias) << shift;
            let bytes = value.to_le_bytes();
            for (to, from) in place.iter_mut().zip(bytes) {
                *to = from;
            }
            if self.big_endian {
                place.reverse();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bits: u64, flags: u64, samples: &[i32]) -> Vec<u8> {
        let mut packed = Vec::new();
        Packing::new(bits, flags)
            .unwrap()
            .pack(samples, &mut packed);
        packed
    }

    #[test]
    fn eight_bits() {
        // WAV has 8 bits unsigned, AIFF signed
        assert_eq!(packed(8, 0x00, &[-128, -1, 0, 127]), [0, 127, 128, 255]);
        assert_eq!(packed(8, 0x40, &[-128, -1, 0, 127]), [0x80, 0xff, 0, 0x7f]);
    }

    #[test]
    fn sixteen_bits() {
        assert_eq!(packed(16, 0x41, &[-2, 0x1234]), [0xfe, 0xff, 0x34, 0x12]);
        assert_eq!(packed(16, 0xc1, &[-2, 0x1234]), [0xff, 0xfe, 0x12, 0x34]);
        assert_eq!(packed(16, 0x01, &[-0x8000, 0x7fff]), [0, 0, 0xff, 0xff]);
    }

    #[test]
    fn twelve_bits_in_two_bytes() {
        // at the bottom: the sign goes on above, an unsigned one has zeros there
        assert_eq!(packed(12, 0xc1, &[-2, 0x7ff]), [0xff, 0xfe, 0x07, 0xff]);
        assert_eq!(
            packed(12, 0x81, &[-0x800, -2, 0x7ff]),
            [0, 0, 0x07, 0xfe, 0x0f, 0xff]
        );
        // at the top: zeros below
        assert_eq!(packed(12, 0xe1, &[-2, 0x7ff]), [0xff, 0xe0, 0x7f, 0xf0]);
        assert_eq!(packed(12, 0x21, &[-0x800, 0x7ff]), [0, 0, 0xf0, 0xff]);
    }

    #[test]
    fn twenty_bits_in_three_and_four_bytes() {
        assert_eq!(
            packed(20, 0x42, &[-2, 0x1_2345]),
            [0xfe, 0xff, 0xff, 0x45, 0x23, 0x01]
        );
        assert_eq!(
            packed(20, 0xe2, &[-2, 0x1_2345]),
            [0xff, 0xff, 0xe0, 0x12, 0x34, 0x50]
        );
        assert_eq!(
            packed(20, 0x02, &[-0x8_0000, 0x7_ffff]),
            [0, 0, 0, 0xff, 0xff, 0x0f]
        );
        assert_eq!(
            packed(20, 0xa3, &[-0x8_0000, 0x7_ffff]),
            [0, 0, 0, 0, 0xff, 0xff, 0xf0, 0]
        );
        assert_eq!(packed(20, 0xc3, &[-2]), [0xff, 0xff, 0xff, 0xfe]);
    }

    #[test]
    fn twenty_four_and_thirty_two_bits() {
        assert_eq!(
            packed(24, 0xc2, &[-2, 0x12_3456]),
            [0xff, 0xff, 0xfe, 0x12, 0x34, 0x56]
        );
        assert_eq!(
            packed(24, 0x63, &[-2, 0x12_3456]),
            [0, 0xfe, 0xff, 0xff, 0, 0x56, 0x34, 0x12]
        );
        assert_eq!(
            packed(32, 0xc3, &[i32::MIN, -2]),
            [0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe]
        );
        assert_eq!(
            packed(32, 0x03, &[i32::MIN, -1, i32::MAX]),
            [0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff]
        );
    }

    #[test]
    fn impossible_packings_are_refused() {
        for (bits, flags) in [
            (0, 0x40),
            (9, 0x40),
            (17, 0x41),
            (25, 0x42),
            (33, 0x43),
            (8, 0x44),
            (8, 0x100),
        ] {
            assert!(
                Packing::new(bits, flags).is_err(),
                "{bits} bits, {flags:#x}"
            );
        }
    }
}
