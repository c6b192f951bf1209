//! Reads the headers of an `ar` archive, as Debian packages are.
//!
//! In: a stream. Out: the name and length of one member after the other. Spec: deb(5), ar(5).
//!
//! **Invariant:** members begin at even positions; a header without its last two bytes is an error.

use std::io::Read;

use sinterfs_model::{Error, Result};

/// The first bytes.
const MAGIC: &[u8] = b"!<arch>\n";

/// The length of a header in bytes.
const HEADER_LEN: usize = 60;

/// The last bytes of a header.
const HEADER_END: &[u8] = b"`\n";

/// Returns whether bytes begin a Debian package: an archive whose first member says so.
pub fn is_deb(start: &[u8]) -> bool {
    let first = start.strip_prefix(MAGIC);
    first.is_some_and(|header| header.starts_with(b"debian-binary"))
}

/// Reads a package from front to back up to the tar of its files; returns the length of that. The
/// stream is then at the start of the tar, compressed or not.
///
/// # Errors
/// `Corrupt` for a package without it.
pub fn seek_deb_data(stream: &mut dyn Read) -> Result<u64> {
    let mut magic = [0; MAGIC.len()];
    fill(stream, &mut magic, 0)?;
    let mut at = MAGIC.len() as u64;
    loop {
        let mut header = [0; HEADER_LEN];
        fill(stream, &mut header, at)?;
        let len = length(&header).ok_or_else(|| bad(at, "an invalid header"))?;
        if header.starts_with(b"data.tar") {
            return Ok(len);
        }
        let padded = len.checked_add(len % 2);
        let padded = padded.ok_or_else(|| bad(at, "a member without end"))?;
        let skipped = std::io::copy(&mut stream.take(padded), &mut std::io::sink());
        let skipped = skipped.map_err(|error| Error::io("cannot read the package", error))?;
        if skipped < padded {
            return Err(bad(
                at,
                "the package ends before the files that it installs",
            ));
        }
        at = at.saturating_add(HEADER_LEN as u64).saturating_add(padded);
    }
}

/// Returns the length of a member.
fn length(header: &[u8; HEADER_LEN]) -> Option<u64> {
    let digits = header
        .get(48..58)
        .filter(|_| header.ends_with(HEADER_END))?;
    let digits = std::str::from_utf8(digits).ok()?.trim_end();
    // a sign would be a number to Rust
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

fn fill(stream: &mut dyn Read, buf: &mut [u8], at: u64) -> Result<()> {
    let filled = stream.read_exact(buf);
    filled.map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            bad(at, "the package ends before the files that it installs")
        }
        _ => Error::io("cannot read the package", error),
    })
}

#[cold]
fn bad(at: u64, what: &'static str) -> Error {
    Error::corrupt(what).at("ar header", at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "this is a test")]

    use super::*;

    fn member(name: &str, size: &str, content: &[u8]) -> Vec<u8> {
        let header = format!("{name:16}{:12}{:6}{:6}{:8}{size:10}`\n", 0, 0, 0, 100_644);
        let padding: &[u8] = if content.len() % 2 == 1 { b"\n" } else { b"" };
        [header.as_bytes(), content, padding].concat()
    }

    #[test]
    fn the_files_of_a_package_are_found() {
        let version = member("debian-binary", "4", b"2.0\n");
        let control = member("control.tar.xz", "3", b"abc");
        let data = member("data.tar", "5", b"files");
        let package = [MAGIC, &version, &control, &data].concat();
        assert!(is_deb(&package));
        assert!(!is_deb(&[MAGIC, &control].concat()));
        let mut stream = &*package;
        assert_eq!(seek_deb_data(&mut stream).unwrap(), 5);
        assert!(stream.starts_with(b"files"));
        for len in 0..package.len() - 6 {
            let found = seek_deb_data(&mut &package[..len]);
            assert!(found.is_err(), "{len}");
        }
        for size in ["-1", "+1", "9999999999", "", "1x"] {
            let package = [MAGIC, &member("control.tar", size, b"x"), &data].concat();
            let error = seek_deb_data(&mut &*package).unwrap_err();
            assert_eq!(error.kind(), sinterfs_model::Kind::Corrupt, "{size}");
        }
    }
}
