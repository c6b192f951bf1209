//! Rules about names and paths that a source leaves out.
//!
//! Enters a list of shell patterns (`*`, `?`, `[...]`, `{a,b}`, `**`), each to exclude or to
//! include what it matches; leaves a decision for each entry. As in rsync, the first matching
//! pattern decides, and entries without a match are included; a pattern without a slash matches a
//! name anywhere, one with a slash a path from the root of the tree; a slash at the end restricts a
//! pattern to directories. Regular expressions exclude the paths in which they match, whatever the
//! patterns say; expressions of names see one name of a path each. Where a list of
//! paths to take is given, all others are left out.
//! **Invariant:** `*` and `?` never match a slash.

mod name_expressions;
mod only;

use std::path::Path;
use std::sync::Arc;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::{RegexSet, RegexSetBuilder};
use sinterfs_model::{Error, Result};

use name_expressions::NameExpressions;
use only::OnlyPaths;

pub use only::plain_path;

/// A pattern, and whether it includes or excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The pattern.
    pub pattern: String,
    /// Whether what matches is kept; otherwise it is left out.
    pub keeps: bool,
}

impl Rule {
    /// Creates a rule that excludes.
    pub fn exclude(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            keeps: false,
        }
    }

    /// Creates a rule that includes.
    pub fn include(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            keeps: true,
        }
    }

    /// Reads the rules of a file, one pattern a line, which include if `keeps`. Empty lines and
    /// lines that begin with `#` or `;` are ignored; `+ ` before a pattern includes, `- ` excludes.
    pub fn from_file(file: &Path, keeps: bool) -> Result<Vec<Self>> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Error::io("cannot read patterns", error).path(file))?;
        let lines = text.lines().map(|line| line.trim_end_matches('\r'));
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
        let rule = |line: &str| {
            if let Some(pattern) = line.strip_prefix("+ ") {
                return Self::include(pattern);
            }
            let (pattern, keeps) = match line.strip_prefix("- ") {
                Some(pattern) => (pattern, false),
                None => (line, keeps),
            };
            Self {
                pattern: pattern.to_owned(),
                keeps,
            }
        };
        Ok(lines.map(rule).collect())
    }
}

/// Decides which entries of a source are left out.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    names: Patterns,
    paths: Patterns,
    rules: Vec<Effect>,
    /// Excludes paths, whatever the rules say.
    expressions: Option<RegexSet>,
    /// Excludes paths by each of their names.
    by_name: Vec<NameExpressions>,
    /// The paths that are taken, if not all are.
    only: Option<Arc<OnlyPaths>>,
}

/// The effect of a rule.
#[derive(Debug, Clone, Copy)]
struct Effect {
    keeps: bool,
    for_directories: bool,
}

/// The patterns of one kind, and the rule of each.
#[derive(Debug, Clone, Default)]
struct Patterns {
    globs: GlobSet,
    rules: Vec<usize>,
}

impl Patterns {
    fn new(globs: &GlobSetBuilder, rules: Vec<usize>) -> Result<Self> {
        let globs = globs.build().map_err(|error| {
            Error::invalid("the patterns are too many or too large").because(error)
        })?;
        Ok(Self { globs, rules })
    }

    /// Returns the first rule that matches and applies to the type of the entry.
    fn first(&self, bytes: &[u8], is_dir: bool, rules: &[Effect]) -> Option<usize> {
        if self.globs.is_empty() {
            return None;
        }
        let candidate = Candidate::from_bytes(bytes);
        let matching = self.globs.matches_candidate(&candidate);
        let matching = matching.iter().filter_map(|&glob| self.rules.get(glob));
        let holds = |rule: &usize| {
            let effect = rules.get(*rule);
            effect.is_some_and(|effect| is_dir || !effect.for_directories)
        };
        matching.copied().filter(holds).min()
    }
}

impl Exclude {
    /// Compiles patterns to exclude. Fails with `Invalid` for a malformed pattern.
    pub fn new<P: Into<String>>(patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::from_rules(patterns.into_iter().map(Rule::exclude))
    }

    /// Compiles rules in order of precedence. Fails with `Invalid` for a malformed pattern.
    pub fn from_rules(given: impl IntoIterator<Item = Rule>) -> Result<Self> {
        let mut globs = [GlobSetBuilder::new(), GlobSetBuilder::new()];
        let mut numbers = [Vec::new(), Vec::new()];
        let mut rules = Vec::new();
        for Rule { pattern, keeps } in given {
            let body = pattern.trim_end_matches('/');
            let for_directories = body.len() != pattern.len();
            let for_paths = usize::from(body.contains('/'));
            let body = body.trim_start_matches("./").trim_start_matches('/');
            if body.is_empty() {
                let what = format!("pattern {pattern:?} is empty or matches everything");
                return Err(Error::invalid(what));
            }
            let glob = GlobBuilder::new(body)
                .literal_separator(true)
                .backslash_escape(true)
                .build();
            let glob = glob.map_err(|error| {
                Error::invalid(format!("pattern {pattern:?} is malformed")).because(error)
            })?;
            globs[for_paths].add(glob);
            numbers[for_paths].push(rules.len());
            rules.push(Effect {
                keeps,
                for_directories,
            });
        }
        let ([names, paths], [of_names, of_paths]) = (globs, numbers);
        Ok(Self {
            names: Patterns::new(&names, of_names)?,
            paths: Patterns::new(&paths, of_paths)?,
            rules,
            ..Self::default()
        })
    }

    /// Also excludes paths in which one of these regular expressions matches. Fails with `Invalid`
    /// if one is malformed.
    pub fn with_expressions(mut self, texts: &[String]) -> Result<Self> {
        let built = RegexSetBuilder::new(texts).unicode(false).build();
        let wrong = |error| Error::invalid("no regular expression of paths").because(error);
        let set = built.map_err(wrong)?;
        self.expressions = (!set.is_empty()).then_some(set);
        Ok(self)
    }

    /// Also excludes what expressions with slashes between them match, one for each name: from the
    /// root if they begin with a slash, else at any depth. Fails with `Invalid` if one is
    /// malformed.
    pub fn with_name_expressions(mut self, texts: &[String]) -> Result<Self> {
        let parsed = texts.iter().map(|text| NameExpressions::parse(text));
        self.by_name = parsed.collect::<Result<_>>()?;
        Ok(self)
    }

    /// Takes only these paths and the directories that lead to them, each with everything below it
    /// or by itself; nothing but the root if there are none. Fails with `Invalid` for a path with
    /// `..`.
    pub fn with_only<'p>(
        mut self,
        paths: impl IntoIterator<Item = (&'p [u8], bool)>,
    ) -> Result<Self> {
        let mut only = OnlyPaths::default();
        for (path, with_below) in paths {
            only.add(path, with_below)?;
        }
        self.only = Some(Arc::new(only));
        Ok(self)
    }

    /// Returns whether only listed paths are taken.
    pub fn chooses(&self) -> bool {
        self.only.is_some()
    }

    /// Returns whether no rule excludes anything.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_none()
            && self.by_name.is_empty()
            && self.only.is_none()
            && self.rules.iter().all(|rule| rule.keeps)
    }

    /// Returns whether an entry is excluded; `path` is relative to the root, without a leading
    /// slash.
    pub fn matches(&self, path: &[u8], is_dir: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let is_left = self.only.as_ref().is_some_and(|only| !only.holds(path));
        let set = self.expressions.as_ref();
        if is_left
            || set.is_some_and(|set| set.is_match(path))
            || self.by_name.iter().any(|names| names.matches(path))
        {
            return true;
        }
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let of_name = self.names.first(name, is_dir, &self.rules);
        let of_path = self.paths.first(path, is_dir, &self.rules);
        let first = of_name.into_iter().chain(of_path).min();
        let effect = first.and_then(|first| self.rules.get(first));
        effect.is_some_and(|effect| !effect.keeps)
    }

    /// Returns whether an entry is excluded whatever its type.
    pub fn matches_any(&self, path: &[u8]) -> bool {
        self.matches(path, false) && self.matches(path, true)
    }
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
    fn the_first_rule_that_matches_decides() {
        let left_out = |rules: &[Rule], path: &str, is_dir| {
            let exclude = Exclude::from_rules(rules.iter().cloned()).unwrap();
            exclude.matches(path.as_bytes(), is_dir)
        };
        let rules = [
            Rule::include("/keep/*.o"),
            Rule::exclude("*.o"),
            Rule::include("*/"),
            Rule::include("*.c"),
            Rule::exclude("*"),
        ];
        assert!(!left_out(&rules, "keep/a.o", false));
        assert!(left_out(&rules, "b/a.o", false));
        assert!(left_out(&rules, "b/a.o", true));
        assert!(!left_out(&rules, "b", true));
        assert!(left_out(&rules, "b", false));
        assert!(!left_out(&rules, "b/x.c", false));
        let other = [Rule::exclude("*.o"), Rule::include("/keep/*.o")];
        assert!(left_out(&other, "keep/a.o", false));
        let exclude = Exclude::from_rules(rules).unwrap();
        assert!(exclude.matches_any(b"x.o") && !exclude.matches_any(b"b"));
        assert!(
            Exclude::from_rules([Rule::include("a")])
                .unwrap()
                .is_empty(),
            "nothing is left out"
        );
    }

    #[test]
    fn expressions_match_anywhere_in_a_path() {
        let exclude = Exclude::from_rules([Rule::include("keep.o")]).unwrap();
        let texts = ["\\.o$".to_owned(), "^var/(log|tmp)/".to_owned()];
        let exclude = exclude.with_expressions(&texts).unwrap();
        assert!(!exclude.is_empty());
        for (path, is_excluded) in [
            ("x/keep.o", true),
            ("x.o/y", false),
            ("var/log/x", true),
            ("var/log", false),
            ("x/var/log/x", false),
        ] {
            assert_eq!(
                exclude.matches(path.as_bytes(), false),
                is_excluded,
                "{path}"
            );
        }
        assert!(
            Exclude::default()
                .with_expressions(&["(".to_owned()])
                .is_err()
        );
        assert!(Exclude::default().with_expressions(&[]).unwrap().is_empty());
    }

    #[test]
    fn no_path_is_taken_of_an_empty_list() {
        let exclude = Exclude::default().with_only([]).unwrap();
        assert!(!exclude.is_empty() && exclude.matches_any(b"a"));
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
        let rules = [Rule::exclude("*.o"), Rule::exclude("x/y")];
        assert_eq!(Rule::from_file(&file, false).unwrap(), rules);
        std::fs::write(&file, "a\n+ b\n- c\n").unwrap();
        let rules = [Rule::include("a"), Rule::include("b"), Rule::exclude("c")];
        assert_eq!(Rule::from_file(&file, true).unwrap(), rules);
        assert!(Rule::from_file(&dir.path().join("none"), false).is_err());
    }
}
