//! Images behind a program that mounts them: files that run.
//!
//! In: a file. Out: where the image behind the program begins, and what runs in it. Such a file is
//! an ELF program, zeros up to a multiple of 64 bytes, a record, zeros up to a multiple of 4 KiB,
//! and the image. The record has a magic, its version, the length of the entry's path and the
//! offset of the image, little-endian, and the path. **Invariant:** what the program needs ends
//! where its section headers end, so the record is found from the ELF header alone; bytes that are
//! no such file are none, whatever they are.
//!
//! Source: System V ABI, "ELF Header".

use std::path::Path;

use sinterfs_block::{FileSource, ReadAt};
#[cfg(feature = "write")]
use sinterfs_model::Error;
use sinterfs_model::Result;

/// The first bytes of a record.
const MAGIC: [u8; 16] = *b"sinter self-run\n";

const VERSION: u32 = 1;

/// Bytes of a record without the path.
const RECORD: usize = 32;

/// What a record begins at a multiple of.
const RECORD_ALIGNMENT: u64 = 64;

/// What an image behind a record begins at a multiple of.
#[cfg(feature = "write")]
const IMAGE_ALIGNMENT: u64 = 4096;

/// The longest path of an entry, in bytes.
const LONGEST_ENTRY: usize = 3000;

/// What a file that runs says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelfMount {
    /// The offset of the image in the file, in bytes.
    pub offset: u64,
    /// The path in the image of the program that runs; empty if none was chosen.
    pub entry: Vec<u8>,
}

/// Returns what a file says of itself if it is a program with an image behind it.
///
/// # Errors
/// Those of reading.
pub fn of_file(path: impl AsRef<Path>) -> Result<Option<SelfMount>> {
    find(&FileSource::open(path.as_ref())?)
}

/// Does the same for any bytes.
pub(crate) fn find(file: &dyn ReadAt) -> Result<Option<SelfMount>> {
    let Some(end) = program_end(file)? else {
        return Ok(None);
    };
    let behind = |at: u64| file.len().saturating_sub(at);
    let Some(at) = end.checked_next_multiple_of(RECORD_ALIGNMENT) else {
        return Ok(None);
    };
    let mut fixed = [0; RECORD];
    if behind(at) < RECORD as u64 {
        return Ok(None);
    }
    file.read_at(at, &mut fixed)?;
    let [version, len] = [16, 20].map(|at| number(&fixed, at, 4).unwrap_or(0));
    let offset = number(&fixed, 24, 8).unwrap_or(0);
    let is_record = fixed.starts_with(&MAGIC) && version == u64::from(VERSION);
    let path = at.saturating_add(RECORD as u64);
    let is_inside = len <= behind(path) && offset <= file.len();
    let is_path = len <= LONGEST_ENTRY as u64 && offset >= path.saturating_add(len);
    if !is_record || !is_inside || !is_path {
        return Ok(None);
    }
    let entry = file.read(path, len)?;
    Ok(Some(SelfMount {
        offset,
        entry: entry.to_vec(),
    }))
}

/// Returns the end of an ELF program in its file; `None` for other files.
pub(crate) fn program_end(file: &dyn ReadAt) -> Result<Option<u64>> {
    const LONGEST: u64 = 64;
    if file.len() < LONGEST {
        return Ok(None);
    }
    let header = file.read(0, LONGEST)?;
    // 64 bits or 32, little-endian
    let found = match header.get(..6) {
        Some(b"\x7fELF\x02\x01") => [(40, 8), (58, 2), (60, 2)],
        Some(b"\x7fELF\x01\x01") => [(32, 4), (46, 2), (48, 2)],
        _ => return Ok(None),
    };
    let [table, size, count] = found.map(|(at, len)| number(&header, at, len).unwrap_or(0));
    let end = table.saturating_add(size.saturating_mul(count));
    Ok((table > 0 && end <= file.len()).then_some(end))
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    Some(bytes.iter().rev().fold(0, add))
}

/// Returns what follows a program of `end` bytes, up to the image behind it. `Invalid` for an entry
/// that is no path in an image.
#[cfg(feature = "write")]
pub(crate) fn record(end: u64, entry: &[u8]) -> Result<Vec<u8>> {
    let entry = entry.strip_prefix(b"/").unwrap_or(entry);
    let is_path = entry.split(|byte| *byte == b'/').all(|name| name != b"..");
    if entry.len() > LONGEST_ENTRY || entry.contains(&0) || !is_path {
        let what = format!(
            "the entry of an image that mounts itself is a path in it, of at most {LONGEST_ENTRY} \
             bytes and without `..`"
        );
        return Err(Error::invalid(what));
    }
    let at = end.next_multiple_of(RECORD_ALIGNMENT);
    let record_end = at + (RECORD + entry.len()) as u64;
    let offset = record_end.next_multiple_of(IMAGE_ALIGNMENT);
    let mut bytes = vec![0; (at - end) as usize];
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(entry.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(entry);
    bytes.resize((offset - end) as usize, 0);
    Ok(bytes)
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use sinterfs_block::MemorySource;

    use super::*;

    fn found(file: &[u8]) -> Option<SelfMount> {
        find(&MemorySource(file.to_vec())).expect("bytes in memory")
    }

    /// An ELF header with section headers of 64 bytes up to `end`.
    fn program(end: u64) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        bytes[40..48].copy_from_slice(&(end - 128).to_le_bytes());
        bytes[58..60].copy_from_slice(&64_u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&2_u16.to_le_bytes());
        bytes.resize(end as usize, 7);
        bytes
    }

    #[test]
    fn records_are_found_from_the_header() {
        for (end, entry) in [(1000, &b""[..]), (4096, b"bin/run"), (8128, &[b'a'; 3000])] {
            let mut file = program(end);
            assert_eq!(found(&file), None);
            file.extend(record(end, entry).unwrap());
            let offset = file.len() as u64;
            assert_eq!(offset % 4096, 0);
            assert_eq!(found(&file).unwrap().entry, entry);
            file.extend(b"image");
            let found = found(&file).unwrap();
            assert_eq!((found.offset, &*found.entry), (offset, entry));
        }
    }

    #[test]
    fn what_lies_behind_the_end_is_none() {
        let mut file = program(1000);
        file.extend(record(1000, b"entry").unwrap());
        file.truncate(1100);
        // the record is at 1024, and its path at 1056
        file[1044..1048].copy_from_slice(&100_u32.to_le_bytes());
        file[1048..1056].copy_from_slice(&1100_u64.to_le_bytes());
        assert_eq!(found(&file), None);
        // no file is that long, but a server may say so
        struct Endless;
        impl ReadAt for Endless {
            fn len(&self) -> u64 {
                u64::MAX
            }

            fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
                assert_eq!((offset, buf.len()), (0, 64));
                buf.copy_from_slice(&program(128)[..64]);
                buf[40..48].copy_from_slice(&(u64::MAX - 130).to_le_bytes());
                Ok(())
            }
        }
        assert_eq!(find(&Endless).unwrap(), None);
    }

    #[test]
    fn entries_are_paths_in_the_image() {
        let stored = record(0, b"/bin/run").unwrap();
        assert_eq!(stored[32..39], *b"bin/run");
        for wrong in [&b"../run"[..], b"a/../../b", b"a\0b", &[b'a'; 3001]] {
            assert!(record(0, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn other_files_have_none() {
        let mut file = program(1000);
        file.extend(record(1000, b"entry").unwrap());
        for wrong in 0..file.len() {
            let mut other = file.clone();
            other[wrong] ^= 0xff;
            // whatever it says, it is no more than an offset in the file
            if let Some(found) = found(&other) {
                assert!(found.offset <= other.len() as u64);
            }
            assert!(found(&file[..wrong]).is_none() || wrong > 1056);
        }
    }
}
