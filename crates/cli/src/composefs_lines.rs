//! Facts about composefs images as composefs-info prints them, for scripts that read them.
//!
//! Enters the dump of an image (composefs-dump(5)) or a file; leaves lines. **Invariant:** names
//! stay escaped as in the dump. Facts: composefs-info(1) and the output of version 1.0.8, with
//! which a test compares each byte. Memory: the dump of one image, and the names of all objects.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sinterfs::platform::names;
use sinterfs::verify::verity::{Verity, hex};
use sinterfs::{Error, OpenOptions, Result};

/// The bytes of a file that are hashed at once.
const READ: usize = 1 << 16;

/// What is printed of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ComposefsFacts {
    /// Names, with objects and targets.
    Ls,
    /// The objects that hold content, sorted.
    Objects,
    /// Those that are not in the object directory.
    MissingObjects,
    /// The dump.
    Dump,
    /// The fs-verity digests of any files.
    MeasureFile,
}

/// Returns the lines about images, or about files for [`ComposefsFacts::MeasureFile`]. `objects` is
/// the object directory.
pub fn lines(form: ComposefsFacts, images: &[PathBuf], objects: Option<&Path>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut named = BTreeSet::new();
    for image in images {
        if form == ComposefsFacts::MeasureFile {
            out.extend(measured(image)?.bytes());
            continue;
        }
        let dump = dump(image)?;
        if form == ComposefsFacts::Dump {
            out.extend(dump);
            continue;
        }
        for line in dump.split(|&byte| byte == b'\n') {
            let entry = DumpLine::of(line);
            match (form, entry) {
                (_, None) => {}
                (ComposefsFacts::Ls, Some(entry)) => entry.show(&mut out),
                (_, Some(entry)) => {
                    let object = entry.object().map(<[u8]>::to_vec);
                    named.extend(object);
                }
            }
        }
    }
    let missing = |object: &&Vec<u8>| {
        let there = |objects: &Path| objects.join(names::path(object)).is_file();
        form == ComposefsFacts::Objects || !objects.is_some_and(there)
    };
    for object in named.iter().filter(missing) {
        out.extend(object);
        out.push(b'\n');
    }
    Ok(out)
}

/// Returns the dump of an image; `Unsupported` if it is not one of composefs.
fn dump(image: &Path) -> Result<Vec<u8>> {
    let opened = sinterfs::open_with(image, &OpenOptions::default())?;
    let mut dump = Vec::new();
    opened.dump(&mut dump)?;
    if !dump.starts_with(b"/ ") {
        let what = "not a composefs image; `sinter info --dump` shows the structures of others";
        return Err(Error::unsupported(what).path(image));
    }
    Ok(dump)
}

/// Returns the fs-verity digest of a file as a line.
fn measured(path: &Path) -> Result<String> {
    let failed = |error| Error::io("cannot read", error).path(path);
    let mut file = File::open(path).map_err(failed)?;
    let mut verity = Verity::default();
    let mut buffer = vec![0; READ];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => break,
            read => verity.update(buffer.get(..read).unwrap_or_default()),
        }
    }
    Ok(hex(&verity.finish()) + "\n")
}

/// The type of a further name of a file.
const LINK: u32 = 0;

/// A line of a dump.
struct DumpLine<'a> {
    path: &'a [u8],
    /// The bits of the type in the mode (`S_IFMT`), or [`LINK`].
    kind: u32,
    payload: &'a [u8],
}

impl<'a> DumpLine<'a> {
    /// Returns the entry of a line; `None` for the empty one at the end.
    fn of(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ');
        let path = fields.next()?;
        let mode = std::str::from_utf8(fields.nth(1)?).ok()?;
        let kind = if mode.starts_with('@') {
            LINK
        } else {
            u32::from_str_radix(mode, 8).ok()? & 0o170_000
        };
        Some(Self {
            path,
            kind,
            payload: fields.nth(5)?,
        })
    }

    /// Returns the object with the content of a file.
    fn object(&self) -> Option<&'a [u8]> {
        (self.kind == 0o100_000 && self.payload != b"-").then_some(self.payload)
    }

    fn show(&self, out: &mut Vec<u8>) {
        if self.path == b"/" {
            return;
        }
        out.extend(with_spaces(self.path));
        match self.kind {
            0o040_000 => out.extend(b"/\t"),
            0o120_000 => {
                out.extend(b"\t-> ");
                out.extend(self.payload);
            }
            _ => {
                if let Some(object) = self.object() {
                    out.extend(b"\t@ ");
                    out.extend(object);
                }
            }
        }
        out.push(b'\n');
    }
}

/// Returns an escaped path with its spaces unescaped.
fn with_spaces(path: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'\\', [b'x', b'2', b'0', after @ ..]) => {
                shown.push(b' ');
                rest = after;
            }
            // of a doubled backslash, the second one begins nothing
            (b'\\', [second, after @ ..]) => {
                shown.extend([byte, *second]);
                rest = after;
            }
            _ => shown.push(byte),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_backslashes() {
        assert_eq!(with_spaces(b"/a\\x20b\\\\x20\\n"), b"/a b\\\\x20\\n");
    }
}
