//! Reads the lines of a list.
//!
//! Enters text; leaves one `MtreeEntry` for each path, in the order of their first lines. Spec:
//! mtree(5) of NetBSD and of libarchive; names as vis(3) writes them. **Invariant:** a path is a
//! list of plain names below the root: `..` in it, a name of more than 255 bytes and a line that
//! climbs out of the root are errors, with their line. Values come only from the text: a missing
//! keyword has no default.

mod entry;
mod words;

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use sinterfs_model::{Error, FileType, Result};

use crate::member::Notes;
pub use entry::{Algorithm, List, MtreeEntry};
use words::{digest, escaped, mode, number, rdev, time};

/// The longest line in bytes, with its continuation lines.
const LONGEST_LINE: usize = 1 << 20;

/// The longest path in bytes, PATH_MAX of Linux.
const LONGEST_PATH: usize = 4096;

/// The limit of all paths together in bytes: a short line deep in a tree has a long path.
const ALL_PATHS: usize = 1 << 30;

/// The most keywords that `/set` holds at a time; mtree(5) knows some thirty.
const MOST_SET: usize = 256;

/// The comment at the start of lists by libarchive and by us.
const SIGNATURE: &[u8] = b"#mtree";

/// Returns whether a text is a list, by its first comment or by the first line that is not a
/// comment.
pub fn is_mtree(start: &[u8]) -> bool {
    if start.starts_with(SIGNATURE) {
        return true;
    }
    let lines = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let Some(line) = lines.next() else {
        return false;
    };
    let mut words = line.split(u8::is_ascii_whitespace);
    let first = words.next().unwrap_or_default();
    let types = |word: &[u8]| {
        let kind = word.strip_prefix(b"type=");
        kind.is_some_and(|kind| words::kind(kind).is_ok())
    };
    let is_plain = |byte: &u8| byte.is_ascii_graphic();
    first.iter().all(is_plain) && (first == b"/set" || words.any(types))
}

/// Reads a whole list.
///
/// # Errors
/// `Invalid` and `Limit` with the line.
pub fn list(mut text: impl BufRead) -> Result<List> {
    let mut reading = Reading::default();
    let mut line = Vec::new();
    loop {
        reading.line += 1;
        let first = reading.line;
        line.clear();
        while read_line(&mut text, &mut line)? && line.ends_with(b"\\\n") {
            line.truncate(line.len() - 2);
            line.push(b' ');
            reading.line += 1;
        }
        if line.is_empty() {
            break;
        }
        let located = |error: Error| {
            let what = format!("line {first}: {}", error.what());
            Error::new(error.kind(), what)
        };
        reading.take(&line, first).map_err(located)?;
    }
    Ok(reading.list)
}

/// Appends the next line with its newline; returns `false` at the end of the text.
fn read_line(text: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool> {
    let before = line.len();
    let mut bounded = std::io::Read::take(text, (LONGEST_LINE - before.min(LONGEST_LINE)) as u64);
    let read = bounded.read_until(b'\n', line);
    read.map_err(|error| Error::io("cannot read the list", error))?;
    if line.len() >= LONGEST_LINE {
        return Err(Error::limit(format!(
            "a line of more than {LONGEST_LINE} bytes"
        )));
    }
    Ok(line.len() > before)
}

/// The state of reading a list.
#[derive(Default)]
struct Reading {
    list: List,
    /// Entries by their paths.
    known: HashMap<Vec<u8>, usize>,
    /// The values of `/set` for all entries, by keyword.
    set: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The directory of names without a slash: a path, empty for the root.
    dir: Vec<u8>,
    /// Bytes of all paths so far.
    paths: usize,
    line: u64,
}

impl Reading {
    fn take(&mut self, line: &[u8], number: u64) -> Result<()> {
        let words = line.split(u8::is_ascii_whitespace);
        let mut words = words.filter(|word| !word.is_empty());
        let Some(first) = words.next().filter(|word| !word.starts_with(b"#")) else {
            return Ok(());
        };
        let words: Vec<&[u8]> = words.collect();
        match first {
            b"/set" => {
                for word in words {
                    let (keyword, value) = split(word);
                    self.set.insert(keyword.to_vec(), value.to_vec());
                    if self.set.len() > MOST_SET {
                        let what = format!("/set of more than {MOST_SET} keywords");
                        return Err(Error::limit(what));
                    }
                }
                Ok(())
            }
            b"/unset" => {
                for word in words {
                    match word {
                        b"all" => self.set.clear(),
                        keyword => {
                            self.set.remove(keyword);
                        }
                    }
                }
                Ok(())
            }
            name if name.starts_with(b"/") => {
                let what = "only /set and /unset begin with a slash; paths begin with a name";
                Err(Error::invalid(what))
            }
            b".." if words.is_empty() && self.dir.is_empty() => {
                Err(Error::invalid("`..` leads out of the root"))
            }
            b".." if words.is_empty() => {
                let slash = self.dir.iter().rposition(|&byte| byte == b'/');
                self.dir.truncate(slash.unwrap_or(0));
                Ok(())
            }
            name => self.entry(&escaped(name)?, &words, number),
        }
    }

    /// Adds the line of a path.
    fn entry(&mut self, name: &[u8], words: &[&[u8]], number: u64) -> Result<()> {
        let is_whole = name.contains(&b'/');
        let mut path = if is_whole {
            Vec::new()
        } else {
            self.dir.clone()
        };
        for name in name.split(|&byte| byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." => return Err(Error::invalid("`..` in a path")),
                name if name.contains(&0) => return Err(Error::invalid("a NUL in a name")),
                name if name.len() > 255 => {
                    return Err(Error::limit("a name of more than 255 bytes"));
                }
                name => {
                    if !path.is_empty() {
                        path.push(b'/');
                    }
                    path.extend_from_slice(name);
                }
            }
        }
        if path.len() > LONGEST_PATH {
            let what = format!("a path of more than {LONGEST_PATH} bytes");
            return Err(Error::limit(what));
        }
        let index = match self.known.get(&path) {
            // further lines of a path add to the first
            Some(&index) => index,
            None => {
                self.paths += path.len();
                if self.paths > ALL_PATHS {
                    return Err(Error::limit("paths of more than 1 GiB together"));
                }
                let index = self.list.entries.len();
                self.known.insert(path.clone(), index);
                self.list.entries.push(MtreeEntry {
                    path: path.clone(),
                    line: number,
                    ..MtreeEntry::default()
                });
                index
            }
        };
        let Some(entry) = self.list.entries.get_mut(index) else {
            return Ok(());
        };
        let own: Vec<(&[u8], &[u8])> = words.iter().map(|word| split(word)).collect();
        let set = self.set.iter();
        let set = set.filter(|(keyword, _)| !own.iter().any(|(own, _)| own == keyword));
        for (keyword, value) in set.map(|(k, v)| (&**k, &**v)).chain(own.iter().copied()) {
            keyword_of(entry, keyword, value, &mut self.list.notes)?;
        }
        if !is_whole && entry.kind == Some(FileType::Directory) {
            self.dir = path;
        }
        Ok(())
    }
}

/// Splits `keyword=value`.
fn split(word: &[u8]) -> (&[u8], &[u8]) {
    match word.iter().position(|&byte| byte == b'=') {
        Some(at) => (
            word.get(..at).unwrap_or_default(),
            word.get(at + 1..).unwrap_or_default(),
        ),
        None => (word, &[]),
    }
}

/// Applies one keyword to an entry.
fn keyword_of(
    entry: &mut MtreeEntry,
    keyword: &[u8],
    value: &[u8],
    notes: &mut Notes,
) -> Result<()> {
    let located = |error: Error| {
        let keyword = String::from_utf8_lossy(keyword).into_owned();
        Error::new(error.kind(), format!("{keyword}: {}", error.what()))
    };
    let mut note = |what: &'static str| *notes.entry(what).or_default() += 1;
    let mut sum = |algorithm| -> Result<()> {
        let digest = digest(algorithm, value)?;
        entry.digests.retain(|(known, _)| *known != algorithm);
        entry.digests.push((algorithm, digest));
        Ok(())
    };
    let taken = match keyword {
        b"type" => words::kind(value).map(|kind| entry.kind = Some(kind)),
        b"mode" => mode(value).map(|mode| entry.mode = Some(mode)),
        b"uid" => number(value).map(|uid| entry.uid = Some(uid)),
        b"gid" => number(value).map(|gid| entry.gid = Some(gid)),
        b"time" => time(value).map(|time| entry.time = Some(time)),
        b"size" => number(value).map(|size| entry.size = Some(size)),
        b"link" => escaped(value).map(|target| entry.target = Some(target)),
        b"device" => rdev(value).map(|rdev| entry.rdev = Some(rdev)),
        b"nlink" => number(value).map(|nlink| entry.nlink = Some(nlink)),
        b"inode" | b"ino" => {
            number(value).map(|inode| entry.inode.get_or_insert_default().0 = inode)
        }
        b"resdevice" => {
            entry.inode.get_or_insert_default().1 = value.to_vec();
            Ok(())
        }
        b"content" | b"contents" => escaped(value).map(|path| entry.content = Some(path)),
        b"optional" => {
            entry.optional = true;
            Ok(())
        }
        b"sha256" | b"sha256digest" => sum(Algorithm::Sha256),
        b"sha384" | b"sha384digest" => sum(Algorithm::Sha384),
        b"sha512" | b"sha512digest" => sum(Algorithm::Sha512),
        // for comparing trees, and names of owners that also have numbers
        b"ignore" | b"nochange" | b"uname" | b"gname" | b"tags" => Ok(()),
        b"flags" if matches!(value, b"" | b"none") => Ok(()),
        b"flags" => {
            note("entries of lists with file flags, which no image has");
            Ok(())
        }
        b"cksum" | b"md5" | b"md5digest" | b"sha1" | b"sha1digest" | b"rmd160"
        | b"rmd160digest" | b"ripemd160digest" => {
            note("sums other than SHA-2 in lists, which are not compared");
            Ok(())
        }
        _ => {
            note("keywords of lists that are not known");
            Ok(())
        }
    };
    taken.map_err(located)
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Rdev, Time};

    use super::*;

    #[test]
    fn short_lines_cannot_ask_for_much() {
        let refused = |text: String| list(text.as_bytes()).unwrap_err().to_string();
        let deep = format!("#mtree\n{}", "a type=dir\n".repeat(10_000));
        assert!(refused(deep).contains("line 2050: a path of more than 4096 bytes"));
        let set = (0..300).map(|n| format!(" k{n}=1"));
        let set = format!("/set{}\n", set.collect::<String>());
        assert!(refused(set).contains("line 1: /set of more than 256"));
    }

    fn entries(text: &str) -> Vec<MtreeEntry> {
        list(text.as_bytes()).unwrap().entries
    }

    #[test]
    fn directories_are_entered_and_left() {
        let text = "#mtree\n/set type=file mode=0644\n. type=dir\n  a\n  sub type=dir mode=700\n    b size=3\n\
            # x\n  ..\n  c uid=7 \\\n  gid=8\n/unset mode\n./sub/d\nd\\040e optional\n..\n";
        // the last line leaves no directory: `.` is the root
        let error = list(text.as_bytes()).unwrap_err();
        assert!(error.what().starts_with("line 14: `..`"), "{error}");
        let found = entries(text.strip_suffix("..\n").unwrap());
        let paths: Vec<_> = found
            .iter()
            .map(|entry| String::from_utf8(entry.path.clone()).unwrap())
            .collect();
        assert_eq!(paths, ["", "a", "sub", "sub/b", "c", "sub/d", "d e"]);
        assert_eq!(found[1].kind, Some(FileType::File));
        assert_eq!(
            (found[2].kind, found[2].mode),
            (Some(FileType::Directory), Some(0o700))
        );
        assert_eq!((found[3].size, found[3].line), (Some(3), 6));
        assert_eq!(
            (found[4].uid, found[4].gid, found[4].line),
            (Some(7), Some(8), 9)
        );
        assert_eq!((found[5].mode, found[4].mode), (None, Some(0o644)));
        assert!(found[6].optional && !found[5].optional);
    }

    #[test]
    fn every_keyword_is_read() {
        let sum = "ab".repeat(32);
        let text = format!(
            "./a type=char device=native,8,300 mode=4755 time=-3.000000040 nlink=2 inode=9 \
             resdevice=native,1,2 sha256digest={sum} md5=00 flags=none nonsense=1\n./a link=b\\\\c content=x\\057y\n"
        );
        let list = list(text.as_bytes()).unwrap();
        let [entry] = &list.entries[..] else {
            panic!("{list:?}")
        };
        assert_eq!(entry.kind, Some(FileType::CharDevice));
        assert_eq!(
            entry.rdev,
            Some(Rdev {
                major: 8,
                minor: 300
            })
        );
        assert_eq!(
            entry.time,
            Some(Time {
                secs: -3,
                nanos: 40
            })
        );
        assert_eq!(entry.inode, Some((9, b"native,1,2".to_vec())));
        assert_eq!(entry.digests, [(Algorithm::Sha256, vec![0xab; 32])]);
        assert_eq!(entry.target.as_deref(), Some(&b"b\\c"[..]));
        assert_eq!(entry.content.as_deref(), Some(&b"x/y"[..]));
        assert_eq!(list.notes.values().sum::<u64>(), 2);
    }

    #[test]
    fn nonsense_has_a_line() {
        for (text, expected) in [
            ("..", "line 1: `..` leads out"),
            ("a type=dir\n..\n..\n", "line 3: `..` leads out"),
            ("\na/../b type=file\n", "line 2: `..` in a path"),
            ("a\\057..\\057b type=file\n", "line 1: `..` in a path"),
            ("/etc/passwd type=file\n", "line 1: only /set"),
            ("a type=door\n", "line 1: type:"),
            ("a mode=888\n", "line 1: mode:"),
            ("a mode=u+x\n", "line 1: mode:"),
            ("a uid=-1\n", "line 1: uid:"),
            ("a uid=4294967296\n", "line 1: uid:"),
            ("a time=1.x\n", "line 1: time:"),
            ("a device=native,1\n", "line 1: device:"),
            ("a sha256=abc\n", "line 1: sha256:"),
            ("a\\q\n", "line 1: an unknown escape"),
            ("a\\0\n", "line 1: a NUL"),
        ] {
            let error = list(text.as_bytes()).unwrap_err();
            assert!(error.what().starts_with(expected), "{text}: {error}");
        }
        let long = format!("{} type=file\n", "a".repeat(256));
        assert!(list(long.as_bytes()).is_err());
        let endless = "a\\\n".repeat(LONGEST_LINE);
        assert!(list(endless.as_bytes()).is_err());
    }

    #[test]
    fn lists_are_distinguished_from_other_text() {
        for text in [
            "#mtree\n",
            "#mtree v2.0\n",
            "# user: x\n\n/set type=file\n. type=dir\n",
            "./a uid=0 type=file\n",
        ] {
            assert!(is_mtree(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "#!/bin/sh\n",
            "hello world\n",
            "a type=nothing",
            "\0\0type=file",
            "/ 4096 40755\n",
        ] {
            assert!(!is_mtree(text.as_bytes()), "{text}");
        }
    }
}
