//! Definitions of pseudo files, in the syntax of mksquashfs' `-p` and `-pf`.
//!
//! Enters a line or a file of lines; leaves what to make where. Known types are d, m, b, c, i, s,
//! l, h, L and x, and D, M, B, C, I, S, R, which take a time before the mode. R has its content
//! behind the lines of its file. f, F (the output of a command) are refused.
//! **Invariant:** a path is a list of plain names; a mode has twelve bits; content of R is within
//! its file; nothing but that file is accessed here.

use ct_codecs::{Base64, Decoder as _};
use sinterfs_model::{Error, FileType, Rdev, Result, Time};
use sinterfs_platform::names;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::tokens::Tokens;

/// The line before the last of a file of definitions with content behind it.
const START_OF_DATA: &[u8] = b"# START OF DATA - DO NOT MODIFY\n";

/// The definition of one file that is added or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its path: names from the root on.
    pub(super) path: Vec<Vec<u8>>,
    pub(super) action: Action,
    /// The text of the definition, for messages.
    pub(super) text: String,
}

/// What happens at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Make(Attributes, NewNode),
    Modify(Attributes),
    /// Copies a file of the system; the flag says whether symlinks are followed.
    CopyFile(PathBuf, bool),
    /// Makes a file of a range of the file of definitions.
    Content(Attributes, FileRange),
    /// Adds another name of a file of the image.
    Link(Vec<Vec<u8>>),
    Xattr(Vec<u8>, Vec<u8>),
}

/// A range of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FileRange {
    /// The file; empty until it is known.
    pub(super) path: PathBuf,
    pub(super) start: u64,
    pub(super) len: u64,
}

/// Mode, owner, and optionally time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) mode: u16,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) time: Option<Time>,
}

/// The type of a new node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NewNode {
    Directory,
    Device(FileType, Rdev),
    Fifo,
    Socket,
    Symlink(Vec<u8>),
}

/// The attributes of a directory that is made where a path leads through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryAttributes(pub(super) Attributes);

impl DirectoryAttributes {
    /// Parses `d MODE UID GID` or `D TIME MODE UID GID`. Fails with `Invalid` for anything else.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let definition = Definition::parse(&[b"x ", text].concat())?;
        match definition.action {
            Action::Make(attributes, NewNode::Directory) => Ok(Self(attributes)),
            _ => Err(Error::invalid(
                "a directory is defined by `d MODE UID GID` or `D TIME MODE UID GID`",
            )),
        }
    }
}

/// An extended attribute that files get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedXattr {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
}

impl AddedXattr {
    /// Parses `NAME=VALUE`, the value in the notation of definitions. Fails with `Invalid` for
    /// anything else.
    pub fn parse(text: &[u8]) -> Result<Self> {
        match xattr(text)? {
            Action::Xattr(name, value) => Ok(Self { name, value }),
            _ => Err(Error::invalid("an extended attribute is NAME=VALUE")),
        }
    }
}

impl Definition {
    /// Parses one definition.
    ///
    /// # Errors
    /// `Invalid` for a malformed definition, `Unsupported` for types that are not implemented.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let definition = Self::line(text)?;
        match definition.action {
            Action::Content(..) => {
                let what = "content follows the definitions in a file, not in an option";
                Err(definition.wrong(&Error::invalid(what)))
            }
            _ => Ok(definition),
        }
    }

    fn line(text: &[u8]) -> Result<Self> {
        let shown = String::from_utf8_lossy(text).into_owned();
        let located = |error: Error| {
            let what = format!("pseudo definition `{shown}`: {error}");
            Error::new(error.kind(), what)
        };
        let mut words = Tokens::new(text);
        let (path, action) = read(&mut words).map_err(located)?;
        Ok(Self {
            path,
            action,
            text: shown.clone(),
        })
    }

    /// Returns the definition of an extended attribute of the root.
    pub fn root_attribute(name: &[u8], value: Vec<u8>) -> Self {
        Self {
            path: Vec::new(),
            text: format!("/ x {}", String::from_utf8_lossy(name)),
            action: Action::Xattr(name.to_vec(), value),
        }
    }

    /// Reads a file of definitions, and finds the content that is behind them.
    pub fn read_all(path: &Path) -> Result<Vec<Self>> {
        let failed = |error| Error::io("cannot read", error).path(path);
        let mut file = BufReader::new(File::open(path).map_err(failed)?);
        let (mut text, mut line) = (Vec::new(), Vec::new());
        let mut data = None;
        while file.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            text.extend_from_slice(&line);
            let is_before_last = line == START_OF_DATA;
            line.clear();
            if is_before_last {
                file.read_until(b'\n', &mut line).map_err(failed)?;
                text.extend_from_slice(&line);
                let len = file.get_ref().metadata().map_err(failed)?.len();
                data = Some((text.len() as u64, len));
                break;
            }
        }
        let mut all = Self::parse_all(&text).map_err(|error| error.path(path))?;
        for definition in &mut all {
            let Action::Content(_, range) = &mut definition.action else {
                continue;
            };
            let within = data.and_then(|(data, len)| {
                let start = data.checked_add(range.start)?;
                let end = start.checked_add(range.len)?;
                (end <= len).then_some(start)
            });
            let Some(start) = within else {
                let what = "its content does not follow the definitions in its file";
                return Err(definition.wrong(&Error::invalid(what)).path(path));
            };
            (range.start, range.path) = (start, path.to_owned());
        }
        Ok(all)
    }

    /// Returns an error with this definition as its subject.
    pub(super) fn wrong(&self, error: &Error) -> Error {
        let what = format!("pseudo definition `{}`: {error}", self.text);
        Error::new(error.kind(), what)
    }

    /// Parses a file of definitions, one a line: a backslash at the end continues a line, lines
    /// that begin with # are comments.
    pub fn parse_all(file: &[u8]) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        let mut joined = Vec::new();
        for line in file.split(|&byte| byte == b'\n') {
            if joined.is_empty() && line.trim_ascii_start().starts_with(b"#") {
                continue;
            }
            if let Some(begun) = line.strip_suffix(b"\\") {
                joined.extend_from_slice(begun);
                continue;
            }
            joined.extend_from_slice(line);
            let whole = std::mem::take(&mut joined);
            if !whole.trim_ascii().is_empty() {
                all.push(Self::line(whole.trim_ascii_start())?);
            }
        }
        if joined.is_empty() {
            Ok(all)
        } else {
            Err(Error::invalid(
                "pseudo definitions end in the middle of one",
            ))
        }
    }
}

fn read(words: &mut Tokens<'_>) -> Result<(Vec<Vec<u8>>, Action)> {
    let path = path(&words.name()?)?;
    let kind = words.word("a type")?;
    let [letter] = *kind else {
        return Err(Error::invalid("the type is one letter"));
    };
    let timed = letter.is_ascii_uppercase();
    let action = match letter {
        b'l' | b'h' => {
            let file = names::path_buf(words.name()?);
            Action::CopyFile(file, letter == b'h')
        }
        b'L' => Action::Link(self::path(&words.name()?)?),
        b'x' => xattr(words.rest())?,
        b'f' | b'F' => {
            let what = "commands are not run: write the output to a file and add that with `l`";
            return Err(Error::unsupported(what));
        }
        b'R' => content(words)?,
        b'd' | b'D' => Action::Make(attributes(words, timed)?, NewNode::Directory),
        b'm' | b'M' => Action::Modify(attributes(words, timed)?),
        b'b' | b'B' => device(words, timed, FileType::BlockDevice)?,
        b'c' | b'C' => device(words, timed, FileType::CharDevice)?,
        b'i' | b'I' => {
            let attributes = attributes(words, timed)?;
            match words.word("s or f")? {
                b"s" => Action::Make(attributes, NewNode::Socket),
                b"f" => Action::Make(attributes, NewNode::Fifo),
                _ => {
                    return Err(Error::invalid("the type is s for a socket or f for a FIFO"));
                }
            }
        }
        b's' | b'S' => {
            let attributes = attributes(words, timed)?;
            match words.rest() {
                b"" => return Err(Error::invalid("a symlink needs a target")),
                target => Action::Make(attributes, NewNode::Symlink(target.to_vec())),
            }
        }
        _ => return Err(Error::invalid("the type is one of dDmMbBcCiIsSRlhLx")),
    };
    words.end()?;
    Ok((path, action))
}

/// Parses a file whose content is behind the definitions: attributes, its length, where it is, and
/// whether it has holes, which its zeros say as well.
fn content(words: &mut Tokens<'_>) -> Result<Action> {
    let attributes = attributes(words, true)?;
    let mut number = |what: &str| {
        let word = std::str::from_utf8(words.word(what)?).unwrap_or_default();
        let number = word.parse::<u64>().ok();
        number.ok_or_else(|| Error::invalid(format!("`{word}` is not {what}")))
    };
    let (len, start) = (number("a length")?, number("an offset")?);
    if number("0 or 1, for holes,")? > 1 {
        return Err(Error::invalid("1 stands for holes, 0 for none"));
    }
    let path = PathBuf::new();
    Ok(Action::Content(attributes, FileRange { path, start, len }))
}

/// Splits a path into plain names.
fn path(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let names = bytes.split(|&byte| byte == b'/');
    let names = names.filter(|name| !matches!(*name, b"" | b"."));
    let plain = |name: &[u8]| {
        if name != b".." && name.len() <= 255 && !name.contains(&0) {
            Ok(name.to_vec())
        } else {
            Err(Error::invalid("not a path of plain names"))
        }
    };
    names.map(plain).collect()
}

fn attributes(words: &mut Tokens<'_>, timed: bool) -> Result<Attributes> {
    let time = if timed {
        Some(time(words.word("a time")?)?)
    } else {
        None
    };
    let mode = std::str::from_utf8(words.word("a mode")?).unwrap_or_default();
    let mode = u16::from_str_radix(mode, 8).ok();
    let mode = mode.filter(|mode| *mode <= 0o7777);
    let mode = mode.ok_or_else(|| Error::invalid("a mode is an octal number up to 7777"))?;
    Ok(Attributes {
        mode,
        uid: words.number("an owner, as a number")?,
        gid: words.number("a group, as a number")?,
        time,
    })
}

/// Parses seconds since 1970, optionally after an @.
fn time(word: &[u8]) -> Result<Time> {
    let digits = word.strip_prefix(b"@").unwrap_or(word);
    let secs = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok());
    let secs = secs.ok_or_else(|| Error::invalid("a time is a number of seconds since 1970"))?;
    Ok(Time { secs, nanos: 0 })
}

fn device(words: &mut Tokens<'_>, timed: bool, kind: FileType) -> Result<Action> {
    let attributes = attributes(words, timed)?;
    let rdev = Rdev {
        major: words.number("a major number")?,
        minor: words.number("a minor number")?,
    };
    // the range of a 32-bit `dev_t` of Linux
    if rdev.major > 0xfff || rdev.minor > 0xf_ffff {
        return Err(Error::invalid(
            "a major number is below 4096, a minor one below 1048576",
        ));
    }
    Ok(Action::Make(attributes, NewNode::Device(kind, rdev)))
}

/// Parses a name and a value: text, text with octal escapes (0t), hexadecimal digits (0x) or base64
/// (0s).
fn xattr(text: &[u8]) -> Result<Action> {
    let equals = text.iter().position(|&byte| byte == b'=');
    let (name, value) = text.split_at(equals.unwrap_or_default());
    let [b'=', value @ ..] = value else {
        return Err(Error::invalid("an extended attribute is NAME=VALUE"));
    };
    if !(1..=255).contains(&name.len()) || !name.contains(&b'.') {
        return Err(Error::invalid(
            "a name of an extended attribute has a prefix, as `user.`",
        ));
    }
    let wrong = || Error::invalid("the value does not match its prefix");
    let value = match value {
        [b'0', b's' | b'S', coded @ ..] => {
            Base64::decode_to_vec(coded, None).map_err(|_| wrong())?
        }
        [b'0', b'x' | b'X', digits @ ..] => hexadecimal(digits).ok_or_else(wrong)?,
        [b'0', b't' | b'T', text @ ..] => with_octal(text).ok_or_else(wrong)?,
        text => text.to_vec(),
    };
    if value.len() > 64 << 10 {
        return Err(Error::limit("the value has more than 64 KiB"));
    }
    Ok(Action::Xattr(name.to_vec(), value))
}

fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

fn with_octal(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let [first, rest @ ..] = text {
        text = rest;
        bytes.push(match (first, rest) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..]) => {
                text = rest;
                (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
            }
            (b'\\', _) => return None,
            (byte, _) => *byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_four_forms() {
        let value = |text: &str| match xattr(text.as_bytes()) {
            Ok(Action::Xattr(name, value)) if name == b"user.a" => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value("user.a=\\101 x"), b"\\101 x");
        assert_eq!(value("user.a=0t\\101 x"), b"A x");
        assert_eq!(value("user.a=0x4142"), b"AB");
        assert_eq!(value("user.a=0sSGVsbG8="), b"Hello");
        for wrong in [
            "a=b",
            "user.a",
            "=",
            "user.a=0x4",
            "user.a=0s!",
            "user.a=0t\\9",
        ] {
            assert!(xattr(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in [
            "",
            "a",
            "a d",
            "a d 755 0",
            "a d 8 0 0",
            "a d 10000 0 0",
            "a d 755 root 0",
            "a d 755 0 0 x",
            "a D 755 0 0",
            "../a d 755 0 0",
            "a b 600 0 0 1",
            "a b 600 0 0 4096 0",
            "a i 600 0 0 p",
            "a s 777 0 0",
            "a q 0 0 0",
            "a f 644 0 0 ls",
            "a R 1 644 0 0 3 0 0",
            "\"a d 755 0 0",
            "a dd 755 0 0",
            "a l",
        ] {
            assert!(Definition::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        for wrong in [
            "a R 1 644 0 0 3 0",
            "a R 1 644 0 0 -3 0 0",
            "a R 1 644 0 0 3 0 2",
        ] {
            assert!(Definition::line(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(Definition::parse_all(b"a d 755 0 0\\\n").is_ok_and(|all| all.len() == 1));
        assert!(Definition::parse_all(b"a d 755 0 0\\").is_err());
    }

    #[test]
    fn lines_go_on_and_names_are_quoted() {
        let all =
            Definition::parse_all(b"# x\n  \"a b\"/c\\ d s 777 1 2 \\\n t u\n\ne M @-7 4755 0 0\n");
        let all = all.unwrap();
        let [symlink, changed] = &all[..] else {
            panic!("{all:?}")
        };
        assert_eq!(symlink.path, [b"a b".to_vec(), b"c d".to_vec()]);
        let Action::Make(attributes, NewNode::Symlink(target)) = &symlink.action else {
            panic!("{symlink:?}")
        };
        assert_eq!(
            (target.as_slice(), attributes.uid, attributes.gid),
            (&b"t u"[..], 1, 2)
        );
        let Action::Modify(attributes) = changed.action else {
            panic!("{changed:?}")
        };
        assert_eq!(
            (attributes.mode, attributes.time.map(|time| time.secs)),
            (0o4755, Some(-7))
        );
    }
}
