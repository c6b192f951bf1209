//! The lines of a file that says which images are mounted where, in the form of fstab(5).
//!
//! Enters the bytes of the file; leaves an entry or an error for each line that has one.
//! **Invariant:** a line that is wrong affects no other one.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use sinterfs_model::{Error, Result};

use crate::mountinfo::unescape;

/// A mount that a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WantedMount {
    /// The path or URL of the image.
    pub image: PathBuf,
    /// The mount point.
    pub dir: PathBuf,
    /// Mount options, separated by commas.
    pub options: String,
}

/// Reads lines of `IMAGE DIR [OPTIONS]`, separated by blanks, with octal escapes (`\040` for a
/// space). Empty lines and those that begin with `#` are left out. Returns the number of each line,
/// from 1 on, with what it asks for, or an `Invalid` error.
pub fn wanted_mounts(text: &[u8]) -> impl Iterator<Item = (usize, Result<WantedMount>)> {
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    lines.filter_map(|(index, line)| {
        let line = line.trim_ascii();
        let is_entry = !line.is_empty() && !line.starts_with(b"#");
        is_entry.then(|| (index + 1, parse(line)))
    })
}

fn parse(line: &[u8]) -> Result<WantedMount> {
    let fields = line.split(u8::is_ascii_whitespace);
    let mut fields = fields.filter(|field| !field.is_empty()).map(unescape);
    let path = |bytes: Vec<u8>| PathBuf::from(OsString::from_vec(bytes));
    let image = path(fields.next().unwrap_or_default());
    let dir = fields.next().map(path).ok_or_else(|| {
        Error::invalid("the directory is missing: a line has IMAGE DIR [OPTIONS]")
    })?;
    let options = String::from_utf8(fields.next().unwrap_or_default())
        .map_err(|_| Error::invalid("the options are not UTF-8"))?;
    if fields.next().is_some() {
        let what = "more than IMAGE DIR [OPTIONS]: a space in a name is \\040, and `mount -a` \
                    mounts what fstab has";
        return Err(Error::invalid(what));
    }
    Ok(WantedMount {
        image,
        dir,
        options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one() {
        let text =
            b"# images\n\n a.dwarfs\t/mnt/a\nhttps://h/b?x=1 /mnt/b\\040c ro,uid=7 \nalone\n\
                     a b c d\na b \xff\n/last /mnt/last";
        let read: Vec<_> = wanted_mounts(text).collect();
        let lines: Vec<_> = read.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 4, 5, 6, 7, 8]);
        let shown = read.into_iter().map(|(_, read)| match read {
            Ok(read) => format!("{:?} {:?} {}", read.image, read.dir, read.options),
            Err(error) => error.to_string(),
        });
        let shown: Vec<_> = shown.collect();
        assert_eq!(shown[0], r#""a.dwarfs" "/mnt/a" "#);
        assert_eq!(shown[1], r#""https://h/b?x=1" "/mnt/b c" ro,uid=7"#);
        assert!(
            shown[2].starts_with("the directory is missing"),
            "{}",
            shown[2]
        );
        assert!(shown[3].starts_with("more than IMAGE DIR"), "{}", shown[3]);
        assert_eq!(shown[4], "the options are not UTF-8");
        assert_eq!(shown[5], r#""/last" "/mnt/last" "#);
    }
}
