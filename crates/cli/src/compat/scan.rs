//! Takes the arguments of another program apart.
//!
//! **Invariant:** an argument that begins with a dash is an option of the program's table, asks for help or the version,
//! or is an error; the value of an option is none of these, whatever it looks like.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use sinterfs::{Error, Result};

use super::table::{Does, Rule, Style, Tool};

/// What the arguments ask for.
#[derive(Debug)]
pub(super) enum Asked {
    /// To do something.
    Work(Said),
    /// To tell what there is.
    Help,
    /// To tell which version this is.
    Version,
}

/// What was said.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Options of ours.
    pub(super) words: Vec<OsString>,
    /// What depends on other options, in order.
    noted: Vec<Noted>,
    /// What is no option.
    pub(super) operands: Vec<OsString>,
}

/// An option that was given, with its value.
#[derive(Debug)]
struct Noted {
    /// The first spelling of its rule, by which it is found.
    name: &'static str,
    /// The spelling that was typed, by which messages call it.
    typed: &'static str,
    value: OsString,
}

impl Said {
    /// Returns whether an option was given.
    pub(super) fn has(&self, spelled: &str) -> bool {
        self.noted.iter().any(|noted| noted.name == spelled)
    }

    /// Returns the values of an option.
    pub(super) fn all(&self, spelled: &str) -> impl Iterator<Item = &OsStr> {
        let noted = self.noted.iter();
        noted.filter_map(move |noted| (noted.name == spelled).then_some(&*noted.value))
    }

    /// Returns the spelling that was typed last of an option, for messages about it.
    pub(super) fn typed(&self, spelled: &'static str) -> &'static str {
        let last = self.noted.iter().rfind(|noted| noted.name == spelled);
        last.map_or(spelled, |noted| noted.typed)
    }

    /// Returns the last value of an option, which has to be text.
    pub(super) fn text(&self, spelled: &'static str) -> Result<Option<&str>> {
        let last = self.all(spelled).last();
        let text = last.map(|value| {
            let typed = self.typed(spelled);
            let wrong = || Error::invalid(format!("{typed}: the value is no text"));
            value.to_str().ok_or_else(wrong)
        });
        text.transpose()
    }

    /// Adds an option of ours with a value.
    pub(super) fn say(&mut self, ours: &str, value: impl AsRef<OsStr>) {
        self.words.push(with_value(ours, value.as_ref()));
    }

    /// Adds a flag of ours, once.
    pub(super) fn flag(&mut self, ours: &str) {
        if !self.words.iter().any(|word| word == ours) {
            self.words.push(ours.into());
        }
    }

    /// Adds an option of ours with a value, in place of one that was given before.
    fn say_last(&mut self, ours: &str, value: &OsStr) {
        let start = with_value(ours, OsStr::new(""));
        let is_same = |word: &OsString| word.as_bytes().starts_with(start.as_bytes());
        self.words.retain(|word| !is_same(word));
        self.say(ours, value);
    }

    /// Takes exactly two operands.
    pub(super) fn two_operands(&mut self, what: &'static str) -> Result<[OsString; 2]> {
        let operands = std::mem::take(&mut self.operands);
        match <[OsString; 2]>::try_from(operands) {
            Ok(two) => Ok(two),
            Err(many) if many.len() > 2 => Err(Error::unsupported(
                "several sources: `sinter merge` puts them into one image",
            )),
            Err(_) => Err(Error::invalid(what)),
        }
    }
}

/// Joins an option and its value.
pub(super) fn with_value(ours: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(ours);
    word.push("=");
    word.push(value);
    word
}

/// Takes arguments apart; what asks for help or the version ends that.
pub(super) fn scan(tool: &Tool, args: Vec<OsString>) -> Result<Asked> {
    let (mut args, mut said) = (VecDeque::from(args), Said::default());
    while let Some(word) = args.pop_front() {
        let bytes = word.as_bytes();
        if !bytes.starts_with(b"-") || bytes == b"-" {
            said.operands.push(word);
            if tool.style == Style::WordsFirst {
                said.operands.extend(args.drain(..));
            }
        } else if bytes == b"--" && tool.style == Style::Getopt {
            said.operands.extend(args.drain(..));
        } else if tool.asks_help(&word) {
            return Ok(Asked::Help);
        } else if tool.asks_version(&word) {
            return Ok(Asked::Version);
        } else {
            let typed = option(tool, &word)?;
            apply(tool, typed, &mut args, &mut said)?;
        }
    }
    Ok(Asked::Work(said))
}

/// An option as it was typed.
struct Typed {
    rule: &'static Rule,
    /// Which of the rule's spellings it was.
    spelled: &'static str,
    /// The value that was written with it, in one argument.
    value: Option<OsString>,
}

/// Finds the rule of an option, and the value that is written with it.
fn option(tool: &Tool, word: &OsStr) -> Result<Typed> {
    let bytes = word.as_bytes();
    let find = |spelled: &[u8]| std::str::from_utf8(spelled).ok().and_then(|s| tool.rule(s));
    if let Some((rule, spelled)) = find(bytes) {
        return Ok(Typed {
            rule,
            spelled,
            value: None,
        });
    }
    if tool.style == Style::Getopt {
        let equals = bytes.iter().position(|&byte| byte == b'=');
        let cut = match bytes.starts_with(b"--") {
            true => equals.map(|at| (at, at + 1)),
            false => Some((2, 2)),
        };
        if let Some((end, start)) = cut
            && let Some((rule, spelled)) = bytes.get(..end).and_then(find)
            && !rule.value.is_empty()
        {
            let value = bytes
                .get(start..)
                .map(|value| OsString::from_vec(value.to_vec()));
            return Ok(Typed {
                rule,
                spelled,
                value,
            });
        }
    }
    let (name, word) = (tool.name, word.to_string_lossy());
    Err(Error::invalid(format!(
        "{name} has no option {word} here; `{name} --help` lists those that it has"
    )))
}

fn apply(tool: &Tool, typed: Typed, args: &mut VecDeque<OsString>, said: &mut Said) -> Result<()> {
    let (rule, spelled) = (typed.rule, typed.spelled);
    let noted = |value| Noted {
        name: rule.spelled[0],
        typed: spelled,
        value,
    };
    if let Does::Refused(why) = rule.does {
        let what = format!("{} {spelled} is not taken: {why}", tool.name);
        return Err(Error::unsupported(what));
    }
    if let Does::NotedRest(_) = rule.does {
        said.noted.extend(args.drain(..).map(noted));
        return Ok(());
    }
    let value = match typed.value {
        None if rule.value.is_empty() || rule.value.starts_with('[') => None,
        None => {
            let missing = || Error::invalid(format!("{spelled} wants a value: {}", rule.value));
            Some(args.pop_front().ok_or_else(missing)?)
        }
        written => written,
    };
    match (rule.does, value) {
        (Does::Same(ours), None) => said.flag(ours),
        (Does::Same(ours), Some(value)) => said.say_last(ours, &value),
        (Does::Noted(_), value) => said.noted.push(noted(value.unwrap_or_default())),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::table::rule;
    use super::*;

    const fn tool(style: Style) -> Tool {
        Tool {
            name: "tool",
            usage: "",
            about: "",
            style,
            help: &["-h"],
            version: &["-V"],
            rules: RULES,
            finish: |said| Ok(said.words),
        }
    }

    const RULES: &[Rule] = &[
        rule(&["-b", "--block"], "SIZE", Does::Same("--block-size")),
        rule(&["-q"], "", Does::Same("--quiet")),
        rule(&["--maybe"], "[=X]", Does::Noted("")),
        rule(&["-e"], "PATH..", Does::NotedRest("")),
        rule(&["-no"], "", Does::Refused("use something else")),
    ];

    fn scanned(style: Style, words: &[&str]) -> Result<Said> {
        match asked(style, words)? {
            Asked::Work(said) => Ok(said),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    fn asked(style: Style, words: &[&str]) -> Result<Asked> {
        scan(&tool(style), words.iter().map(OsString::from).collect())
    }

    #[test]
    fn help_is_asked_for_by_options_and_not_by_values() {
        let help = |style, words: &[&str]| matches!(asked(style, words), Ok(Asked::Help));
        for words in [&["-h"][..], &["x", "-q", "-h"], &["--help", "-x"]] {
            assert!(help(Style::Getopt, words), "{words:?}");
            assert!(help(Style::Words, words), "{words:?}");
        }
        let version = asked(Style::Getopt, &["x", "-V", "-h"]);
        assert!(matches!(version, Ok(Asked::Version)));
        // a wrong option before it is an error
        assert!(asked(Style::Getopt, &["-x", "-h"]).is_err());
        for style in [Style::Getopt, Style::Words] {
            let said = scanned(style, &["-b", "-h", "x"]).unwrap();
            assert_eq!(said.words, ["--block-size=-h"]);
            let said = scanned(style, &["x", "-e", "-h", "-V"]).unwrap();
            assert!(said.all("-e").eq(["-h", "-V"]));
        }
        let said = scanned(Style::Getopt, &["-q", "--", "-h", "-V"]).unwrap();
        assert_eq!(said.operands, ["-h", "-V"]);
        let said = scanned(Style::WordsFirst, &["-q", "x", "-h", "-q"]).unwrap();
        assert_eq!(said.operands, ["x", "-h", "-q"]);
    }

    #[test]
    fn values_stand_behind_options_in_every_way() {
        for words in [
            &["-b", "4k", "x"][..],
            &["-b4k", "x"],
            &["--block=4k", "x"],
            &["x", "--block", "4k"],
        ] {
            let said = scanned(Style::Getopt, words).unwrap();
            assert_eq!(said.words, ["--block-size=4k"], "{words:?}");
            assert_eq!(said.operands, ["x"]);
        }
        let said = scanned(Style::Getopt, &["--maybe", "--maybe=1", "--", "-b"]).unwrap();
        assert!(said.all("--maybe").eq(["", "1"]));
        assert_eq!(said.operands, ["-b"]);
    }

    #[test]
    fn the_last_option_takes_the_rest() {
        let said = scanned(Style::Words, &["in", "out", "-q", "-e", "-b", "x"]).unwrap();
        assert!(said.all("-e").eq(["-b", "x"]));
        assert_eq!((said.words.len(), said.operands.len()), (1, 2));
    }

    #[test]
    fn nothing_is_ignored() {
        for words in [
            &["-x"][..],
            &["-b"],
            &["-q=1"],
            &["-b4k"],
            &["--block=4k"],
            &["-no"],
        ] {
            let said = scanned(Style::Words, words);
            assert!(said.is_err(), "{words:?}");
        }
        let error = scanned(Style::Words, &["-no"]).unwrap_err();
        assert!(error.what().contains("use something else"));
    }
}
