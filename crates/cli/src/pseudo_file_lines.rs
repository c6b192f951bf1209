//! A file of pseudo definitions with their data, as `unsquashfs -pf` writes it for mksquashfs.
//!
//! Enters an image and what of it is wanted; leaves a line for each name and each extended
//! attribute, then the bytes of all files, one after another. **Invariant:** lines say where in
//! these bytes each file is, and no name, target or attribute can begin another line. Facts: the
//! output of unsquashfs 4.7.5, beside which a test runs. Memory: a path for each inode with several
//! names, and 12 bytes for each file.

use std::collections::HashMap;
use std::io::Write;

use sinterfs::model::{Image, Ino};
use sinterfs::ops::{Follow, ListOptions, Row, Unread, WalkStep, cat, list, resolve, row};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, Result, Setting};

use crate::shell_pattern::Wanted;

/// The separator between the lines and the bytes.
const START_OF_DATA: &[u8] = b"#\n# START OF DATA - DO NOT MODIFY\n#\n";

/// The part of an image that is written.
#[derive(Debug)]
pub struct PseudoFileLines<'a> {
    /// The selected paths; all for no path.
    pub wanted: &'a Wanted,
    /// The excluded paths.
    pub excluded: &'a Wanted,
    /// How many levels of directories are taken; directories of the last one are left out.
    pub max_depth: usize,
    /// The threads that read ahead.
    pub threads: usize,
    /// The most bytes of holes that are written as zeros.
    pub max_zeros: u64,
}

/// The written part: the files whose bytes follow, and their first names.
#[derive(Default)]
struct WrittenNames {
    files: Vec<Ino>,
    bytes: u64,
    /// Bytes of holes that may still be written as zeros.
    zeros_left: u64,
    first_paths: HashMap<Ino, Vec<u8>>,
    /// Features that lines cannot express.
    refused: Vec<Error>,
}

impl PseudoFileLines<'_> {
    /// Writes lines and data; returns an error for each file that cannot be read or that lines
    /// cannot describe.
    pub fn write(&self, image: &dyn Image, out: &mut dyn Write) -> Result<Vec<Error>> {
        let failed = |error| Error::io("cannot write the definitions", error);
        let mut written = WrittenNames {
            zeros_left: self.max_zeros,
            ..WrittenNames::default()
        };
        let start = resolve(image, b"", Follow::Parents)?;
        let options = ListOptions {
            recursive: true,
            itself: false,
        };
        let mut show = |row: &Row| {
            let lines = written.lines_of(image, row)?;
            out.write_all(&lines).map_err(failed)
        };
        let mut unread = Unread::default();
        unread.settle(b"", row(image, start, b"/").and_then(|row| show(&row)))?;
        list(image, start, b"", options, &mut unread, &mut |row| {
            let is_dir = row.kind == FileType::Directory;
            let levels = row.path.iter().filter(|&&byte| byte == b'/').count() + 1;
            let is_within = levels < self.max_depth || levels == self.max_depth && !is_dir;
            let is_left_out = self.excluded.position(&row.path).is_some();
            if !is_within || is_left_out || !self.wanted.holds(&row.path, is_dir) {
                return Ok(WalkStep::Over);
            }
            show(row)?;
            // what is below has no line either
            Ok(if breaks_lines(&row.path) {
                WalkStep::Over
            } else {
                WalkStep::On
            })
        })?;
        out.write_all(START_OF_DATA).map_err(failed)?;
        for file in &written.files {
            cat(image, *file, self.threads, out)?;
        }
        written.refused.extend(unread.into_errors());
        Ok(written.refused)
    }
}

impl WrittenNames {
    /// Returns the lines of a name: one for it, and one for each extended attribute.
    fn lines_of(&mut self, image: &dyn Image, row: &Row) -> Result<Vec<u8>> {
        let name = escaped(&row.path);
        if breaks_lines(&row.path) {
            self.refuse("a name with a line feed cannot be in definitions", row);
            return Ok(Vec::new());
        }
        if let Some(first) = self.first_paths.get(&row.ino) {
            let line = [&*name, b" L ", &escaped(first)].concat();
            if goes_on(&line) {
                self.refuse("a link to a name with a backslash at its end", row);
                return Ok(Vec::new());
            }
            return Ok([&*line, b"\n"].concat());
        }
        let is_unfit =
            |target: &[u8]| breaks_lines(target) || goes_on(target) || target.starts_with(b" ");
        if row.target.as_deref().is_some_and(is_unfit) {
            let what = "a target with a line feed, a space before it or a backslash at its end \
                        cannot be in definitions";
            self.refuse(what, row);
            return Ok(Vec::new());
        }
        if row.kind == FileType::File {
            let holes = row.size.saturating_sub(row.allocated);
            let Some(left) = self.zeros_left.checked_sub(holes) else {
                let option = Setting("max_zeros");
                let what = format!("the holes would be more zeros than {option} allows");
                let path = names::os_string(row.path.clone());
                let error = Error::limit(what).about([option]).path(path);
                self.refused.push(error);
                return Ok(Vec::new());
            };
            self.zeros_left = left;
        }
        if row.nlink > 1 && row.kind != FileType::Directory {
            self.first_paths.insert(row.ino, row.path.clone());
        }
        let mut lines = [&*name, b" ", &self.attributes(row), b"\n"].concat();
        for (key, value) in image.xattrs(row.ino)? {
            if breaks_lines(&key) {
                let what = "the name of an attribute with a line feed cannot be in definitions";
                self.refuse(what, row);
                continue;
            }
            lines.extend([&*name, b" x ", &key, b"=", &value_text(&value), b"\n"].concat());
        }
        Ok(lines)
    }

    fn refuse(&mut self, what: &'static str, row: &Row) {
        let path = names::os_string(row.path.clone());
        self.refused.push(Error::unsupported(what).path(path));
    }

    /// Returns the letter of the type, the attributes, and the fields of the type.
    fn attributes(&mut self, row: &Row) -> Vec<u8> {
        let letter = match row.kind {
            FileType::File => 'R',
            FileType::Directory => 'D',
            FileType::Symlink => 'S',
            FileType::CharDevice => 'C',
            FileType::BlockDevice => 'B',
            FileType::Fifo | FileType::Socket => 'I',
        };
        let (time, mode) = (row.times.modified.secs, row.mode);
        let mut text = format!("{letter} {time} {mode:o} {} {}", row.uid, row.gid).into_bytes();
        match row.kind {
            FileType::File => {
                let is_sparse = u8::from(row.allocated < row.size);
                text.extend(format!(" {} {} {is_sparse}", row.size, self.bytes).bytes());
                self.bytes += row.size;
                self.files.extend((row.size > 0).then_some(row.ino));
            }
            FileType::Fifo => text.extend(b" f"),
            FileType::Socket => text.extend(b" s"),
            FileType::Directory
            | FileType::Symlink
            | FileType::CharDevice
            | FileType::BlockDevice => {}
        }
        if let Some(rdev) = row.rdev {
            text.extend(format!(" {} {}", rdev.major, rdev.minor).bytes());
        }
        if let Some(target) = &row.target {
            text.push(b' ');
            text.extend(target);
        }
        text
    }
}

fn breaks_lines(text: &[u8]) -> bool {
    text.contains(&b'\n')
}

/// Returns whether a line that ends with this is continued by the next one.
fn goes_on(text: &[u8]) -> bool {
    text.ends_with(b"\\")
}

/// Puts a backslash before blanks, quotes and backslashes.
fn escaped(path: &[u8]) -> Vec<u8> {
    let escape = |&byte: &u8| match byte {
        b'\t' | b'\x0b' | b'\x0c' | b'\r' | b' ' | b'"' | b'\\' => vec![b'\\', byte],
        byte => vec![byte],
    };
    path.iter().flat_map(escape).collect()
}

/// Returns a value as it is, or after `0t` with octal numbers for unprintable bytes; values that
/// would be taken for such a form are given in it, too, and those that would continue a line.
fn value_text(value: &[u8]) -> Vec<u8> {
    let seems_coded = matches!(value, [b'0', b'x' | b'X' | b's' | b'S' | b't' | b'T', ..]);
    let is_printable = |byte: &u8| (b' '..=b'~').contains(byte);
    if !seems_coded && !goes_on(value) && value.iter().all(is_printable) {
        return value.to_vec();
    }
    let mut text = b"0t".to_vec();
    for (index, byte) in value.iter().enumerate() {
        let is_coded = *byte == b'\\' || !is_printable(byte) || seems_coded && index == 0;
        if is_coded {
            text.extend(format!("\\{byte:03o}").bytes());
        } else {
            text.push(*byte);
        }
    }
    text
}
