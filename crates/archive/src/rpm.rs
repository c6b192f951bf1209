//! Reads the headers of an RPM package up to its payload.
//!
//! In: a stream. Out: how the payload is compressed. Spec: "RPM package format" (version 3 and 4)
//! of the RPM reference manual.
//!
//! **Invariant:** at most `HEADER_MAX` bytes of a header are read; what is not looked at is not
//! kept.

use std::io::Read;

use sinterfs_model::{Error, Result};

/// The first bytes of the lead.
const LEAD_MAGIC: [u8; 4] = [0xed, 0xab, 0xee, 0xdb];

/// The length of the lead.
const LEAD_LEN: usize = 96;

/// The first bytes of a header structure.
const HEADER_MAGIC: [u8; 4] = [0x8e, 0xad, 0xe8, 1];

/// The length of the beginning of a header structure, and of an entry of its index.
const HEADER_LEN: usize = 16;
const ENTRY_LEN: u32 = 16;

/// The most entries and bytes of a header, as rpm bounds them.
const ENTRIES_MAX: u32 = 1 << 16;
const HEADER_MAX: u32 = 256 << 20;

/// The entry that names the compression of the payload.
const PAYLOAD_COMPRESSOR: u32 = 1125;

/// The longest name of a compression.
const NAME_MAX: usize = 16;

/// Returns whether bytes begin an RPM package.
pub fn is_rpm(start: &[u8]) -> bool {
    start.starts_with(&LEAD_MAGIC)
}

/// Reads a package from front to back up to its payload; returns the name of the payload's
/// compression, if the package has one. The stream is then at the start of the payload.
///
/// # Errors
/// `Corrupt` for a package without a payload, `Limit` for headers that rpm does not read.
pub fn seek_payload(stream: &mut dyn Read) -> Result<Option<String>> {
    let mut lead = [0; LEAD_LEN];
    fill(stream, &mut lead, "lead")?;
    if !is_rpm(&lead) {
        return Err(bad("lead", "an invalid lead"));
    }
    // the signature is padded, the header after it is not
    header(stream, "signature", true)?;
    header(stream, "header", false)
}

/// Reads a header structure; returns the name of the compression that it has.
fn header(stream: &mut dyn Read, what: &'static str, is_padded: bool) -> Result<Option<String>> {
    let mut start = [0; HEADER_LEN];
    fill(stream, &mut start, what)?;
    let [a, b, c, d, _, _, _, _, rest @ ..] = start;
    if [a, b, c, d] != HEADER_MAGIC {
        return Err(bad(what, "an invalid header structure"));
    }
    let [e, f, g, h, i, j, k, l] = rest;
    let entries = u32::from_be_bytes([e, f, g, h]);
    let len = u32::from_be_bytes([i, j, k, l]);
    if entries > ENTRIES_MAX || len > HEADER_MAX {
        let found = format!("a header of {entries} entries and {len} bytes");
        return Err(Error::limit(found).within(what));
    }
    let mut at = None;
    for _ in 0..entries {
        let mut entry = [0; ENTRY_LEN as usize];
        fill(stream, &mut entry, what)?;
        let [a, b, c, d, _, _, _, _, e, f, g, h, ..] = entry;
        if u32::from_be_bytes([a, b, c, d]) == PAYLOAD_COMPRESSOR {
            at = Some(u32::from_be_bytes([e, f, g, h]));
        }
    }
    let mut left = u64::from(len);
    let mut name = None;
    if let Some(at) = at.filter(|at| *at < len) {
        skip(stream, at.into(), what)?;
        let mut bytes = [0; NAME_MAX];
        let most = NAME_MAX.min((len - at) as usize);
        let (room, _) = bytes.split_at_mut(most);
        fill(stream, room, what)?;
        left -= u64::from(at) + most as u64;
        let text = room.split(|byte| *byte == 0).next().unwrap_or_default();
        name = Some(String::from_utf8_lossy(text).into_owned());
    }
    let padding = if is_padded { len.wrapping_neg() % 8 } else { 0 };
    skip(stream, left + u64::from(padding), what)?;
    Ok(name)
}

fn skip(stream: &mut dyn Read, len: u64, what: &'static str) -> Result<()> {
    let skipped = std::io::copy(&mut stream.take(len), &mut std::io::sink());
    let skipped = skipped.map_err(|error| Error::io("cannot read the package", error))?;
    if skipped < len {
        return Err(cut(what));
    }
    Ok(())
}

fn fill(stream: &mut dyn Read, buf: &mut [u8], what: &'static str) -> Result<()> {
    let filled = stream.read_exact(buf);
    filled.map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => cut(what),
        _ => Error::io("cannot read the package", error),
    })
}

#[cold]
fn cut(what: &'static str) -> Error {
    bad(what, "the package ends before its payload")
}

#[cold]
fn bad(place: &'static str, what: &'static str) -> Error {
    Error::corrupt(what).within(place)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "this is a test")]

    use super::*;

    fn structure(entries: &[(u32, u32)], store: &[u8]) -> Vec<u8> {
        let mut bytes = HEADER_MAGIC.to_vec();
        bytes.extend([0; 4]);
        bytes.extend((entries.len() as u32).to_be_bytes());
        bytes.extend((store.len() as u32).to_be_bytes());
        for (tag, offset) in entries {
            for number in [*tag, 6, *offset, 1] {
                bytes.extend(number.to_be_bytes());
            }
        }
        bytes.extend(store);
        bytes
    }

    fn package(header: &[u8]) -> Vec<u8> {
        let lead = [&LEAD_MAGIC[..], &[3; LEAD_LEN - 4]].concat();
        // a store of 3 bytes is padded to 8
        let signature = structure(&[(1000, 0)], b"abc");
        [&lead, &signature, &[0; 5][..], header, b"payload"].concat()
    }

    #[test]
    fn the_payload_is_found() {
        let header = structure(
            &[(1000, 0), (PAYLOAD_COMPRESSOR, 5), (1126, 0)],
            b"name\0zstd\0",
        );
        let bytes = package(&header);
        assert!(is_rpm(&bytes));
        let mut stream = &*bytes;
        let compressor = seek_payload(&mut stream).unwrap();
        assert_eq!(
            (compressor.as_deref(), stream),
            (Some("zstd"), &b"payload"[..])
        );
        for len in 0..bytes.len() - 7 {
            assert!(seek_payload(&mut &bytes[..len]).is_err(), "{len}");
        }
        // one without the entry, and one whose entry is outside
        for entries in [&[(1000, 0)][..], &[(PAYLOAD_COMPRESSOR, 99)]] {
            let bytes = package(&structure(entries, b"name\0"));
            let mut stream = &*bytes;
            assert_eq!(seek_payload(&mut stream).unwrap(), None);
            assert_eq!(stream, b"payload");
        }
        let mut large = package(&header);
        large[LEAD_LEN + 8] = 0x7f;
        let error = seek_payload(&mut &*large).unwrap_err();
        assert_eq!(error.kind(), sinterfs_model::Kind::Limit);
    }
}
