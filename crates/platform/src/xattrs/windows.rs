//! No attributes: NTFS attributes have other names and owners.
//!
//! In: names. Out: nothing.

use std::fs::File;
use std::io;

#[derive(Debug)]
pub(super) struct Attributes;

impl Attributes {
    #[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
    pub(super) fn of(_dir: &File, _name: &[u8]) -> io::Result<Self> {
        Ok(Self)
    }

    #[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
    pub(super) fn list(&self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    #[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
    pub(super) fn value(&self, _name: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    pub(super) fn set(&self, _name: &[u8], _value: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(super) fn are_readable(_dir: &File) -> bool {
    true
}

pub(super) fn set(_file: &File, _name: &[u8], _value: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn copy(_old: &File, _new: &File) {}

pub(super) fn copy_access(_old: &File, _new: &File) -> io::Result<()> {
    Ok(())
}

pub(super) fn remove_access_lists(_file: &File) -> bool {
    true
}

pub(super) fn has_access_lists(_file: &File) -> io::Result<bool> {
    Ok(false)
}
