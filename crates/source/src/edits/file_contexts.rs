//! SELinux file contexts: the label of a path and file type.
//!
//! Enters the lines of file_contexts(5) and of the files beside it; leaves labels. Sources:
//! selabel_file(5), and the behaviour of libselinux 3.4 and 3.8 (label_file.c).
//! **Invariant:** of all matching lines, one without meta characters (`. ^ $ ? * + | [ ( {`, not
//! escaped) has precedence, then the later one. Only lines whose literal prefix is that of the path
//! are matched.

mod pattern;
mod substitutions;

use std::path::Path;

use sinterfs_model::{Error, FileType, Result};

use pattern::Pattern;
use substitutions::Substitutions;

/// The attribute that holds a label.
pub(super) const NAME: &[u8] = b"security.selinux";

/// The keyword for no label.
const NONE: &str = "<<none>>";

/// The lines of a file_contexts file and its companions.
#[derive(Debug, Clone, Default)]
pub struct FileContexts {
    /// In the order of the files.
    lines: Vec<Line>,
    /// The literal prefixes of lines, sorted.
    prefixes: Vec<Prefix>,
    /// Path substitutions, applied one after the other.
    substitutions: [Substitutions; 2],
}

/// A line of file_contexts.
#[derive(Debug, Clone)]
struct Line {
    pattern: Pattern,
    /// The file type that it applies to; all if `None`.
    kind: Option<FileType>,
    /// Including the trailing NUL of libselinux; empty for no label.
    label: Vec<u8>,
}

/// A literal prefix of paths.
#[derive(Debug, Clone)]
struct Prefix {
    text: Vec<u8>,
    /// The next shorter prefix of this one.
    shorter: Option<usize>,
    /// The lines with this prefix, by descending precedence.
    lines: Vec<usize>,
}

impl FileContexts {
    /// Reads a file and its companions, as libselinux does: FILE.homedirs and FILE.local, whose
    /// lines follow its own, and FILE.subs and FILE.subs_dist, which substitute paths.
    ///
    /// # Errors
    /// `Invalid` and `Unsupported` with file and line, `Io` for a file that cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let mut contexts = Self::default();
        let beside = |suffix: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            std::path::PathBuf::from(name)
        };
        for (suffix, is_needed) in [("", true), (".homedirs", false), (".local", false)] {
            let path = beside(suffix);
            if let Some(text) = contents(&path, is_needed)? {
                contexts.add(&text).map_err(|error| error.path(&path))?;
            }
        }
        for (suffix, list) in [".subs", ".subs_dist"]
            .iter()
            .zip(&mut contexts.substitutions)
        {
            if let Some(text) = contents(&beside(suffix), false)? {
                *list = Substitutions::parse(&text);
            }
        }
        contexts.index();
        Ok(contexts)
    }

    /// Returns whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Adds the lines of a file.
    fn add(&mut self, text: &[u8]) -> Result<()> {
        for (line, number) in text.split(|&byte| byte == b'\n').zip(1_u64..) {
            let located = |error: Error| {
                let what = format!("line {number}: {}", error.what());
                Error::new(error.kind(), what)
            };
            self.lines.extend(Line::parse(line).map_err(located)?);
        }
        Ok(())
    }

    /// Sorts lines by their literal prefix.
    fn index(&mut self) {
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        order.sort_by_key(|&number| std::cmp::Reverse(self.precedence(number)));
        order.sort_by(|&a, &b| self.prefix(a).cmp(self.prefix(b)));
        let mut prefixes: Vec<Prefix> = Vec::new();
        for alike in order.chunk_by(|&a, &b| self.prefix(a) == self.prefix(b)) {
            let text = alike.first().map_or(&[][..], |&number| self.prefix(number));
            let mut shorter = prefixes.len().checked_sub(1);
            while let Some(found) = shorter.and_then(|at| prefixes.get(at)) {
                if text.starts_with(&found.text) {
                    break;
                }
                shorter = found.shorter;
            }
            prefixes.push(Prefix {
                text: text.to_vec(),
                shorter,
                lines: alike.to_vec(),
            });
        }
        self.prefixes = prefixes;
    }

    fn prefix(&self, number: usize) -> &[u8] {
        self.lines
            .get(number)
            .map_or(&[], |line| &line.pattern.prefix)
    }

    /// Returns the precedence of a line.
    fn precedence(&self, number: usize) -> (bool, usize) {
        let line = self.lines.get(number);
        (line.is_some_and(|line| line.pattern.is_exact), number)
    }

    /// Returns the label of an absolute path, as the value of the extended attribute; `None` if no
    /// line gives one.
    pub fn label(&self, path: &[u8], kind: FileType) -> Option<&[u8]> {
        let [own, of_distribution] = &self.substitutions;
        let path = own.apply(path.into());
        let path = of_distribution.apply(path);
        let after = self
            .prefixes
            .partition_point(|prefix| *prefix.text <= *path);
        let mut next = after.checked_sub(1);
        let mut best: Option<(bool, usize)> = None;
        while let Some(prefix) = next.and_then(|at| self.prefixes.get(at)) {
            next = prefix.shorter;
            if !path.starts_with(&prefix.text) {
                continue;
            }
            let matching = |&number: &usize| {
                let line = self.lines.get(number);
                line.is_some_and(|line| line.matches(&path, kind))
            };
            let heavier = |&number: &usize| Some(self.precedence(number)) > best;
            let mut candidates = prefix.lines.iter().copied().take_while(heavier);
            if let Some(number) = candidates.find(matching) {
                best = Some(self.precedence(number));
            }
        }
        let line = best.and_then(|(_, number)| self.lines.get(number))?;
        Some(&*line.label).filter(|label| !label.is_empty())
    }
}

impl Line {
    /// Parses a line; `None` for a comment and an empty line.
    fn parse(line: &[u8]) -> Result<Option<Self>> {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(None);
        }
        let text = std::str::from_utf8(line)
            .ok()
            .filter(|text| text.is_ascii());
        let text = text.ok_or_else(|| Error::invalid("the line is not ASCII"))?;
        let mut words = text.split_ascii_whitespace();
        let words = [words.next(), words.next(), words.next(), words.next()];
        let (pattern, kind, label) = match words {
            [Some(pattern), Some(label), None, _] => (pattern, None, label),
            [Some(pattern), Some(kind), Some(label), None] => {
                (pattern, Some(self::kind(kind)?), label)
            }
            [_, _, _, Some(_)] => {
                return Err(Error::invalid(
                    "more than an expression, a type and a label",
                ));
            }
            _ => return Err(Error::invalid("a label is missing")),
        };
        let label = match label {
            NONE => Vec::new(),
            label => [label.as_bytes(), b"\0"].concat(),
        };
        let located = |error: Error| {
            let what = format!("`{pattern}`: {}", error.what());
            Error::new(error.kind(), what)
        };
        Ok(Some(Self {
            pattern: Pattern::parse(pattern).map_err(located)?,
            kind,
            label,
        }))
    }

    fn matches(&self, path: &[u8], kind: FileType) -> bool {
        self.kind.is_none_or(|only| only == kind) && self.pattern.matches(path)
    }
}

/// Parses the file type of a line.
fn kind(word: &str) -> Result<FileType> {
    Ok(match word {
        "--" => FileType::File,
        "-d" => FileType::Directory,
        "-l" => FileType::Symlink,
        "-c" => FileType::CharDevice,
        "-b" => FileType::BlockDevice,
        "-p" => FileType::Fifo,
        "-s" => FileType::Socket,
        _ => {
            let what = format!("`{word}` is not a type; types are --, -d, -l, -c, -b, -p and -s");
            return Err(Error::invalid(what));
        }
    })
}

/// Reads a file; `None` if it is optional and does not exist.
fn contents(path: &Path, is_needed: bool) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_needed => Ok(None),
        Err(error) => Err(Error::io("cannot read", error).path(path)),
    }
}
