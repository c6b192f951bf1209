//! Translates regular expressions of file contexts from PCRE to the `regex` crate.
//!
//! Enters an expression; leaves a matcher of whole paths, and the literal prefix of all matches.
//! Spec: pcre2pattern(3), of which policies use little: literals, `.`, classes, groups,
//! alternatives, repetitions.
//! **Invariant:** an expression has its PCRE meaning with DOTALL, byte by byte, or is refused; no
//! construct whose meaning differs is passed on. `|` outside of parentheses is refused, since
//! libselinux' anchors do not apply to both of its sides.

use regex::bytes::{Regex, RegexBuilder};
use sinterfs_model::{Error, Result};

/// Escapes of letters that mean the same in both dialects.
const SHARED: &[u8] = b"dDwWsSbBAzntrfa";

/// Classes with names that mean the same in both dialects.
const CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// A parsed expression.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// The literal prefix of all matching paths.
    pub(super) prefix: Vec<u8>,
    /// Whether there is no meta character by the rules of libselinux.
    pub(super) is_exact: bool,
    /// `None` if the prefix is the whole expression.
    regex: Option<Regex>,
}

impl Pattern {
    /// Parses an expression.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut translator = Translator::new(text.as_bytes());
        translator.translate()?;
        let Translator {
            out,
            prefix,
            is_exact,
            is_literal,
            ..
        } = translator;
        let regex = if is_literal {
            None
        } else {
            Some(compile(&out)?)
        };
        Ok(Self {
            prefix,
            is_exact,
            regex,
        })
    }

    /// Returns whether it matches a path that begins with the prefix.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(path),
            None => path.len() == self.prefix.len(),
        }
    }
}

fn compile(text: &str) -> Result<Regex> {
    let anchored = format!("^(?:{text})$");
    let built = RegexBuilder::new(&anchored)
        .unicode(false)
        .dot_matches_new_line(true)
        .build();
    built.map_err(|error| {
        // the library's message repeats the expression, with a mark below it
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        Error::unsupported(last.trim_start_matches("error: ").to_owned())
    })
}

/// The state of translating an expression.
struct Translator<'a> {
    rest: &'a [u8],
    out: String,
    prefix: Vec<u8>,
    is_exact: bool,
    /// Whether only literal bytes were seen so far.
    is_literal: bool,
    /// The number of open groups.
    depth: u32,
    /// Whether a repetition may follow.
    repeats: bool,
}

impl<'a> Translator<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            rest: text,
            out: String::new(),
            prefix: Vec::new(),
            is_exact: true,
            is_literal: true,
            depth: 0,
            repeats: false,
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn translate(&mut self) -> Result<()> {
        while let Some(byte) = self.next() {
            if b".^$?*+|[({".contains(&byte) {
                self.is_exact = false;
            }
            match byte {
                b'\\' => self.escape(false)?,
                b'[' => self.class()?,
                b'(' => self.group()?,
                b')' => {
                    let open = self.depth.checked_sub(1);
                    self.depth = open.ok_or_else(|| Error::invalid("`)` without `(`"))?;
                    self.meta(")", true);
                }
                b'|' if self.depth == 0 => {
                    let what = "`|` outside of parentheses: what it means differs between versions \
                                of libselinux; put both sides into ( )";
                    return Err(Error::unsupported(what));
                }
                b'|' => self.meta("|", false),
                b'.' => self.meta(".", true),
                b'^' => self.meta("^", false),
                b'$' => self.meta("$", false),
                b'*' | b'+' | b'?' => self.repetition(&char::from(byte).to_string())?,
                b'{' => match self.bounds() {
                    Some(bounds) => self.repetition(&bounds)?,
                    // PCRE treats anything but a repetition as literal
                    None => self.literal(byte),
                },
                _ => self.literal(byte),
            }
        }
        match self.depth {
            0 => Ok(()),
            _ => Err(Error::invalid("`(` without `)`")),
        }
    }

    /// Appends a construct that is not a literal byte.
    fn meta(&mut self, text: &str, repeats: bool) {
        self.out.push_str(text);
        (self.is_literal, self.repeats) = (false, repeats);
    }

    fn literal(&mut self, byte: u8) {
        push_literal(&mut self.out, byte);
        if self.is_literal {
            self.prefix.push(byte);
        }
        self.repeats = true;
    }

    /// Translates an escape, within a class or outside.
    fn escape(&mut self, in_class: bool) -> Result<()> {
        let ends = || Error::invalid("a backslash ends it");
        let byte = self.next().ok_or_else(ends)?;
        let is_shared = SHARED.contains(&byte) && !(in_class && b"bBAz".contains(&byte));
        match byte {
            b'x' => {
                let digits = self.rest.get(..2).unwrap_or_default();
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                let number = u8::from_str_radix(digits, 16).ok();
                let number = number.filter(|_| digits.len() == 2);
                let wrong = || Error::unsupported("`\\x` without two digits");
                let number = number.ok_or_else(wrong)?;
                self.rest = self.rest.get(2..).unwrap_or_default();
                if in_class {
                    push_literal(&mut self.out, number);
                } else {
                    self.literal(number);
                }
            }
            byte if is_shared => {
                let repeats = !b"bBAz".contains(&byte);
                self.meta(&format!("\\{}", char::from(byte)), repeats);
            }
            byte if byte.is_ascii_alphanumeric() => {
                let what = format!("`\\{}` is not known", char::from(byte));
                return Err(Error::unsupported(what));
            }
            byte if in_class => push_literal(&mut self.out, byte),
            byte => self.literal(byte),
        }
        Ok(())
    }

    fn group(&mut self) -> Result<()> {
        if let Some(rest) = self.rest.strip_prefix(b"?") {
            let Some(rest) = rest.strip_prefix(b":") else {
                let what = "of groups that begin with `(?` only `(?:` is supported";
                return Err(Error::unsupported(what));
            };
            self.rest = rest;
        } else if self.rest.starts_with(b"*") {
            return Err(Error::unsupported(
                "verbs such as `(*...)` are not supported",
            ));
        }
        self.depth += 1;
        self.meta("(?:", false);
        Ok(())
    }

    /// Takes `N}`, `N,}` or `N,M}`; takes nothing otherwise.
    fn bounds(&mut self) -> Option<String> {
        let end = self.rest.iter().position(|&byte| byte == b'}')?;
        let within = std::str::from_utf8(self.rest.get(..end)?).ok()?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let fits = match within.split_once(',') {
            None => is_number(within),
            Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        };
        let rest = self.rest.get(end + 1..)?;
        fits.then(|| {
            self.rest = rest;
            format!("{{{within}}}")
        })
    }

    fn repetition(&mut self, text: &str) -> Result<()> {
        if !self.repeats {
            return Err(Error::invalid(format!("`{text}` has nothing to repeat")));
        }
        if self.is_literal {
            // the repeated byte may be absent
            self.prefix.pop();
        }
        self.meta(text, false);
        match self.rest.first() {
            // greedy or lazy does not matter if the whole path has to match
            Some(b'?') => self.rest = self.rest.get(1..).unwrap_or_default(),
            Some(b'+') => {
                let what = format!("`{text}+`, a possessive repetition, is not supported");
                return Err(Error::unsupported(what));
            }
            _ => {}
        }
        Ok(())
    }

    /// Translates a class; bytes that are special within brackets in one dialect only are escaped.
    fn class(&mut self) -> Result<()> {
        let ends = || Error::invalid("`[` without `]`");
        self.meta("[", true);
        if let Some(rest) = self.rest.strip_prefix(b"^") {
            self.rest = rest;
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            let byte = self.next().ok_or_else(ends)?;
            match byte {
                b']' if !is_first => break,
                b'\\' => self.escape(true)?,
                b'[' if self.rest.starts_with(b":") => self.named_class()?,
                b'[' if self.rest.starts_with(b".") || self.rest.starts_with(b"=") => {
                    return Err(Error::unsupported("`[.` and `[=` are not supported"));
                }
                // a range between two bytes, a literal elsewhere
                b'-' if !is_first && !self.rest.starts_with(b"]") => {
                    self.out.push('-');
                    match self.next().ok_or_else(ends)? {
                        b'\\' => self.escape(true)?,
                        byte => push_literal(&mut self.out, byte),
                    }
                }
                byte => push_literal(&mut self.out, byte),
            }
            is_first = false;
        }
        self.out.push(']');
        Ok(())
    }

    fn named_class(&mut self) -> Result<()> {
        let end = self.rest.windows(2).position(|two| two == b":]");
        let name = end.and_then(|end| self.rest.get(1..end));
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        let name = name.ok_or_else(|| Error::invalid("`[:` without `:]`"))?;
        if !CLASSES.contains(&name.trim_start_matches('^')) {
            return Err(Error::invalid(format!("unknown class `[:{name}:]`")));
        }
        self.out.push_str(&format!("[:{name}:]"));
        self.rest = self.rest.get(name.len() + 3..).unwrap_or_default();
        Ok(())
    }
}

/// Appends a literal byte.
fn push_literal(out: &mut String, byte: u8) {
    match byte {
        byte if byte.is_ascii_alphanumeric() || b"/_".contains(&byte) => {
            out.push(char::from(byte));
        }
        byte => out.push_str(&format!("\\x{byte:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let pattern = Pattern::parse(pattern).unwrap();
        path.as_bytes().starts_with(&pattern.prefix) && pattern.matches(path.as_bytes())
    }

    #[test]
    fn prefixes() {
        for (text, prefix, is_exact) in [
            ("/etc/a", "/etc/a", true),
            ("/etc/a\\.conf", "/etc/a.conf", true),
            ("/lib(64)?/x", "/lib", false),
            ("/libs?/x", "/lib", false),
            ("/lib+", "/li", false),
            ("/a{2}", "/", false),
            ("/a{x}", "/a{x}", false),
            ("/a\\d", "/a", true),
            (".*", "", false),
        ] {
            let pattern = Pattern::parse(text).unwrap();
            assert_eq!(pattern.prefix, prefix.as_bytes(), "{text}");
            assert_eq!(pattern.is_exact, is_exact, "{text}");
        }
    }

    #[test]
    fn whole_paths_match() {
        for (pattern, yes, no) in [
            ("/a", "/a", "/a/b"),
            ("/a\\.b", "/a.b", "/axb"),
            ("/a(/.*)?", "/a/b\nc", "/ab"),
            ("/a(/.*)?", "/a", "/b"),
            ("/a{x}", "/a{x}", "/ax"),
            ("/a{2,}", "/aaa", "/a"),
            ("/[]a]", "/]", "/b"),
            ("/[^]a]", "/b", "/]"),
            ("/[[&&a]", "/[", "/b"),
            ("/[a-c-]", "/-", "/d"),
            ("/[+--]", "/,", "/."),
            ("/[[:digit:]x]+", "/1x2", "/y"),
            ("/[^/]+", "/\\", "/a/b"),
            ("/[\\]\\-]+", "/]-", "/\\"),
            ("/(?:a|b)c", "/bc", "/b"),
            ("/\\x41\\<", "/A<", "/A"),
            ("/a~b#c", "/a~b#c", "/a"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes}");
            assert!(!matches(pattern, no), "{pattern} {no}");
        }
    }

    #[test]
    fn what_means_something_else_is_refused() {
        for text in [
            "/a|/b",
            "/(?!a).*",
            "/(a)\\1",
            "/a*+",
            "/a**",
            "/(*F)",
            "/[a",
            "/(a",
            "/a)",
            "/a\\",
            "/\\Qa\\E",
            "/*?*",
            "*",
            "/(?i)a",
            "/[[.a.]]",
            "/[[:no:]]",
            "/\\x4",
            "/[b-a]",
            "/a{9999999}",
        ] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }
}
