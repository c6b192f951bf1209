//! Names are bytes.
//!
//! In and out: the same bytes.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

pub(super) fn os_str(bytes: &[u8]) -> Cow<'_, OsStr> {
    Cow::Borrowed(OsStr::from_bytes(bytes))
}

pub(super) fn os_string(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

pub(super) fn bytes(text: &OsStr) -> Cow<'_, [u8]> {
    Cow::Borrowed(text.as_bytes())
}

pub(super) fn into_bytes(text: OsString) -> Vec<u8> {
    text.into_vec()
}

pub(super) fn is_odd(_name: &[u8]) -> bool {
    false
}

pub(super) fn is_kept(_name: &[u8]) -> bool {
    true
}
