//! PAX records: `LENGTH KEY=VALUE\n`, length in decimal with itself.
//!
//! Enters the content of an extended header, leaves attributes of the next member (or of all).
//! Spec: POSIX.1-2024 pax, "pax Extended Header"; the keys of star (`SCHILY.`), GNU tar
//! (`GNU.sparse.`, manual, "Sparse Formats"), libarchive (`LIBARCHIVE.`) and Red Hat (`RHT.`).
//! **Invariant:** a key that is not understood is counted, unless nothing of a tree depends on it.

use std::collections::BTreeMap;

use sinterfs_model::{Error, Result, Time, posix_acl};

use super::acl;
use super::value::{base64, decimal, gnu_name, length, time, url_name};

use crate::member::Notes;

/// More data ranges than this many make a file over the limit.
pub(super) const MOST_RUNS: usize = 1 << 22;
/// The most bytes of a path or a target.
const MAX_PATH_LEN: usize = 64 << 10;

/// The values of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) path: Option<Vec<u8>>,
    pub(super) target: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) uid: Option<i64>,
    pub(super) gid: Option<i64>,
    pub(super) modified: Option<Time>,
    pub(super) accessed: Option<Time>,
    pub(super) changed: Option<Time>,
    /// Permission bits, from an access control list: writers differ in what they put into the
    /// header.
    pub(super) mode: Option<u16>,
    pub(super) dev_major: Option<i64>,
    pub(super) dev_minor: Option<i64>,
    pub(super) xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) sparse: Sparse,
    /// The bytes of all records so far that mean something.
    taken: usize,
}

/// The values of records about holes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sparse {
    /// The version of the map before the content.
    pub(super) major: Option<u64>,
    pub(super) minor: Option<u64>,
    /// The name of the file, where the member's own is made up.
    pub(super) name: Option<Vec<u8>>,
    /// The length of the file.
    pub(super) size: Option<u64>,
    /// Offsets and lengths by turns.
    pub(super) numbers: Option<Vec<u64>>,
}

impl Records {
    /// Adds the records of a header; later ones win. With those before, `most` bytes may mean
    /// something.
    pub(super) fn add(&mut self, mut bytes: &[u8], most: usize, notes: &mut Notes) -> Result<()> {
        while !bytes.is_empty() {
            // some writers fill the block
            if bytes.iter().all(|&byte| byte == 0) {
                break;
            }
            let (key, value, rest) = split(bytes).ok_or_else(|| {
                Error::corrupt("a record is not of the form LENGTH KEY=VALUE and a line end")
            })?;
            if !means_nothing(key) {
                self.taken = self.taken.saturating_add(bytes.len() - rest.len());
                if self.taken > most {
                    return Err(Error::limit(format!("more than {most} bytes of records")));
                }
                self.record(key, value, notes)?;
            }
            bytes = rest;
        }
        Ok(())
    }

    fn record(&mut self, key: &[u8], value: &[u8], notes: &mut Notes) -> Result<()> {
        match key {
            b"path" => self.path = text(value)?,
            b"linkpath" => self.target = text(value)?,
            b"size" => self.size = known(value, length)?,
            b"uid" => self.uid = known(value, decimal)?,
            b"gid" => self.gid = known(value, decimal)?,
            b"mtime" => self.modified = known(value, time)?,
            b"atime" => self.accessed = known(value, time)?,
            b"ctime" => self.changed = known(value, time)?,
            b"SCHILY.devmajor" | b"SUN.devmajor" => self.dev_major = known(value, decimal)?,
            b"SCHILY.devminor" | b"SUN.devminor" => self.dev_minor = known(value, decimal)?,
            b"SCHILY.realsize" => self.sparse.size = known(value, length)?,
            b"SUN.holesdata" => {
                return Err(Error::unsupported(
                    "a map of holes in the form of Solaris; pack the file with GNU tar or bsdtar",
                ));
            }
            _ => return self.vendor(key, value, notes),
        }
        Ok(())
    }

    /// Takes the records of one program.
    fn vendor(&mut self, key: &[u8], value: &[u8], notes: &mut Notes) -> Result<()> {
        if let Some(name) = key.strip_prefix(b"GNU.sparse.") {
            return self.sparse.record(name, value);
        }
        if let Some(name) = key.strip_prefix(b"SCHILY.xattr.") {
            self.xattrs.insert(gnu_name(name), value.to_vec());
        } else if let Some(name) = key.strip_prefix(b"LIBARCHIVE.xattr.") {
            let value = base64(value).ok_or_else(|| not_understood("LIBARCHIVE.xattr"))?;
            self.xattrs.insert(url_name(name), value);
        } else if key == b"SCHILY.acl.access" {
            match acl::parse(value) {
                Some(list) => {
                    self.mode = Some(list.mode);
                    let attribute = posix_acl::ACCESS.to_vec();
                    self.xattrs
                        .extend(list.value.map(|value| (attribute, value)));
                }
                None => note(notes, UNKNOWN_LIST),
            }
        } else if key == b"SCHILY.acl.default" {
            match acl::parse_default(value) {
                Some(list) => {
                    let attribute = posix_acl::DEFAULT.to_vec();
                    self.xattrs.insert(attribute, list);
                }
                None => note(notes, UNKNOWN_LIST),
            }
        } else if key == b"RHT.security.selinux" {
            let mut label = value.to_vec();
            // the kernel's value ends so, the record does not
            if label.last() != Some(&0) {
                label.push(0);
            }
            self.xattrs.insert(b"security.selinux".to_vec(), label);
        } else if key == b"SCHILY.fflags" {
            note(notes, "files with flags, as of chattr");
        } else {
            note(notes, "PAX records that are not known");
        }
        Ok(())
    }
}

/// A list that can't be kept.
const UNKNOWN_LIST: &str = "access control lists that name users or groups without numbers";

fn note(notes: &mut Notes, what: &'static str) {
    *notes.entry(what).or_default() += 1;
}

impl Sparse {
    /// Returns whether the member has holes.
    pub(super) fn is_any(&self) -> bool {
        self.major.is_some() || self.numbers.is_some()
    }

    fn record(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
        match name {
            b"major" => self.major = known(value, length)?,
            b"minor" => self.minor = known(value, length)?,
            b"name" => self.name = text(value)?,
            b"size" | b"realsize" => self.size = known(value, length)?,
            b"numblocks" => self.numbers = Some(Vec::new()),
            b"offset" | b"numbytes" => self.number(value)?,
            b"map" => {
                self.numbers = Some(Vec::new());
                let numbers = value.split(|&byte| byte == b',');
                for number in numbers.filter(|number| !number.is_empty()) {
                    self.number(number)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn number(&mut self, value: &[u8]) -> Result<()> {
        let number = length(value).ok_or_else(|| not_understood("GNU.sparse"))?;
        let numbers = self.numbers.get_or_insert_default();
        if numbers.len() >= 2 * MOST_RUNS {
            return Err(Error::limit(format!(
                "more than {MOST_RUNS} ranges of data"
            )));
        }
        numbers.push(number);
        Ok(())
    }
}

/// Splits off the first record: its key, its value, and the bytes after it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().take(20).position(|&byte| byte == b' ')?;
    let len = usize::try_from(length(bytes.get(..space)?)?).ok()?;
    let (record, rest) = bytes.split_at_checked(len)?;
    let words = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = words.iter().position(|&byte| byte == b'=')?;
    Some((words.get(..equals)?, words.get(equals + 1..)?, rest))
}

/// Takes a path or a target; none takes an earlier one back.
fn text(value: &[u8]) -> Result<Option<Vec<u8>>> {
    if value.len() > MAX_PATH_LEN {
        return Err(Error::limit(format!("a path of {} bytes", value.len())));
    }
    Ok((!value.is_empty()).then(|| value.to_vec()))
}

/// Takes a value; none takes an earlier one back.
fn known<T>(value: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>> {
    if value.is_empty() {
        return Ok(None);
    }
    match parse(value) {
        Some(value) => Ok(Some(value)),
        None => Err(Error::corrupt("a record with an invalid number or time")),
    }
}

#[cold]
fn not_understood(key: &str) -> Error {
    Error::corrupt(format!("the value of a record {key} is not of its form"))
}

/// Returns the keys that change nothing of a tree: comments, names of owners beside their numbers,
/// inode numbers.
fn means_nothing(key: &[u8]) -> bool {
    matches!(
        key,
        b"comment"
            | b"charset"
            | b"hdrcharset"
            | b"uname"
            | b"gname"
            | b"SCHILY.dev"
            | b"SCHILY.ino"
            | b"SCHILY.nlink"
            | b"SCHILY.filetype"
            | b"SCHILY.release"
            | b"SCHILY.archtype"
            | b"SCHILY.acl.type"
            | b"LIBARCHIVE.symlinktype"
            | b"LIBARCHIVE.creationtime"
    )
}
