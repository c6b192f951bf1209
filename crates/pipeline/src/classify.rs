//! Classifies content by its first buffer: audio and image files, whose headers are separate; code
//! of one machine; text; already compressed data; anything else.
//!
//! Enters the first bytes of a file's data (up to a buffer), and the file for the few bytes that
//! headers point to; leaves `Spans`. Only cost depends on it: a wrong answer puts bytes into the
//! wrong stream, but never loses any. **Invariant:** depends only on the file's bytes and size.

mod audio;
mod fits;
mod machine;
mod probe;
mod spans;

use sinterfs_model::{Categorizers, Category, FileContent, Result};

use self::machine::machine;
use self::probe::Probe;
use self::spans::Span;
pub(crate) use self::spans::Spans;

/// Bytes whose entropy is measured, taken from four places.
const SAMPLE: usize = 64 << 10;

/// Below this many bytes entropy means little: only magic numbers count.
const ENOUGH: usize = 4 << 10;

/// Bits a byte above which compression gains nothing: machine code reaches 6.7, text 5, streams of
/// deflate 7.9 and of xz or zstd 7.99.
const FULL: f64 = 7.9;

/// Bits a byte above which a magic number is believed.
const LIKELY: f64 = 7.0;

/// Beginnings of files that hold compressed streams, with their offset.
const MAGIC: [(usize, &[u8]); 21] = [
    (0, b"\x1f\x8b\x08"),       // gzip
    (0, b"\xfd7zXZ\0"),         // xz
    (0, b"\x28\xb5\x2f\xfd"),   // zstd
    (0, b"BZh"),                // bzip2
    (0, b"\x04\x22\x4d\x18"),   // lz4
    (0, b"PK\x03\x04"),         // zip, jar, odt, apk
    (0, b"7z\xbc\xaf\x27\x1c"), // 7-zip
    (0, b"Rar!\x1a\x07"),       // rar
    (0, b"LZIP"),               // lzip
    (0, b"\x89PNG\r\n\x1a\n"),  // png
    (0, b"\xff\xd8\xff"),       // jpeg
    (0, b"GIF8"),               // gif
    (8, b"WEBP"),               // webp
    (4, b"ftyp"),               // mp4, heic, avif
    (0, b"OggS"),               // ogg
    (0, b"fLaC"),               // flac
    (0, b"ID3"),                // mp3
    (0, b"\x1a\x45\xdf\xa3"),   // matroska, webm
    (0, b"wOF2"),               // woff2
    (0, b"DWARFS"),             // dwarfs
    (0, b"hsqs"),               // squashfs
];

/// The shortest part of a file that is worth an extent and a separate stream.
const SHORTEST_PART: u64 = 1 << 10;

/// The beginning of a file's data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'a> {
    /// Its offset in the file: after a hole, if not 0.
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// Returns the categories of a file of `size` bytes.
pub(crate) fn classify(
    head: Head<'_>,
    size: u64,
    content: &dyn FileContent,
    wanted: Categorizers,
) -> Result<Spans> {
    if let Some(category) = content.category() {
        return Ok(Spans::whole(category));
    }
    if head.offset == 0 {
        let mut probe = Probe::new(head.bytes, size, content);
        let found = part(&mut probe, wanted);
        probe.finish()?;
        if let Some(part) = found {
            return Ok(Spans::parts(vec![part], Category::Default));
        }
    }
    Ok(Spans::whole(category(head.bytes, wanted)))
}

/// Finds the samples or pixels of a file.
fn part(probe: &mut Probe<'_>, wanted: Categorizers) -> Option<Span> {
    let audio = if wanted.audio {
        audio::find(probe)
    } else {
        None
    };
    let (range, category) = match audio {
        Some(audio) => (audio.range, Category::Waveform(audio.waveform)),
        None if wanted.images => {
            let (range, image) = fits::find(probe)?;
            (range, Category::Fits(image))
        }
        None => return None,
    };
    let len = range.end - range.start;
    (len >= SHORTEST_PART).then_some(Span {
        start: range.start,
        end: range.end,
        category,
    })
}

/// Returns whether a content of this main category has parts of other categories.
pub(crate) fn has_parts(main: Category) -> bool {
    matches!(main, Category::Waveform(_) | Category::Fits(_))
}

/// Returns whether compression of the category gains from the order of contents.
pub(crate) fn gains_from_order(main: Category) -> bool {
    main != Category::Incompressible && !has_parts(main)
}

/// Returns the category of content that begins with `head`.
fn category(head: &[u8], wanted: Categorizers) -> Category {
    let known = MAGIC
        .iter()
        .any(|&(at, magic)| head.get(at..).is_some_and(|bytes| bytes.starts_with(magic)));
    let enough = head.len() >= ENOUGH;
    if known && !enough && wanted.incompressible {
        return Category::Incompressible;
    }
    if wanted.code
        && let Some(machine) = machine(head)
    {
        return Category::Code(machine);
    }
    if enough && wanted.incompressible {
        let bits = entropy(head);
        if bits >= FULL || (known && bits >= LIKELY) {
            return Category::Incompressible;
        }
    }
    if wanted.text && is_text(head) {
        Category::Text
    } else {
        Category::Default
    }
}

/// Bytes that are inspected to detect text.
const TEXT_SAMPLE: usize = 512;

fn is_text(head: &[u8]) -> bool {
    let sample = head.get(..TEXT_SAMPLE).unwrap_or(head);
    let control =
        |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    !sample.iter().any(|&byte| control(byte))
}

/// Measures the bits a byte of a sample, corrected for its size.
fn entropy(head: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    let mut total = 0u32;
    let part = SAMPLE / 4;
    let stride = (head.len() / 4).max(part);
    for piece in head.chunks(stride).take(4) {
        let piece = piece.get(..part).unwrap_or(piece);
        for &byte in piece {
            counts[usize::from(byte)] += 1;
        }
        total += piece.len() as u32;
    }
    let distinct = counts.iter().filter(|&&count| count > 0).count() as u32;
    if distinct < 128 {
        // below 7 bits for any counts, as text is; spares the logarithms
        return f64::from(distinct.max(1)).log2();
    }
    let total = f64::from(total.max(1));
    let sum: f64 = counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| f64::from(count) * f64::from(count).log2())
        .sum();
    // a sample of n bytes of noise falls short by about 255 / (2 n ln 2) bits (Miller, 1955)
    total.log2() - sum / total + 255.0 / (2.0 * total * std::f64::consts::LN_2)
}

#[cfg(test)]
mod tests {
    use sinterfs_testkit::noise;

    use super::*;

    fn category(head: &[u8]) -> Category {
        super::category(head, Categorizers::ALL)
    }

    #[test]
    fn noise_is_incompressible_at_every_size_that_is_measured() {
        for len in [ENOUGH, 20_000, SAMPLE, 1 << 20] {
            assert_eq!(category(&noise(1, len)), Category::Incompressible, "{len}");
        }
        assert_eq!(
            category(&[b"\0", &noise(1, 100)[..]].concat()),
            Category::Default
        );
    }

    #[test]
    fn text_is_told_by_the_first_bytes() {
        assert_eq!(category(b""), Category::Text);
        assert_eq!(category("#!/bin/sh\nécho\n".as_bytes()), Category::Text);
        assert_eq!(category(b"\x7fELF"), Category::Default);
        assert_eq!(category(&[0; 100]), Category::Default);
    }

    #[test]
    fn text_and_zeros_are_not() {
        assert_eq!(category(&vec![0; 100_000]), Category::Default);
        assert_eq!(
            category("some text of no great wit ".repeat(5000).as_bytes()),
            Category::Text
        );
    }

    #[test]
    fn a_known_beginning_counts_unless_the_rest_belies_it() {
        assert_eq!(
            category(b"\x1f\x8b\x08\0\0\0\0\0"),
            Category::Incompressible
        );
        let mut stored = b"PK\x03\x04".to_vec();
        stored.extend_from_slice("plain text in a zip that stores ".repeat(5000).as_bytes());
        assert_eq!(category(&stored), Category::Default);
    }

    #[test]
    fn what_is_not_wanted_is_not_told() {
        let mut elf = [0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[18] = 0x3e;
        let noise = noise(1, 10_000);
        for head in [&b"text"[..], &elf, &noise] {
            assert_ne!(category(head), Category::Default);
            assert_eq!(super::category(head, Categorizers::NONE), Category::Default);
        }
        let text = Categorizers {
            text: true,
            ..Categorizers::NONE
        };
        assert_eq!(super::category(b"text", text), Category::Text);
        assert_eq!(super::category(&noise, text), Category::Default);
    }
}
