//! Paths with patterns, as unsquashfs takes them: fnmatch(3) or regular expressions, name by name.
//!
//! Enters paths as they were typed; leaves whether a path of an image is wanted. **Invariant:** a
//! pattern never matches a slash, and of fnmatch a dot at the beginning of a name only where it has
//! one, too (POSIX.1-2017, XCU 2.13.3); an expression is looked for anywhere in a name.

use std::ffi::OsString;

use globset::{Candidate, GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use sinterfs::platform::names;
use sinterfs::{Error, Result};

/// How names of paths are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum NameForm {
    /// Patterns of fnmatch(3).
    #[default]
    Globs,
    /// Regular expressions.
    Expressions,
    /// The names themselves.
    Literal,
}

/// The selected paths; everything for no path.
#[derive(Debug)]
pub struct Wanted(Vec<Vec<NamePattern>>);

/// One name of a path.
#[derive(Debug)]
enum NamePattern {
    Literal(Vec<u8>),
    Pattern { of: GlobMatcher, has_dot: bool },
    Expression(Regex),
}

impl Wanted {
    /// Parses paths; fails for the extended patterns of shells, for patterns that are not UTF-8,
    /// and for what is not a regular expression.
    pub fn new(paths: &[OsString], how: NameForm) -> Result<Self> {
        let names = |path: &OsString| {
            let path = names::bytes(path);
            let names = path.split(|&byte| byte == b'/');
            let names = names.filter(|name| !name.is_empty());
            let parsed = names.map(|name| NamePattern::new(name, how));
            parsed.collect::<Result<Vec<_>>>()
        };
        Ok(Self(paths.iter().map(names).collect::<Result<_>>()?))
    }

    /// Returns whether a path is selected, below a selected one, or a directory on the way to one.
    pub fn holds(&self, path: &[u8], is_directory: bool) -> bool {
        let leads_to = |names: &Vec<NamePattern>| {
            let mut parts = path.split(|&byte| byte == b'/');
            let mut names = names.iter();
            loop {
                match (names.next(), parts.next()) {
                    (None, _) => return true,
                    (Some(_), None) => return is_directory,
                    (Some(name), Some(part)) if name.matches(part) => {}
                    _ => return false,
                }
            }
        };
        self.0.is_empty() || self.0.iter().any(leads_to)
    }

    /// Returns whether a path is on the way to a selected one.
    pub fn lead_below(&self, path: &[u8]) -> bool {
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        self.0.iter().any(|names| {
            let mut both = names.iter().zip(&parts);
            names.len() > parts.len() && both.all(|(name, part)| name.matches(part))
        })
    }

    /// Returns the position of the first path that one of an image matches as a whole.
    pub fn position(&self, path: &[u8]) -> Option<usize> {
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        self.0.iter().position(|names| {
            let mut both = names.iter().zip(&parts);
            names.len() == parts.len() && both.all(|(name, part)| name.matches(part))
        })
    }
}

impl NamePattern {
    fn new(typed: &[u8], how: NameForm) -> Result<Self> {
        let literal = || Ok(Self::Literal(typed.to_vec()));
        if how == NameForm::Literal {
            return literal();
        }
        if how == NameForm::Expressions {
            let text = String::from_utf8_lossy(typed);
            let built = RegexBuilder::new(&text).unicode(false).build();
            let wrong = |_| Error::invalid(format!("`{text}` is not a regular expression"));
            return built.map(Self::Expression).map_err(wrong);
        }
        if !typed.iter().any(|byte| b"*?[\\".contains(byte)) {
            return literal();
        }
        let is_extended = |two: &[u8]| matches!(two, [b'?' | b'*' | b'+' | b'@' | b'!', b'(']);
        if typed.windows(2).any(is_extended) {
            let what = "extended patterns are not supported; give one path for each alternative";
            return Err(Error::unsupported(what).path(names::path(typed)));
        }
        // braces are nothing special in fnmatch
        let mut escaped = Vec::with_capacity(typed.len());
        for &byte in typed {
            if b"{}".contains(&byte) && escaped.last() != Some(&b'\\') {
                escaped.push(b'\\');
            }
            escaped.push(byte);
        }
        let text = names::os_string(escaped).into_string();
        let text = text.map_err(|text| Error::invalid("a pattern has to be UTF-8").path(text))?;
        // text that is not a pattern, such as an unclosed bracket, is literal
        let Ok(glob) = GlobBuilder::new(&text).backslash_escape(true).build() else {
            return literal();
        };
        Ok(Self::Pattern {
            of: glob.compile_matcher(),
            has_dot: text.trim_start_matches('\\').starts_with('.'),
        })
    }

    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Literal(literal) => literal == name,
            Self::Expression(expression) => expression.is_match(name),
            Self::Pattern { of, has_dot } => {
                let is_shown = *has_dot || !name.starts_with(b".");
                is_shown && of.is_match_candidate(&Candidate::from_bytes(name))
            }
        }
    }
}

/// Returns the glob that matches one path below the source and nothing else.
pub fn literal_pattern(path: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::from(b"/");
    for &byte in path {
        if b"\\*?[]{}!".contains(&byte) {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(paths: &[&str], path: &str, is_directory: bool) -> bool {
        let paths: Vec<_> = paths.iter().map(OsString::from).collect();
        Wanted::new(&paths, NameForm::Globs)
            .unwrap()
            .holds(&names::bytes(path), is_directory)
    }

    #[test]
    fn names_match_as_in_fnmatch() {
        for (pattern, name, expected) in [
            ("a*", "a", true),
            ("a*", "ba", false),
            ("*", ".a", false),
            (".*", ".a", true),
            ("\\.a*", ".ab", true),
            ("a[b-d]", "ac", true),
            ("a[!b]", "ab", false),
            ("a[b]", "a[b]", false),
            ("a\\[b]", "a[b]", true),
            ("a[b", "a[b", true),
            ("{a,b}*", "a", false),
            ("{a,b}*", "{a,b}c", true),
            ("**", "a", true),
        ] {
            assert_eq!(holds(&[pattern], name, false), expected, "{pattern} {name}");
        }
        let globs = |path: OsString| Wanted::new(&[path], NameForm::Globs);
        assert!(globs("a+(b)*".into()).is_err());
        assert!(globs(names::os_string(b"\xff*".to_vec())).is_err());
    }

    #[test]
    fn names_are_expressions_or_themselves_if_asked() {
        let wanted = |path: &str, how| Wanted::new(&[path.into()], how).unwrap();
        let expressions = wanted("^a/b.$", NameForm::Expressions);
        assert_eq!(expressions.position(b"ab/xbc"), Some(0));
        assert_eq!(expressions.position(b"ab/xb"), None);
        assert!(expressions.holds(b"a", true) && expressions.holds(b"a/bb/c", false));
        assert!(Wanted::new(&["(".into()], NameForm::Expressions).is_err());
        let literal = wanted("/a*/b[c]", NameForm::Literal);
        assert_eq!(literal.position(b"a*/b[c]"), Some(0));
        assert!(!literal.holds(b"ab/bc", false));
    }

    #[test]
    fn directories_lead_to_paths_and_hold_what_was_asked_for() {
        for (path, is_directory, expected) in [
            ("a", true, true),
            ("a", false, false),
            ("a/b", false, true),
            ("a/b/c/d", false, true),
            ("a/c", true, false),
            ("b", true, false),
            ("c", false, true),
        ] {
            assert_eq!(
                holds(&["/a//b/", "c"], path, is_directory),
                expected,
                "{path}"
            );
        }
        assert!(holds(&[], "a", false) && holds(&["/"], "a/b", false));
        assert!(!holds(&["./a"], "a", true));
    }
}
