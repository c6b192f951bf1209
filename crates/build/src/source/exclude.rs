//! Patterns of names and paths that a scan leaves out.
//!
//! Enters a list of shell patterns (`*`, `?`, `[...]`, `{a,b}`, `**`); leaves a yes or no per entry.
//! As in rsync: a pattern without a slash matches a name anywhere, one with a slash matches a
//! path from the root of the tree, a slash at the end asks for a directory.
//! **Invariant:** `*` and `?` never match a slash.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use model::{Error, Result};

/// Says which entries of a source are left out.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    names: Patterns,
    paths: Patterns,
}

/// The patterns of one kind, those for anything and those for directories only.
#[derive(Debug, Clone, Default)]
struct Patterns {
    any: GlobSet,
    directories: GlobSet,
}

impl Patterns {
    fn matches(&self, bytes: &[u8], is_dir: bool) -> bool {
        if self.any.is_empty() && self.directories.is_empty() {
            return false;
        }
        let candidate = Candidate::new(OsStr::from_bytes(bytes));
        self.any.is_match_candidate(&candidate)
            || (is_dir && self.directories.is_match_candidate(&candidate))
    }
}

impl Exclude {
    /// Compiles patterns. `Invalid` for a pattern that makes no sense.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        let mut sets: [GlobSetBuilder; 4] = std::array::from_fn(|_| GlobSetBuilder::new());
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let body = pattern.trim_end_matches('/');
            let for_directories = body.len() != pattern.len();
            let for_paths = body.contains('/');
            let body = body.trim_start_matches("./").trim_start_matches('/');
            if body.is_empty() {
                let what =
                    format!("exclude pattern {pattern:?} would leave nothing or means nothing");
                return Err(Error::invalid(what));
            }
            let glob = GlobBuilder::new(body)
                .literal_separator(true)
                .backslash_escape(true)
                .build();
            let glob = glob.map_err(|error| {
                Error::invalid(format!("exclude pattern {pattern:?} cannot be understood"))
                    .because(error)
            })?;
            sets[usize::from(for_paths) * 2 + usize::from(for_directories)].add(glob);
        }
        let [names, name_dirs, paths, path_dirs] = sets;
        Ok(Self {
            names: Patterns {
                any: build(&names)?,
                directories: build(&name_dirs)?,
            },
            paths: Patterns {
                any: build(&paths)?,
                directories: build(&path_dirs)?,
            },
        })
    }

    /// Reads the patterns of a file: one a line; empty lines and lines that begin with `#` or `;`
    /// mean nothing.
    pub fn lines_of(file: &Path) -> Result<Vec<String>> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Error::io("cannot read exclude patterns", error).path(file))?;
        let lines = text.lines().map(|line| line.trim_end_matches('\r'));
        Ok(lines
            .filter(|line| !line.is_empty() && !line.starts_with(['#', ';']))
            .map(str::to_owned)
            .collect())
    }

    /// Tells whether there is any pattern.
    pub fn is_empty(&self) -> bool {
        [&self.names, &self.paths]
            .iter()
            .all(|p| p.any.is_empty() && p.directories.is_empty())
    }

    /// Tells whether an entry is left out; `path` is relative to the root, without a leading slash.
    pub fn matches(&self, path: &[u8], is_dir: bool) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        self.names.matches(name, is_dir) || self.paths.matches(path, is_dir)
    }
}

fn build(builder: &GlobSetBuilder) -> Result<GlobSet> {
    builder.build().map_err(|error| {
        Error::invalid("the exclude patterns are too many or too large").because(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(pattern: &str, path: &str, is_dir: bool) -> bool {
        Exclude::new([pattern])
            .unwrap()
            .matches(path.as_bytes(), is_dir)
    }

    #[test]
    fn a_pattern_without_slash_matches_a_name_anywhere() {
        for path in ["a.o", "x/a.o", "x/y/.o"] {
            assert!(excluded("*.o", path, false), "{path}");
        }
        assert!(!excluded("*.o", "a.o/b", false));
        assert!(!excluded("a", "ba", false));
    }

    #[test]
    fn a_pattern_with_slash_begins_at_the_root() {
        assert!(excluded("x/*.o", "x/a.o", false));
        assert!(excluded("/x/*.o", "x/a.o", false));
        assert!(!excluded("x/*.o", "y/x/a.o", false));
        assert!(!excluded("x/*.o", "x/y/a.o", false));
        assert!(excluded("/proc", "proc", true));
        assert!(!excluded("/proc", "x/proc", true));
        assert!(excluded("**/x/*.o", "y/x/a.o", false));
        assert!(excluded("var/cache/*", "var/cache/apt", true));
        assert!(!excluded("var/cache/*", "var/cache", true));
    }

    #[test]
    fn a_slash_at_the_end_asks_for_a_directory() {
        assert!(excluded("tmp/", "x/tmp", true));
        assert!(!excluded("tmp/", "x/tmp", false));
        assert!(excluded("/x/tmp/", "x/tmp", true));
        assert!(!excluded("/x/tmp/", "y/x/tmp", true));
    }

    #[test]
    fn names_need_not_be_utf8() {
        let exclude = Exclude::new(["*.o", "?"]).unwrap();
        assert!(exclude.matches(b"x/\xff\xfe.o", false));
        assert!(!exclude.matches(b"\xff\xfe.c", false));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Exclude::new(["["]).is_err());
        assert!(Exclude::new([""]).is_err());
        assert!(Exclude::new(["/"]).is_err());
        assert!(Exclude::new(Vec::<String>::new()).unwrap().is_empty());
    }

    #[test]
    fn patterns_come_from_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("exclude");
        std::fs::write(&file, "# comment\n\n*.o\r\nx/y\n").unwrap();
        assert_eq!(Exclude::lines_of(&file).unwrap(), ["*.o", "x/y"]);
        assert!(Exclude::lines_of(&dir.path().join("none")).is_err());
    }
}
