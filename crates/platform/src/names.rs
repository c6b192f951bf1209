//! Names and paths: bytes in images, `OsStr` and `Path` for programs.
//!
//! In: bytes, or what the system or a user gave. Out: the other one. **Invariant:** bytes come back
//! as they were: `bytes(path(b)) == b`. On Windows, where no string has arbitrary bytes, a byte
//! that is not UTF-8, and a backslash, are unpaired surrogates in memory (U+DC00 and the byte). For
//! the names that files get there see `file_name`.

#[cfg(unix)]
#[path = "names/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "names/windows.rs"]
mod system;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[cfg(any(windows, test))]
pub(crate) mod file_name;

/// Returns bytes as a string of the system.
pub fn os_str(bytes: &[u8]) -> Cow<'_, OsStr> {
    system::os_str(bytes)
}

/// Returns bytes as a string of the system.
pub fn os_string(bytes: Vec<u8>) -> OsString {
    system::os_string(bytes)
}

/// Returns a path of an image, with slashes, as a path of the system.
pub fn path(bytes: &[u8]) -> Cow<'_, Path> {
    match system::os_str(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(text) => Cow::Owned(text.into()),
    }
}

/// Returns a path of an image, with slashes, as a path of the system.
pub fn path_buf(bytes: Vec<u8>) -> PathBuf {
    system::os_string(bytes).into()
}

/// Returns the bytes of a string of the system; in a path, each separator is a slash.
pub fn bytes<S: AsRef<OsStr> + ?Sized>(text: &S) -> Cow<'_, [u8]> {
    system::bytes(text.as_ref())
}

/// Returns the bytes of a string of the system; in a path, each separator is a slash.
pub fn into_bytes(text: impl Into<OsString>) -> Vec<u8> {
    system::into_bytes(text.into())
}

/// Returns whether a name of an image is a name of a file here without a change.
pub fn is_kept(name: &[u8]) -> bool {
    system::is_kept(name)
}

/// Returns whether a name of a file here is no text: it has surrogates without their pairs, which
/// only Windows allows.
pub fn is_odd(name: &[u8]) -> bool {
    system::is_odd(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let all: Vec<u8> = (1..=255).collect();
        let names: [&[u8]; 7] = [
            b"",
            b"plain/path",
            "gr\u{fc}\u{df}e \u{1f600}".as_bytes(),
            b"back\\slash",
            b"\xed\xa0\x80 a surrogate",
            b"\xff\xfe\\",
            &all,
        ];
        for name in names {
            assert_eq!(&*bytes(&*os_str(name)), name);
            assert_eq!(&*bytes(&*path(name)), name);
            assert_eq!(into_bytes(os_string(name.to_vec())), name);
            assert_eq!(into_bytes(path_buf(name.to_vec())), name);
        }
    }
}
