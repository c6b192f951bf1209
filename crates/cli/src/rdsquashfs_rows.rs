//! Listings as rdsquashfs prints them, for scripts that read them and for gensquashfs.
//!
//! Each line has names of the image as raw bytes. **Invariant:** directories come before what they
//! hold, in the order of the image. Facts: the output of rdsquashfs 1.2, with which a test compares
//! each byte.

use std::ffi::OsString;
use std::io::Write;

use sinterfs::model::Image;
use sinterfs::ops::{Follow, ListOptions, PartialImage, Row, Unread, WalkStep, list, resolve, row};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, Result};

use crate::args::part::PartArgs;
use crate::rows::{permissions, trimmed};

/// The selected output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RdsquashfsForm {
    /// The entries of a directory, or a file, with attributes.
    List,
    /// A line for each file, as gensquashfs reads them.
    Describe,
    /// Extended attributes.
    Xattrs,
}

/// A listing: not in the help.
#[derive(Debug, clap::Args)]
pub struct RdsquashfsArgs {
    /// Print lines as rdsquashfs does.
    #[arg(long, hide = true, value_enum, value_name = "FORM")]
    pub rdsquashfs: Option<RdsquashfsForm>,

    /// With --rdsquashfs=describe, the directory of the files.
    #[arg(long, hide = true, value_name = "DIR", requires = "rdsquashfs")]
    pack_root: Option<OsString>,

    #[command(flatten)]
    part: PartArgs,
}

impl RdsquashfsArgs {
    /// Prints a listing of the paths. Unreadable entries go to `unread`.
    pub fn print(
        &self,
        form: RdsquashfsForm,
        image: &dyn Image,
        paths: &[OsString],
        unread: &mut Unread,
        out: &mut dyn Write,
    ) -> Result<()> {
        let image = PartialImage::new(image, &self.part.options().unwrap_or_default())?;
        if form == RdsquashfsForm::Describe {
            return self.describe(&image, unread, out);
        }
        for path in paths {
            let path = names::bytes(path);
            let path = trimmed(&path);
            match form {
                RdsquashfsForm::Xattrs => xattrs(&image, path, out)?,
                _ => long(&image, path, unread, out)?,
            }
        }
        Ok(())
    }

    fn describe(&self, image: &dyn Image, unread: &mut Unread, out: &mut dyn Write) -> Result<()> {
        let options = ListOptions {
            recursive: true,
            itself: false,
        };
        list(image, image.info().root, b"", options, unread, &mut |row| {
            let mut line = described(row);
            if let (FileType::File, Some(root)) = (row.kind, &self.pack_root) {
                line.push(b' ');
                line.extend(&*names::bytes(root));
                line.push(b'/');
                line.extend(&row.path);
            }
            line.push(b'\n');
            out.write_all(&line).map_err(failed)?;
            Ok(WalkStep::On)
        })
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io("cannot print the listing", error)
}

/// Returns the line of a file in a description.
fn described(row: &Row) -> Vec<u8> {
    let kind = match row.kind {
        FileType::File => "file",
        FileType::Directory => "dir",
        FileType::Symlink => "slink",
        FileType::CharDevice | FileType::BlockDevice => "nod",
        FileType::Fifo => "pipe",
        FileType::Socket => "sock",
    };
    let mut line = format!("{kind} ").into_bytes();
    line.extend(quoted(&row.path));
    line.extend(format!(" 0{:o} {} {}", row.mode, row.uid, row.gid).bytes());
    if let Some(rdev) = row.rdev {
        line.extend(format!(" {} {} {}", row.kind.letter(), rdev.major, rdev.minor).bytes());
    }
    if let Some(target) = &row.target {
        line.push(b' ');
        line.extend(target);
    }
    line
}

/// Returns a path in quotes if it contains a space or a quote.
fn quoted(path: &[u8]) -> Vec<u8> {
    if !path.iter().any(|byte| b" \"".contains(byte)) {
        return path.to_vec();
    }
    let mut quoted = vec![b'"'];
    for &byte in path {
        if byte == b'"' {
            quoted.push(b'\\');
        }
        quoted.push(byte);
    }
    quoted.push(b'"');
    quoted
}

/// Prints what a directory holds, or a file, in columns that are as wide as needed.
fn long(image: &dyn Image, path: &[u8], unread: &mut Unread, out: &mut dyn Write) -> Result<()> {
    let start = resolve(image, path, Follow::Nothing)?;
    let itself = row(image, start, path)?;
    let mut rows = Vec::new();
    if itself.kind == FileType::Directory {
        let options = ListOptions::default();
        list(image, start, path, options, unread, &mut |row| {
            rows.push(row.clone());
            Ok(WalkStep::On)
        })?;
    } else {
        rows.push(itself);
    }
    let width = |column: &dyn Fn(&Row) -> String| {
        let widths = rows.iter().map(|row| column(row).len());
        widths.max().unwrap_or_default()
    };
    let (user, group) = (
        width(&|row| row.uid.to_string()),
        width(&|row| row.gid.to_string()),
    );
    let size = width(&shown_size);
    for row in &rows {
        let name = row.path.rsplit(|&byte| byte == b'/').next();
        let attributes = format!(
            "{}{} {:>user$}/{:<group$} {:>size$} ",
            row.kind.letter(),
            permissions(row.mode),
            row.uid,
            row.gid,
            shown_size(row),
        );
        let mut line = attributes.into_bytes();
        line.extend(name.unwrap_or_default());
        if let Some(target) = &row.target {
            line.extend(b" -> ");
            line.extend(target);
        }
        line.push(b'\n');
        out.write_all(&line).map_err(failed)?;
    }
    Ok(())
}

/// Returns the numbers of a device, or a size of at most four digits, rounded.
fn shown_size(row: &Row) -> String {
    if let Some(rdev) = row.rdev {
        return format!("{}:{}", rdev.major, rdev.minor);
    }
    let (mut size, mut rest) = (row.size, 0);
    let mut units = ["", "k", "M", "G", "T", "P", "E"].into_iter();
    let mut unit = units.next();
    while size > 1024 {
        (size, rest) = (size / 1024, size % 1024);
        unit = units.next();
    }
    size += u64::from(rest >= 512);
    format!("{size}{}", unit.unwrap_or_default())
}

/// Prints the extended attributes of a file.
fn xattrs(image: &dyn Image, path: &[u8], out: &mut dyn Write) -> Result<()> {
    let ino = resolve(image, path, Follow::Nothing)?;
    for (name, value) in image.xattrs(ino)? {
        let line = [&*name, b"=", &*value, b"\n"].concat();
        out.write_all(&line).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_quotes() {
        for (name, expected) in [
            (&b"a\\b"[..], &b"a\\b"[..]),
            (b" a", b"\" a\""),
            (b"a\"b\\", b"\"a\\\"b\\\""),
        ] {
            assert_eq!(quoted(name), expected);
        }
    }
}
