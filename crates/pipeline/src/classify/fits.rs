//! FITS 4.0: the image of the primary header, if it has 16 bits a pixel.
//!
//! A header is cards of 80 characters in blocks of 2880 bytes; the data follows in the next block,
//! most significant byte first. Enters a file; leaves the range of its pixels and their layout.

use std::ops::Range;

use sinterfs_model::{ByteOrder, RawImage};

use super::probe::Probe;

const CARD: usize = 80;
const BLOCK: u64 = 2880;

/// Bytes of pixels that are inspected to determine their layout.
const SAMPLE: u64 = 32 << 10;

/// Finds the pixels of a file.
pub(super) fn find(probe: &mut Probe<'_>) -> Option<(Range<u64>, RawImage)> {
    let (cards, _) = probe.head().as_chunks::<CARD>();
    let (first, cards) = cards.split_first()?;
    if !first.starts_with(b"SIMPLE  =") || value(first) != "T" {
        return None;
    }
    let mut header = Header::default();
    // the whole header has to be in the head, which bounds it
    let end = cards.iter().position(|card| {
        header.take(card);
        card.starts_with(b"END     ")
    })?;
    let start = ((end as u64 + 2) * CARD as u64).next_multiple_of(BLOCK);
    let end = start.checked_add(header.bytes()?)?.min(probe.size());
    let sample = SAMPLE.min(end.checked_sub(start)?) / 4 * 4;
    let sample = probe.bytes(start, sample as usize)?;
    (start < end).then(|| (start..end, layout(&sample)))
}

/// The properties of the data, from the cards.
#[derive(Default)]
struct Header {
    bits: Option<i64>,
    axes: Option<usize>,
    /// The product of the lengths of the axes, and the number of axes seen.
    pixels: Option<u64>,
    seen: usize,
}

impl Header {
    fn take(&mut self, card: &[u8; CARD]) {
        let (keyword, rest) = card.split_at(8);
        if !rest.starts_with(b"=") {
            return;
        }
        let number = || value(card).parse::<i64>().ok();
        match keyword {
            b"BITPIX  " => self.bits = number(),
            b"NAXIS   " => {
                self.axes = number().and_then(|axes| usize::try_from(axes).ok());
                self.pixels = Some(1);
            }
            [b'N', b'A', b'X', b'I', b'S', b'1'..=b'9', ..] => {
                let len = number().and_then(|len| u64::try_from(len).ok());
                self.pixels = self
                    .pixels
                    .zip(len)
                    .and_then(|(all, len)| all.checked_mul(len));
                self.seen += 1;
            }
            _ => {}
        }
    }

    /// Returns the bytes of an image of 16 bits a pixel.
    fn bytes(&self) -> Option<u64> {
        if self.bits != Some(16) || self.axes != Some(self.seen) || self.seen == 0 {
            return None;
        }
        self.pixels?.checked_mul(2)
    }
}

/// Returns the value of a card that is a number or a truth value.
fn value(card: &[u8; CARD]) -> &str {
    let value = card.get(10..).unwrap_or_default();
    let value = value.split(|&byte| byte == b'/').next().unwrap_or_default();
    std::str::from_utf8(value).unwrap_or_default().trim()
}

/// Determines from a sample whether a pixel resembles the next one or, as with a colour filter, the
/// one after it, and which low bits are always zero.
fn layout(sample: &[u8]) -> RawImage {
    let (pairs, _) = sample.as_chunks::<2>();
    let pixels: Vec<u16> = pairs.iter().map(|&pair| u16::from_be_bytes(pair)).collect();
    let steps = |apart: usize| -> u64 {
        let pairs = pixels.iter().zip(pixels.get(apart..).unwrap_or_default());
        pairs
            .map(|(a, b)| u64::from(b.wrapping_sub(*a).cast_signed().unsigned_abs()))
            .sum()
    };
    let all = pixels.iter().fold(0, |all, pixel| all | pixel);
    RawImage {
        // somewhat less would be chance
        components: if steps(2) < steps(1) / 10 * 9 { 2 } else { 1 },
        unused_lsb: all.trailing_zeros().min(15) as u8,
        order: ByteOrder::Big,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::super::probe::tests::Counted;
    use super::*;

    fn file(cards: &[&str], data: usize, pixel: impl Fn(usize) -> u16) -> Vec<u8> {
        let mut file: Vec<u8> = cards
            .iter()
            .flat_map(|card| format!("{card:80}").into_bytes())
            .collect();
        file.resize(file.len().next_multiple_of(2880), b' ');
        file.extend((0..data / 2).flat_map(|index| pixel(index).to_be_bytes()));
        file
    }

    fn found(file: Vec<u8>) -> Option<(Range<u64>, RawImage)> {
        let file = Counted(file, AtomicU32::new(0));
        let head = file.0[..file.0.len().min(4000)].to_vec();
        find(&mut Probe::new(&head, file.0.len() as u64, &file))
    }

    const HEAD: [&str; 6] = [
        "SIMPLE  =                    T / conforms",
        "BITPIX  =                   16",
        "NAXIS   =                    2",
        "NAXIS1  =                  300 / width",
        "NAXIS2  =                  200",
        "END",
    ];

    fn with(index: usize, card: &str) -> Vec<u8> {
        let mut cards = HEAD;
        cards[index] = card;
        file(&cards, 120_000, |_| 0)
    }

    #[test]
    fn pixels_follow_the_header() {
        let smooth = |index: usize| (index as u16 % 300 + 5) << 2;
        let (range, image) = found(file(&HEAD, 130_000, smooth)).unwrap();
        assert_eq!(range, 2880..122_880);
        assert_eq!((image.components, image.unused_lsb), (1, 2));
        let mosaic = |index: usize| if index.is_multiple_of(2) { 100 } else { 9001 };
        let (_, image) = found(file(&HEAD, 130_000, mosaic)).unwrap();
        assert_eq!((image.components, image.unused_lsb), (2, 0));
        // a file that was cut
        let (range, _) = found(file(&HEAD, 50_000, smooth)).unwrap();
        assert_eq!(range, 2880..52_880);
        let mut long = vec!["COMMENT"; 80];
        long.splice(0..0, HEAD[..5].iter().copied());
        long.push("END");
        assert!(
            found(file(&long, 120_000, smooth)).is_none(),
            "not in the head"
        );
        long.truncate(45);
        long.push("END");
        assert_eq!(
            found(file(&long, 120_000, smooth)).unwrap().0,
            5760..125_760
        );
    }

    #[test]
    fn other_files_are_left_alone() {
        assert!(found(with(0, "SIMPLE  =                    F")).is_none());
        assert!(found(with(0, "XTENSION= 'IMAGE   '")).is_none());
        assert!(found(with(1, "BITPIX  =                  -32")).is_none());
        assert!(found(with(1, "COMMENT")).is_none());
        assert!(found(with(2, "NAXIS   =                    0")).is_none());
        assert!(found(with(2, "NAXIS   =                    3")).is_none());
        assert!(found(with(2, "NAXIS   = 'two'")).is_none());
        assert!(found(with(3, "NAXIS1  =                   -1")).is_none());
        assert!(found(with(3, "NAXIS1  =                    0")).is_none());
        assert!(found(with(3, "NAXIS1  =  9223372036854775807")).is_none());
        assert!(found(with(5, "COMMENT")).is_none());
        assert!(found(file(&HEAD, 0, |_| 0)).is_none());
        assert!(found(b"SIMPLE  =".to_vec()).is_none());
    }
}
