//! composefs-dump(5) to files.
//!
//! In: lines of a dump. Out: `Files`.
//!
//! **Invariant:** every field of a line is kept, or the line is refused with its number. Memory
//! holds the files and one line, for a dump of any length.

use std::collections::HashMap;
use std::io::BufRead;

use sinterfs_model::{Error, FileType, Result, Time};

use super::escape::unescape;
use super::files::{Body, Files, Inode, ObjectPath};
use super::object_path;

/// The longest line in bytes: the longest names, values and content, escaped.
const LINE_MAX: usize = 1 << 20;

/// Reads a dump.
pub fn parse(mut input: impl BufRead) -> Result<Files> {
    let (mut parser, mut line, mut number) = (Parser::default(), Vec::new(), 0_u64);
    loop {
        line.clear();
        number += 1;
        let located = |error: Error| error.within(format!("line {number}"));
        let mut limited = std::io::Read::take(&mut input, LINE_MAX as u64);
        limited
            .read_until(b'\n', &mut line)
            .map_err(|error| Error::io("cannot read the dump", error))?;
        if line.is_empty() {
            return parser.finish();
        }
        let ends = line.pop_if(|last| *last == b'\n').is_some();
        if !ends && line.len() == LINE_MAX {
            return Err(located(Error::limit(format!(
                "longer than {LINE_MAX} bytes"
            ))));
        }
        parser.line(&line, number).map_err(located)?;
    }
}

/// The files parsed so far.
#[derive(Debug, Default)]
struct Parser {
    files: Files,
    /// The names of each directory: the inode, or a name that is like another.
    known: HashMap<(u32, Vec<u8>), Named>,
    /// Further names, whose targets may come later.
    links: Vec<HardLink>,
}

#[derive(Debug, Clone, Copy)]
enum Named {
    Inode(u32),
    Link(usize),
}

#[derive(Debug)]
struct HardLink {
    dir: u32,
    name: Vec<u8>,
    target: Vec<u8>,
    line: u64,
}

impl Parser {
    fn line(&mut self, line: &[u8], number: u64) -> Result<()> {
        let mut fields = Fields(Some(line));
        let path = unescape(fields.expect("PATH")?)?;
        let names = split(&path)?;
        let size = integer(fields.expect("SIZE")?, "SIZE")?;
        let mode = fields.expect("MODE")?;
        let (mode, is_link) = match mode.strip_prefix(b"@") {
            Some(mode) => (mode, true),
            None => (mode, false),
        };
        let mode = octal(mode)?;
        let kind = FileType::from_mode(mode)
            .ok_or_else(|| Error::invalid(format!("the mode {mode:o} has no file type")))?;
        let Some((name, dirs)) = names.split_last() else {
            return match kind {
                FileType::Directory if !is_link => self.root(size, mode, fields),
                _ => Err(Error::invalid("the root is not a directory")),
            };
        };
        let dir = self.directory(dirs)?;
        if self.known.contains_key(&(dir, name.to_vec())) {
            let shown = String::from_utf8_lossy(&path).into_owned();
            return Err(Error::invalid(format!("{shown} occurs twice")));
        }
        let key = (dir, name.to_vec());
        if is_link {
            if kind == FileType::Directory {
                return Err(Error::invalid("a hard link to a directory"));
            }
            let target = fields.nth_expected(5, "PAYLOAD")?;
            self.known.insert(key, Named::Link(self.links.len()));
            self.links.push(HardLink {
                dir,
                name: name.to_vec(),
                target: unescape(target)?,
                line: number,
            });
            return Ok(());
        }
        let inode = inode(size, kind, mode, fields, &mut self.files)?;
        let place = self.files.add(dir, name, inode)?;
        self.known.insert(key, Named::Inode(place));
        Ok(())
    }

    fn root(&mut self, size: u64, mode: u32, fields: Fields<'_>) -> Result<()> {
        if !self.files.inodes().is_empty() {
            return Err(Error::invalid("/ occurs twice"));
        }
        let root = inode(size, FileType::Directory, mode, fields, &mut self.files)?;
        self.files.push(root)?;
        Ok(())
    }

    /// Returns a directory that came before.
    fn directory(&self, names: &[&[u8]]) -> Result<u32> {
        if self.files.inodes().is_empty() {
            return Err(no_root());
        }
        let mut dir = 0;
        for name in names {
            let shown = || String::from_utf8_lossy(name).into_owned();
            dir = match self.known.get(&(dir, name.to_vec())) {
                Some(Named::Inode(place))
                    if self.files.inode(*place).kind == FileType::Directory =>
                {
                    *place
                }
                Some(_) => return Err(Error::invalid(format!("{} is not a directory", shown()))),
                None => {
                    return Err(Error::invalid(format!(
                        "the directory {} does not stand above",
                        shown()
                    )));
                }
            };
        }
        Ok(dir)
    }

    /// Resolves the targets of further names.
    fn finish(mut self) -> Result<Files> {
        if self.files.inodes().is_empty() {
            return Err(no_root());
        }
        for link in &self.links {
            let located = |error: Error| error.within(format!("line {}", link.line));
            let place = self.target(link).map_err(located)?;
            let linked = self.files.link(link.dir, &link.name, place, false);
            linked.map_err(located)?;
        }
        Ok(self.files)
    }

    /// Follows a hard link, which may be one to a hard link.
    fn target(&self, link: &HardLink) -> Result<u32> {
        let mut at = link;
        for _ in 0..=self.links.len() {
            let names = split(&at.target)?;
            let (name, dirs) = names
                .split_last()
                .ok_or_else(|| Error::invalid("a hard link to a directory"))?;
            let key = (self.directory(dirs)?, name.to_vec());
            match self.known.get(&key) {
                Some(Named::Inode(place)) => {
                    return match self.files.inode(*place).kind {
                        FileType::Directory => Err(Error::invalid("a hard link to a directory")),
                        _ => Ok(*place),
                    };
                }
                Some(Named::Link(next)) => {
                    at = self.links.get(*next).unwrap_or(at);
                }
                None => {
                    let shown = String::from_utf8_lossy(&at.target).into_owned();
                    return Err(Error::invalid(format!(
                        "a hard link to {shown}, which is not there"
                    )));
                }
            }
        }
        Err(Error::invalid("a hard link to itself"))
    }
}

#[cold]
fn no_root() -> Error {
    Error::invalid("the dump does not begin with the root directory, /")
}

/// Splits a path into its names; none for the root.
fn split(path: &[u8]) -> Result<Vec<&[u8]>> {
    let rest = path
        .strip_prefix(b"/")
        .ok_or_else(|| Error::invalid("the path does not begin with /"))?;
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&[u8]> = rest.split(|byte| *byte == b'/').collect();
    for name in &names {
        match *name {
            b"" => return Err(Error::invalid("an empty name in the path")),
            b"." | b".." => return Err(Error::invalid("`.` or `..` in the path")),
            name if name.contains(&0) => return Err(Error::invalid("a zero byte in the path")),
            _ => {}
        }
    }
    Ok(names)
}

/// The fields of a line.
#[derive(Debug)]
struct Fields<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.0?;
        let mut parts = line.splitn(2, |byte| *byte == b' ');
        let field = parts.next();
        self.0 = parts.next();
        field
    }
}

impl<'a> Fields<'a> {
    fn expect(&mut self, name: &str) -> Result<&'a [u8]> {
        self.nth_expected(0, name)
    }

    fn nth_expected(&mut self, skip: usize, name: &str) -> Result<&'a [u8]> {
        self.nth(skip)
            .ok_or_else(|| Error::invalid(format!("the line ends before {name}")))
    }

    /// Takes an optional field: `None` for `-`, and at the end of the line.
    fn optional(&mut self) -> Result<Option<Vec<u8>>> {
        let field = self.next().filter(|field| !matches!(*field, b"" | b"-"));
        field.map(unescape).transpose()
    }
}

/// Parses the fields after the mode of an inode that is not a further name.
fn inode(
    size: u64,
    kind: FileType,
    mode: u32,
    mut fields: Fields<'_>,
    files: &mut Files,
) -> Result<Inode> {
    let mut number = |name: &str| {
        let value = integer(fields.expect(name)?, name)?;
        u32::try_from(value).map_err(|_| Error::invalid(format!("{name} {value}: too large")))
    };
    let (nlink, uid) = (number("NLINK")?, number("UID")?);
    let (gid, rdev) = (number("GID")?, number("RDEV")?);
    let mtime = time(fields.expect("MTIME")?)?;
    let payload = fields.expect("PAYLOAD")?;
    let payload = match payload {
        b"-" | b"" => None,
        payload => Some(unescape(payload)?),
    };
    let (content, digest) = (fields.optional()?, fields.optional()?);
    let is_device = matches!(kind, FileType::CharDevice | FileType::BlockDevice);
    let body = match kind {
        FileType::File => file(size, payload, content, digest)?,
        _ if content.is_some() || digest.is_some() => {
            return Err(Error::invalid(
                "CONTENT or DIGEST of an entry that is not a regular file",
            ));
        }
        FileType::Symlink => Body::Inline(payload.unwrap_or_default().into()),
        _ if payload.is_some() => {
            return Err(Error::invalid(
                "PAYLOAD of an entry that is neither file nor symlink",
            ));
        }
        _ => Body::None,
    };
    Ok(Inode {
        kind,
        mode: (mode & 0o7777) as u16,
        uid,
        gid,
        nlink,
        rdev: if is_device { rdev } else { 0 },
        mtime,
        xattrs: files.intern(&mut xattrs(fields)?)?,
        body,
    })
}

/// Returns the content of a regular file. An empty file needs no object, even if the line names
/// one.
fn file(
    size: u64,
    payload: Option<Vec<u8>>,
    content: Option<Vec<u8>>,
    digest: Option<Vec<u8>>,
) -> Result<Body> {
    if let Some(content) = content {
        if content.len() as u64 != size {
            let len = content.len();
            return Err(Error::invalid(format!(
                "CONTENT has {len} bytes, but SIZE is {size}"
            )));
        }
        if payload.is_some() || digest.is_some() {
            return Err(Error::invalid("CONTENT beside PAYLOAD or DIGEST"));
        }
        return Ok(Body::Inline(content.into()));
    }
    if size == 0 {
        return Ok(Body::None);
    }
    let digest = digest.map(|text| hex(&text)).transpose()?;
    let path = match (payload, digest) {
        (None, _) => ObjectPath::None,
        (Some(path), Some(digest)) if path == object_path(&digest).as_bytes() => {
            ObjectPath::OfDigest
        }
        (Some(path), _) => ObjectPath::Named(path.into()),
    };
    Ok(Body::Object { size, path, digest })
}

/// Reads the attributes; of two with one name the last counts.
fn xattrs(fields: Fields<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut pairs = HashMap::new();
    // a space at the end of a line is harmless
    for field in fields.filter(|field| !field.is_empty()) {
        let mut parts = field.splitn(2, |byte| *byte == b'=');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
            return Err(Error::invalid("an extended attribute without ="));
        };
        let name = unescape(name)?;
        if name.is_empty() || name.contains(&0) {
            return Err(Error::invalid(
                "an extended attribute's name is empty or has a zero byte",
            ));
        }
        pairs.insert(name, unescape(value)?);
    }
    Ok(pairs.into_iter().collect())
}

fn integer(field: &[u8], name: &str) -> Result<u64> {
    let text = std::str::from_utf8(field).ok();
    let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let shown = field.escape_ascii();
        Error::invalid(format!("{name} {shown}: not a number"))
    })
}

/// Reads a mode; bits above the bits of `st_mode` are ignored.
fn octal(field: &[u8]) -> Result<u32> {
    let text = std::str::from_utf8(field).ok();
    let mode = text.and_then(|text| u64::from_str_radix(text, 8).ok());
    let mode = mode.ok_or_else(|| {
        let shown = field.escape_ascii();
        Error::invalid(format!("MODE {shown}: not an octal number"))
    })?;
    Ok((mode & 0o177_777) as u32)
}

/// Reads seconds and nanoseconds; `1.1` is one of each.
fn time(field: &[u8]) -> Result<Time> {
    let parse = || {
        let (secs, nanos) = std::str::from_utf8(field).ok()?.split_once('.')?;
        let nanos: u32 = nanos.parse().ok()?;
        let secs = secs.parse().ok()?;
        (nanos < 1_000_000_000).then_some(Time { secs, nanos })
    };
    parse().ok_or_else(|| {
        let shown = field.escape_ascii();
        Error::invalid(format!("MTIME {shown}: not SECONDS.NANOSECONDS"))
    })
}

fn hex(text: &[u8]) -> Result<sinterfs_block::verity::VerityDigest> {
    let wrong = || {
        let shown = text.escape_ascii();
        Error::invalid(format!("DIGEST {shown}: not 64 hexadecimal digits"))
    };
    let mut digest = [0; 32];
    if text.len() != 64 {
        return Err(wrong());
    }
    for (byte, pair) in digest.iter_mut().zip(text.as_chunks::<2>().0) {
        let value = |digit: u8| {
            let value = char::from(digit).to_digit(16);
            let value = value.and_then(|value| u8::try_from(value).ok());
            value.ok_or_else(wrong)
        };
        let [high, low] = *pair;
        *byte = value(high)? << 4 | value(low)?;
    }
    Ok(digest)
}
