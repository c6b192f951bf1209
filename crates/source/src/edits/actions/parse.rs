//! Parses actions: `ACTION(ARGUMENTS)@EXPRESSION`.
//!
//! Enters text; leaves an `Action`. **Invariant:** what mksquashfs knows and is not done here is
//! refused with what to use instead; what it does not know is an error.

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use sinterfs_model::{Error, FileLayout, FileType, Result};

use super::action::{Action, Effect, Reason};
use super::expression::{Bits, Expression, Junction, Measure, NumberRange};
use crate::edits::definition::AddedXattr;
use crate::transform::Chmod;

/// How deep expressions may be nested.
const DEEPEST: usize = 100;

/// The largest multiple of bytes at which content begins.
const MOST_ALIGNED: u32 = 1 << 30;

/// Finds the numbers of users and groups; names in actions may be either.
pub struct IdsByName<'a> {
    /// Returns the number of a user, or why there is none.
    pub user: &'a dyn Fn(&str) -> std::result::Result<u32, String>,
    /// Returns the number of a group, or why there is none.
    pub group: &'a dyn Fn(&str) -> std::result::Result<u32, String>,
}

impl std::fmt::Debug for IdsByName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdsByName").finish_non_exhaustive()
    }
}

impl Action {
    /// Parses an action.
    ///
    /// # Errors
    /// `Invalid` for a malformed action, `Unsupported` for one that only mksquashfs has.
    pub fn parse(text: &str, ids: &IdsByName<'_>) -> Result<Self> {
        let located = |error: Error| {
            let what = format!("action `{text}`: {}", error.what());
            Error::new(error.kind(), what)
        };
        let mut parser = ActionParser {
            rest: text,
            ids,
            depth: 0,
        };
        let parsed = parser.action();
        let (effect, when) = parsed.map_err(located)?;
        Ok(Self {
            effect,
            when,
            text: text.to_owned(),
        })
    }

    /// Parses a file of actions, one a line: a backslash at the end continues a line, lines that
    /// begin with # are comments.
    pub fn parse_all(text: &str, ids: &IdsByName<'_>) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        let mut joined = String::new();
        for line in text.lines() {
            if joined.is_empty() && line.trim_start().starts_with('#') {
                continue;
            }
            if let Some(begun) = line.strip_suffix('\\') {
                joined += begun;
                continue;
            }
            joined += line;
            let whole = std::mem::take(&mut joined);
            if !whole.trim().is_empty() {
                all.push(Self::parse(whole.trim(), ids)?);
            }
        }
        if joined.is_empty() {
            Ok(all)
        } else {
            Err(Error::invalid("actions end in the middle of one"))
        }
    }
}

struct ActionParser<'a, 'n> {
    rest: &'a str,
    ids: &'a IdsByName<'n>,
    depth: usize,
}

impl<'a> ActionParser<'a, '_> {
    fn action(&mut self) -> Result<(Effect, Expression)> {
        let name = self.word();
        let arguments = self.arguments()?;
        if !self.takes("@") {
            return Err(self.expected("@ and an expression"));
        }
        let effect = self.effect(name, &arguments)?;
        let when = self.expression()?;
        if self.rest.trim().is_empty() {
            Ok((effect, when))
        } else {
            Err(self.expected("&&, || or the end"))
        }
    }

    fn effect(&self, name: &str, arguments: &[String]) -> Result<Effect> {
        let number = |id: &dyn Fn(&str) -> std::result::Result<u32, String>, text: &str| {
            id(text).map_err(Error::invalid)
        };
        let instead = |hint: &str| {
            Err(Error::unsupported(format!(
                "{name} is not done here: {hint}"
            )))
        };
        match (name, arguments) {
            ("exclude", []) => Ok(Effect::Exclude),
            ("prune", []) => Ok(Effect::Prune),
            ("empty", []) => Ok(Effect::Empty(Reason::All)),
            ("empty", [reason]) => Ok(Effect::Empty(match reason.as_str() {
                "excluded" => Reason::Excluded,
                "source" => Reason::Source,
                "all" => Reason::All,
                _ => return Err(Error::invalid("empty takes excluded, source or all")),
            })),
            ("uid", [user]) => Ok(Effect::Owner(number(self.ids.user, user)?)),
            ("gid", [group]) => Ok(Effect::Group(number(self.ids.group, group)?)),
            ("guid", [user, group]) => Ok(Effect::Both(
                number(self.ids.user, user)?,
                number(self.ids.group, group)?,
            )),
            ("chmod", [_, ..]) => Ok(Effect::Chmod(chmod(&arguments.join(","))?)),
            ("uncompressed", []) => Ok(Effect::Uncompressed),
            ("compressed", []) => Ok(Effect::Nothing),
            ("xattrs-exclude", [text]) => regex(text).map(Effect::XattrsExclude),
            ("xattrs-include", [text]) => regex(text).map(Effect::XattrsInclude),
            ("xattrs-add", [text]) => AddedXattr::parse(text.as_bytes()).map(Effect::XattrsAdd),
            ("fragments" | "no-fragments", []) => Ok(Effect::Layout(FileLayout {
                fragments: Some(name == "fragments"),
                ..FileLayout::default()
            })),
            ("tailend" | "no-tailend", []) => Ok(Effect::Layout(FileLayout {
                large_tails: Some(name == "tailend"),
                ..FileLayout::default()
            })),
            ("align", [bytes]) => Ok(Effect::Layout(FileLayout {
                align: Some(alignment(bytes)?),
                ..FileLayout::default()
            })),
            ("fragment", [_]) => {
                instead("tails are put together in the order of files, which -sort sets")
            }
            (
                "exclude" | "prune" | "empty" | "uid" | "gid" | "guid" | "chmod" | "uncompressed"
                | "compressed" | "fragment" | "fragments" | "no-fragments" | "tailend"
                | "no-tailend" | "align" | "xattrs-exclude" | "xattrs-include" | "xattrs-add",
                _,
            ) => Err(Error::invalid(format!(
                "{name} has another number of arguments"
            ))),
            _ => Err(Error::invalid(format!("unknown action {name}"))),
        }
    }

    /// Parses tests with `&&` and `||` between them, from left to right.
    fn expression(&mut self) -> Result<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::limit("expressions are nested too deeply"));
        }
        let first = self.operand()?;
        let mut others = Vec::new();
        loop {
            let junction = if self.takes("&&") {
                Junction::And
            } else if self.takes("||") {
                Junction::Or
            } else {
                break;
            };
            others.push((junction, self.operand()?));
        }
        self.depth -= 1;
        Ok(if others.is_empty() {
            first
        } else {
            Expression::Chain(Box::new(first), others)
        })
    }

    fn operand(&mut self) -> Result<Expression> {
        if self.takes("!") {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(Error::limit("expressions are nested too deeply"));
            }
            let inner = self.operand()?;
            self.depth -= 1;
            return Ok(Expression::Not(Box::new(inner)));
        }
        if self.takes("(") {
            let inner = self.expression()?;
            if self.takes(")") {
                return Ok(inner);
            }
            return Err(self.expected(")"));
        }
        let name = self.word();
        let arguments = self.arguments()?;
        self.test(name, &arguments)
    }

    fn test(&self, name: &str, arguments: &[String]) -> Result<Expression> {
        let inner = |text: &String| {
            let mut parser = ActionParser {
                rest: text,
                ids: self.ids,
                depth: self.depth,
            };
            let parsed = parser.expression()?;
            let rest = parser.rest.trim();
            if rest.is_empty() {
                Ok(Box::new(parsed))
            } else {
                Err(parser.expected("the end of the inner expression"))
            }
        };
        if let Some(measure) = measure(name.strip_suffix("_range").unwrap_or(name)) {
            let range = match (name.ends_with("_range"), arguments) {
                (false, [number]) => range(number)?,
                (true, [least, most]) => NumberRange {
                    least: number(least)?,
                    most: number(most)?,
                },
                _ => {
                    return Err(Error::invalid(format!(
                        "{name} has another number of arguments"
                    )));
                }
            };
            return Ok(Expression::Number(measure, range));
        }
        let exactly = |id: u32| NumberRange {
            least: id.into(),
            most: id.into(),
        };
        match (name, arguments) {
            ("true", []) => Ok(Expression::Constant(true)),
            ("false", []) => Ok(Expression::Constant(false)),
            ("name", [pattern]) => glob(pattern).map(Expression::Name),
            ("pathname", [pattern]) => glob(pattern.trim_matches('/')).map(Expression::Path),
            // a test that mksquashfs does not have
            ("path_regex", [text]) => regex(text).map(Expression::PathHas),
            ("subpathname", [pattern]) => {
                let names = pattern.split('/').filter(|name| !name.is_empty());
                let globs = names.map(glob).collect::<Result<_>>()?;
                Ok(Expression::PathBegins(globs))
            }
            ("user", [user]) => {
                let id = (self.ids.user)(user).map_err(Error::invalid)?;
                Ok(Expression::Number(Measure::Owner, exactly(id)))
            }
            ("group", [group]) => {
                let id = (self.ids.group)(group).map_err(Error::invalid)?;
                Ok(Expression::Number(Measure::Group, exactly(id)))
            }
            ("type", [letter]) => Ok(Expression::Type(match letter.as_str() {
                "f" => FileType::File,
                "d" => FileType::Directory,
                "l" => FileType::Symlink,
                "c" => FileType::CharDevice,
                "b" => FileType::BlockDevice,
                "p" => FileType::Fifo,
                "s" => FileType::Socket,
                _ => return Err(Error::invalid("type takes one of f, d, l, c, b, p and s")),
            })),
            ("perm", [_, ..]) => permissions(&arguments.join(",")),
            ("exists", []) => Ok(Expression::Exists),
            ("absolute", []) => Ok(Expression::Absolute),
            ("readlink", [text]) => inner(text).map(Expression::Readlink),
            ("eval", [path, text]) => Ok(Expression::Eval(path.as_bytes().to_vec(), inner(text)?)),
            ("file" | "inode" | "dirsize" | "fileblocks" | "dirblocks" | "blocks", _)
            | ("inode_range" | "dirsize_range" | "fileblocks_range" | "dirblocks_range", _)
            | ("blocks_range", _) => Err(Error::unsupported(format!(
                "the test {name} is not known here: filesize, name and type are"
            ))),
            _ => Err(Error::invalid(format!(
                "no test {name} takes {} arguments",
                arguments.len()
            ))),
        }
    }

    /// Takes the arguments in brackets; none if there are no brackets.
    fn arguments(&mut self) -> Result<Vec<String>> {
        let mut arguments = Vec::new();
        if !self.takes("(") {
            return Ok(arguments);
        }
        let (mut argument, mut quoted, mut any) = (String::new(), false, false);
        let mut chars = self.rest.char_indices();
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => (quoted, any) = (!quoted, true),
                '\\' if !quoted => argument.extend(chars.next().map(|(_, next)| next)),
                ')' if !quoted => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    if any || !argument.is_empty() || !arguments.is_empty() {
                        arguments.push(argument);
                    }
                    return Ok(arguments);
                }
                ',' if !quoted => arguments.push(std::mem::take(&mut argument)),
                ' ' | '\t' if !quoted => {}
                _ => argument.push(char),
            }
        }
        Err(Error::invalid("a bracket or a quote is not closed"))
    }

    /// Takes a name.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let is_end = |c: char| c.is_whitespace() || "()@,!&|\"".contains(c);
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expected(&self, what: &str) -> Error {
        Error::invalid(format!("expected {what} before `{}`", self.rest.trim()))
    }
}

fn measure(name: &str) -> Option<Measure> {
    Some(match name {
        "filesize" => Measure::FileSize,
        "tailsize" => Measure::TailSize,
        "size" => Measure::Size,
        "nlink" => Measure::Links,
        "uid" => Measure::Owner,
        "gid" => Measure::Group,
        "depth" => Measure::Depth,
        "dircount" => Measure::Entries,
        _ => return None,
    })
}

fn regex(text: &str) -> Result<Regex> {
    let built = RegexBuilder::new(text).unicode(false).build();
    built.map_err(|_| Error::invalid(format!("`{text}` is not a regular expression")))
}

fn glob(pattern: &str) -> Result<GlobMatcher> {
    let is_extended = |two: &[u8]| matches!(two, [b'?' | b'*' | b'+' | b'@' | b'!', b'(']);
    if pattern.as_bytes().windows(2).any(is_extended) {
        let what = format!("`{pattern}`: extended patterns are not supported: combine tests by ||");
        return Err(Error::unsupported(what));
    }
    let built = GlobBuilder::new(&without_braces(pattern))
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    let wrong = |_| Error::invalid(format!("`{pattern}` is not a pattern"));
    built.map(|glob| glob.compile_matcher()).map_err(wrong)
}

/// Escapes braces, which are nothing special in fnmatch: those that are not escaped already, and
/// are not in brackets, where a backslash would be one more character.
fn without_braces(pattern: &str) -> String {
    let mut escaped = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                escaped.push(char);
                escaped.extend(chars.next());
            }
            '[' => {
                escaped.push(char);
                escaped.extend(chars.next_if(|&next| matches!(next, '!' | '^')));
                // the first bracket that closes is one of the characters
                escaped.extend(chars.next());
                for next in chars.by_ref() {
                    escaped.push(next);
                    if next == ']' {
                        break;
                    }
                }
            }
            '{' | '}' => escaped.extend(['\\', char]),
            _ => escaped.push(char),
        }
    }
    escaped
}

fn chmod(text: &str) -> Result<Chmod> {
    match u16::from_str_radix(text, 8) {
        // five digits set all bits, set-id bits of directories among them
        Ok(bits) => format!("{bits:05o}").parse(),
        Err(_) => text.parse(),
    }
}

fn permissions(text: &str) -> Result<Expression> {
    let (bits, mode) = match text.split_at_checked(1) {
        Some(("-", mode)) => (Bits::All, mode),
        Some(("/", mode)) => (Bits::Any, mode),
        _ => (Bits::Exactly, text),
    };
    let mode = chmod(mode)?.apply(0, false);
    Ok(Expression::Permissions(bits, mode))
}

/// Parses a number with a comparison in front.
fn range(text: &str) -> Result<NumberRange> {
    let compared = |prefixes: &[&str]| prefixes.iter().find_map(|one| text.strip_prefix(one));
    let (least, most) = if let Some(rest) = compared(&["<=", "-="]) {
        (0, number(rest)?)
    } else if let Some(rest) = compared(&[">=", "+="]) {
        (number(rest)?, u64::MAX)
    } else if let Some(rest) = compared(&["<", "-"]) {
        let number = number(rest)?;
        match number.checked_sub(1) {
            Some(most) => (0, most),
            // nothing is less than 0
            None => (1, 0),
        }
    } else if let Some(rest) = compared(&[">", "+"]) {
        (number(rest)?.saturating_add(1), u64::MAX)
    } else {
        (number(text)?, number(text)?)
    };
    Ok(NumberRange { least, most })
}

/// Parses the multiple of bytes at which content begins.
fn alignment(text: &str) -> Result<u32> {
    let bytes = u32::try_from(number(text)?).ok();
    let bytes = bytes.filter(|bytes| bytes.is_power_of_two() && *bytes <= MOST_ALIGNED);
    bytes.ok_or_else(|| Error::invalid("align takes a power of two, up to 1G"))
}

fn number(text: &str) -> Result<u64> {
    let wrong = || Error::invalid(format!("`{text}` is not a number"));
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (text.get(..at), 10),
        Some((at, 'm' | 'M')) => (text.get(..at), 20),
        Some((at, 'g' | 'G')) => (text.get(..at), 30),
        _ => (Some(text), 0),
    };
    let number: Option<u64> = digits.and_then(|digits| digits.parse().ok());
    let number = number.and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Action> {
        let id = |text: &str| match text {
            "root" => Ok(0),
            _ => text.parse().map_err(|_| format!("no `{text}`")),
        };
        let ids = IdsByName {
            user: &id,
            group: &id,
        };
        Action::parse(text, &ids)
    }

    #[test]
    fn actions_are_parsed() {
        for text in [
            "exclude@true",
            "exclude()@name(\"a b\")",
            "prune @ ( name(*.[ch]) && !type(d) ) || depth(>3)",
            "empty(excluded)@true",
            "guid(root,7)@perm(-u=w,g=w)",
            "chmod(u+r,go-w)@size(<=20K)",
            "chmod(0644)@filesize_range(1,2M)",
            "uid(5)@eval(..,\"name(*linux*)\")",
            "uid(5)@readlink(\"depth(1) && filesize(<20K)\")",
            "exclude@name(file\\ name\\ with\\ \\&&)",
            "xattrs-add(user.a=0x41)@true",
            "align(4K)@true",
            "no-tailend@true",
            "uncompressed@path_regex(\"^/usr/.*\\.c$\")",
        ] {
            assert!(parsed(text).is_ok(), "{text}: {:?}", parsed(text).err());
        }
        for (text, hint) in [
            ("foo@true", "unknown action foo"),
            ("uid(1)@nothing(3)", "no test nothing"),
            ("uid(1)", "expected @"),
            ("uid(nobody)@true", "no `nobody`"),
            ("exclude@(true", "expected )"),
            ("exclude@name(a", "not closed"),
            ("exclude@true true", "expected &&"),
            ("align(3)@true", "power of two"),
            ("align(2G)@true", "power of two"),
            ("tailend(1)@true", "number of arguments"),
            ("fragment(boot)@true", "-sort"),
            ("exclude@file(ASCII)", "filesize"),
            ("exclude@name(+(a|b))", "extended"),
            ("exclude@size(x)", "not a number"),
        ] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(
                error.contains(hint) && error.contains(text),
                "{text}: {error}"
            );
        }
        let long = format!("exclude@false{}", " || true && false".repeat(200_000));
        assert!(parsed(&long).is_ok_and(|action| format!("{:?}", action.clone()).len() > 1000));
        let deep = format!("exclude@{}true", "!".repeat(10_000));
        assert!(parsed(&deep).is_err());
        let deep = format!("exclude@{}true", "(".repeat(10_000));
        assert!(parsed(&deep).is_err());
    }

    #[test]
    fn braces_are_characters() {
        for (pattern, name, matches) in [
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("\\{a,b\\}", "{a,b}", true),
            ("\\{a,b\\}", "\\a", false),
            ("x[{}]", "x{", true),
            ("x[{}]", "x\\", false),
            ("[]{]}", "]}", true),
            ("[!{]*{", "a{", true),
        ] {
            assert_eq!(
                glob(pattern).unwrap().is_match(name),
                matches,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn numbers_are_compared() {
        let bounds = |text: &str| range(text).map(|range| (range.least, range.most));
        assert_eq!(bounds("80K").unwrap(), (81_920, 81_920));
        assert_eq!(bounds("<80K").unwrap(), bounds("-81920").unwrap());
        assert_eq!(bounds(">=1m").unwrap(), (1 << 20, u64::MAX));
        assert_eq!(bounds("+3").unwrap(), (4, u64::MAX));
        assert_eq!(bounds("<0").unwrap(), (1, 0));
        assert!(bounds("99999999999G").is_err() && bounds("").is_err());
    }
}
