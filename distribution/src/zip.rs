//! Zip archives of a few files.
//!
//! In: names and contents. Out: an archive. **Invariant:** the same files give the same bytes: all
//! have one time, and the order is the caller's. Spec: APPNOTE.TXT 4.3; no file of 4 GiB.

use std::io::Write;

use flate2::{Compression, Crc, write::DeflateEncoder};

/// Version 2.0, which has deflate.
const VERSION: u16 = 20;
const DEFLATE: u16 = 8;
/// Made on Unix, so that permissions are known.
const MADE_BY: u16 = 3 << 8 | VERSION;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// 1980-01-01, the first day of the format.
const DATE: u16 = 0x21;

/// A file of an archive.
pub struct ZipFile<'a> {
    /// Its path, with slashes.
    pub name: &'a str,
    /// Its bytes.
    pub content: &'a [u8],
    /// Whether it is a program.
    pub is_program: bool,
}

/// Returns an archive of files.
pub fn archive(files: &[ZipFile<'_>]) -> Result<Vec<u8>, String> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let failed = |_| format!("{} is too large for a zip archive", file.name);
        let mut crc = Crc::new();
        crc.update(file.content);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(file.content);
        let packed = written.and_then(|()| encoder.finish());
        let packed = packed.map_err(|e| format!("{}: {e}", file.name))?;
        let start = u32::try_from(out.len()).map_err(failed)?;
        // what the local header and the entry of the directory share
        let mut shared = Vec::new();
        for short in [VERSION, FLAGS, DEFLATE, 0, DATE] {
            shared.extend(u16::to_le_bytes(short));
        }
        let packed_len = u32::try_from(packed.len()).map_err(failed)?;
        let len = u32::try_from(file.content.len()).map_err(failed)?;
        for long in [crc.sum(), packed_len, len] {
            shared.extend(long.to_le_bytes());
        }
        shared.extend(
            u16::try_from(file.name.len())
                .map_err(failed)?
                .to_le_bytes(),
        );
        shared.extend([0; 2]);

        out.extend(b"PK\x03\x04");
        out.extend(&shared);
        out.extend(file.name.as_bytes());
        out.extend(&packed);

        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(&shared);
        // no comment, the first disk, no attributes but permissions
        directory.extend([0; 6]);
        let mode: u32 = if file.is_program {
            0o100_755
        } else {
            0o100_644
        };
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(file.name.as_bytes());
    }
    let failed = |_| "a zip archive is too large".to_owned();
    let count = u16::try_from(files.len()).map_err(failed)?;
    let (start, len) = (u32::try_from(out.len()), u32::try_from(directory.len()));
    out.extend(directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    out.extend(len.map_err(failed)?.to_le_bytes());
    out.extend(start.map_err(failed)?.to_le_bytes());
    out.extend([0; 2]);
    Ok(out)
}
