//! Facts about composefs images as composefs-info prints them, for scripts that read them.
//!
//! Enters the dump of an image (composefs-dump(5)) or a file; leaves lines. **Invariant:** names
//! stay escaped as in the dump. Facts: composefs-info(1) and the output of version 1.0.8, with
//! which a test compares each byte. Memory: the dump of one image, and the names of all objects.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sinterfs::ops::Unread;
use sinterfs::platform::names;
use sinterfs::verify::verity::{Verity, hex};
use sinterfs::{Error, OpenOptions, Result};

/// The bytes of a file that are hashed at once.
const READ: usize = 1 << 16;

/// The output about images.
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

/// Returns the lines about images, or about files for [`ComposefsFacts::MeasureFile`]. All images
/// are opened by the same options, which also name the directory where objects are looked for; if
/// there are names, only what these hold in the root is shown. What cannot be read goes to
/// `unread`.
pub fn lines(
    form: ComposefsFacts,
    images: &[PathBuf],
    options: &OpenOptions,
    names: &[OsString],
    unread: &mut Unread,
) -> Result<Vec<u8>> {
    if let Some(name) = names.iter().find(|name| names::bytes(name).contains(&b'/')) {
        let what = "a filter is a single name in the root";
        return Err(Error::invalid(what).path(name));
    }
    let mut out = Vec::new();
    let mut named = BTreeSet::new();
    for image in images {
        if form == ComposefsFacts::MeasureFile {
            out.extend(measured(image)?.bytes());
            continue;
        }
        let dump = filtered(dump(image, options, unread)?, names);
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
        form == ComposefsFacts::Objects || !options.objects.as_deref().is_some_and(there)
    };
    for object in named.iter().filter(missing) {
        out.extend(object);
        out.push(b'\n');
    }
    Ok(out)
}

/// Returns the dump of an image; `Unsupported` if it is not one of composefs. Objects are not read.
fn dump(image: &Path, options: &OpenOptions, unread: &mut Unread) -> Result<Vec<u8>> {
    let options = OpenOptions {
        objects: None,
        ..options.clone()
    };
    let opened = sinterfs::open_with(image, &options)?;
    let mut dump = Vec::new();
    opened.dump(&mut dump, unread)?;
    if !dump.starts_with(b"/ ") {
        let what = "not a composefs image; `sinter info --dump` shows the structures of other \
                    images";
        return Err(Error::unsupported(what).path(image));
    }
    Ok(dump)
}

/// The fields of a line that is left out, and the name where they stand instead, once known.
type Moved<'a> = (&'a [u8], Option<&'a [u8]>);

/// Leaves out of a dump what is not below some names of the root. A file that is left out appears
/// at its next name.
fn filtered(dump: Vec<u8>, names: &[OsString]) -> Vec<u8> {
    if names.is_empty() {
        return dump;
    }
    let names: Vec<Vec<u8>> = names
        .iter()
        .map(|name| escaped(&names::bytes(name)))
        .collect();
    let mut kept = Vec::new();
    // files that are left out, and the names at which they appear instead
    let mut others: HashMap<&[u8], Moved<'_>> = HashMap::new();
    for line in dump
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let space = line.iter().position(|&byte| byte == b' ');
        let (path, rest) = line.split_at(space.unwrap_or(line.len()));
        let top = path.split(|&byte| byte == b'/').nth(1).unwrap_or_default();
        if !top.is_empty() && names.iter().all(|name| name != top) {
            others.insert(path, (rest, None));
            continue;
        }
        let target = DumpLine::of(line).filter(|entry| entry.kind == LINK);
        let target = target.and_then(|entry| others.get_mut(entry.payload));
        match target {
            None => kept.extend_from_slice(line),
            Some((rest, moved @ None)) => {
                *moved = Some(path);
                kept.extend([path, rest].concat());
            }
            Some((_, Some(moved))) => {
                let mut fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
                if let Some(payload) = fields.get_mut(PAYLOAD) {
                    *payload = *moved;
                }
                kept.extend(fields.join(&b' '));
            }
        }
        kept.push(b'\n');
    }
    kept
}

/// Returns a name as a dump has it.
fn escaped(name: &[u8]) -> Vec<u8> {
    let escape = |&byte: &u8| match byte {
        b'\\' => b"\\\\".to_vec(),
        b'\n' => b"\\n".to_vec(),
        b'\r' => b"\\r".to_vec(),
        b'\t' => b"\\t".to_vec(),
        b'!'..=b'~' => vec![byte],
        _ => format!("\\x{byte:02x}").into_bytes(),
    };
    name.iter().flat_map(escape).collect()
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

/// The index of the field with the payload (the target of a link) in a line.
const PAYLOAD: usize = 8;

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
    fn a_further_name_of_what_is_left_out_stands_for_it() {
        let dump =
            b"/ 1 40755 2 0 0 0 0.0 - - -\n/a 1 100644 3 0 0 0 0.0 x - y\n/b 1 @100644 3 0 0 0 \
                     0.0 /a - -\n/c\\x20 1 @100644 3 0 0 0 0.0 /a - -\n/e/a 1 @100644 3 0 0 0 0.0 \
                     /a - -\n";
        let of = |names: &[&str]| {
            let names: Vec<OsString> = names.iter().map(OsString::from).collect();
            String::from_utf8(filtered(dump.to_vec(), &names)).unwrap()
        };
        assert_eq!(of(&[]).lines().count(), 5);
        assert_eq!(
            of(&["a", "b"]).lines().nth(2),
            Some("/b 1 @100644 3 0 0 0 0.0 /a - -")
        );
        let others = of(&["b", "c ", "e"]);
        let lines: Vec<&str> = others.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "/b 1 100644 3 0 0 0 0.0 x - y",
                "/c\\x20 1 @100644 3 0 0 0 0.0 /b - -",
                "/e/a 1 @100644 3 0 0 0 0.0 /b - -"
            ]
        );
        assert_eq!(of(&["nothing"]).lines().count(), 1);
    }

    #[test]
    fn spaces_and_backslashes() {
        assert_eq!(with_spaces(b"/a\\x20b\\\\x20\\n"), b"/a b\\\\x20\\n");
    }
}
