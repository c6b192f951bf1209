//! Strings are UTF-16, perhaps with unpaired surrogates.
//!
//! In: bytes. Out: a string that holds them all. **Invariant:** an unpaired surrogate U+DC00 plus a
//! byte stands for this byte; it is never part of text that is UTF-8.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::{OsStrExt, OsStringExt};

use super::file_name;

/// The base to which a byte is added.
const CARRIER: u16 = 0xDC00;

pub(super) fn os_str(bytes: &[u8]) -> Cow<'_, OsStr> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\\') => Cow::Borrowed(OsStr::new(text)),
        _ => Cow::Owned(carried(bytes)),
    }
}

pub(super) fn os_string(bytes: Vec<u8>) -> OsString {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\\') => text.into(),
        Ok(text) => carried(text.as_bytes()),
        Err(error) => carried(error.as_bytes()),
    }
}

fn carried(bytes: &[u8]) -> OsString {
    let mut wide = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let units = chunk.valid().encode_utf16();
        wide.extend(units.map(|unit| match unit {
            0x5C => CARRIER + 0x5C,
            unit => unit,
        }));
        wide.extend(
            chunk
                .invalid()
                .iter()
                .map(|&byte| CARRIER + u16::from(byte)),
        );
    }
    OsString::from_wide(&wide)
}

pub(super) fn bytes(text: &OsStr) -> Cow<'_, [u8]> {
    match text.to_str() {
        Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain.as_bytes()),
        _ => Cow::Owned(released(text)),
    }
}

pub(super) fn into_bytes(text: OsString) -> Vec<u8> {
    match text.into_string() {
        Ok(plain) if !plain.contains('\\') => plain.into_bytes(),
        Ok(plain) => released(OsStr::new(&plain)),
        Err(text) => released(&text),
    }
}

fn released(text: &OsStr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for found in char::decode_utf16(text.encode_wide()) {
        match found {
            Ok('\\') => bytes.push(b'/'),
            Ok(char) => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(error) => {
                let unit = error.unpaired_surrogate();
                match u8::try_from(unit.wrapping_sub(CARRIER)) {
                    Ok(byte) if byte == b'\\' || byte >= 0x80 => bytes.push(byte),
                    _ => bytes.extend(file_name::wtf8(unit)),
                }
            }
        }
    }
    bytes
}

pub(super) fn is_kept(name: &[u8]) -> bool {
    !file_name::encode(name).1
}

pub(super) fn is_odd(name: &[u8]) -> bool {
    let mut chunks = name.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        let follows = chunks.peek().map_or(&[][..], |next| next.invalid());
        // the first byte of a surrogate, followed by a second one that only surrogates have
        let is_start = chunk.invalid() == [0xED] && matches!(follows, [0xA0..=0xBF]);
        if is_start {
            return true;
        }
    }
    false
}
