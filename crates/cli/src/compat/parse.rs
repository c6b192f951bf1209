//! Parses the command line of another program by its table of rules.
//!
//! **Invariant:** an argument that begins with a dash is an option of the table, a request for help
//! or the version, or an error. The value of an option is never taken for an option itself.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::parsed::{Parsed, Typed};
use super::table::{Meaning, Rule, Style, Tool};

/// The request of a command line.
#[derive(Debug)]
pub(super) enum Request {
    /// To run a command with these options.
    Run(Parsed),
    /// To print the help.
    Help,
    /// To print the version.
    Version,
}

/// Parses arguments; the first one that asks for help or the version decides.
pub(super) fn parse(tool: &Tool, args: Vec<OsString>) -> Result<Request> {
    let (mut args, mut parsed) = (VecDeque::from(args), Parsed::default());
    while let Some(word) = args.pop_front() {
        let bytes = word.as_encoded_bytes();
        if !bytes.starts_with(b"-") || bytes == b"-" {
            parsed.operands.push(word);
            if tool.style == Style::WordsFirst {
                parsed.operands.extend(args.drain(..));
            }
        } else if bytes == b"--" && tool.style == Style::Getopt {
            parsed.operands.extend(args.drain(..));
        } else if tool.asks_help(&word) {
            return Ok(Request::Help);
        } else if tool.asks_version(&word) {
            return Ok(Request::Version);
        } else if let Some([first, rest]) = first_of_group(tool, &word) {
            args.push_front(rest);
            args.push_front(first);
        } else {
            let found = find(tool, &word)?;
            apply(tool, found, &mut args, &mut parsed)?;
        }
    }
    Ok(Request::Run(parsed))
}

/// Takes the first letter off a group of options without values, as in `-qT`; `None` for what is no
/// group, and if the next letter is no option either.
fn first_of_group(tool: &Tool, word: &OsStr) -> Option<[OsString; 2]> {
    let text = word.to_str()?;
    let letters = text
        .strip_prefix('-')
        .filter(|_| tool.style == Style::Getopt)?;
    if letters.starts_with('-') || tool.rule(text).is_some() {
        return None;
    }
    let mut letters = letters.chars();
    let option = |letter: char| format!("-{letter}");
    let (first, next) = (option(letters.next()?), option(letters.next()?));
    let (rule, _) = tool.rule(&first)?;
    let asks = |word: &str| tool.asks_help(word.as_ref()) || tool.asks_version(word.as_ref());
    let is_option = tool.rule(&next).is_some() || asks(&next);
    let rest = format!("-{}", text.get(2..)?);
    (rule.value_name.is_empty() && is_option).then(|| [first.into(), rest.into()])
}

/// An option that was found in the table.
struct Found {
    rule: &'static Rule,
    /// The spelling of the rule that was typed.
    spelling: &'static str,
    /// The value, if it was in the same argument.
    value: Option<OsString>,
}

/// Finds the rule of an argument; fails if the table has none.
fn find(tool: &Tool, word: &OsStr) -> Result<Found> {
    let bytes = word.as_encoded_bytes();
    let lookup = |spelling: &[u8]| {
        let spelling = std::str::from_utf8(spelling).ok();
        spelling.and_then(|spelling| tool.rule(spelling))
    };
    if let Some((rule, spelling)) = lookup(bytes) {
        return Ok(Found {
            rule,
            spelling,
            value: None,
        });
    }
    let is_long = bytes.starts_with(b"--");
    if tool.style == Style::Getopt || is_long {
        if tool.style == Style::Getopt
            && let Some(found) = abbreviated(tool, bytes)?
        {
            return Ok(found);
        }
        // where the name ends and where the value begins
        let cut = if is_long {
            let equals = bytes.iter().position(|&byte| byte == b'=');
            equals.map(|at| (at, at + 1))
        } else {
            Some((2, 2))
        };
        let is_taken = |rule: &Rule| match tool.style {
            Style::Getopt => !rule.value_name.is_empty(),
            // only `--name=VALUE`
            Style::Words | Style::WordsFirst => rule.value_name.starts_with('='),
        };
        if let Some((end, start)) = cut
            && let Some((rule, spelling)) = bytes.get(..end).and_then(lookup)
            && is_taken(rule)
        {
            let value = bytes.get(start..);
            return Ok(Found {
                rule,
                spelling,
                value: value.map(|value| names::os_string(value.to_vec())),
            });
        }
    }
    let (name, word) = (tool.name, word.to_string_lossy());
    Err(Error::invalid(format!(
        "{name} has no option {word} here; `{name} --help` lists the options it has"
    )))
}

/// Finds the option whose name begins like this, as getopt_long does; fails if several do.
fn abbreviated(tool: &Tool, word: &[u8]) -> Result<Option<Found>> {
    let Some((name, value)) = std::str::from_utf8(word)
        .ok()
        .filter(|text| text.starts_with("--") && text.len() > 2)
        .map(|text| {
            text.split_once('=')
                .map_or((text, None), |(a, b)| (a, Some(b)))
        })
    else {
        return Ok(None);
    };
    if tool.rule(name).is_some() {
        return Ok(None);
    }
    let mut found: Vec<(&'static Rule, &'static str)> = Vec::new();
    for rule in tool.all_rules() {
        let mut spellings = rule.spellings.iter();
        let spelling = spellings.find(|spelling| spelling.starts_with(name));
        found.extend(spelling.map(|spelling| (rule, *spelling)));
    }
    match found[..] {
        [] => Ok(None),
        [(rule, spelling)] if value.is_none() || !rule.value_name.is_empty() => Ok(Some(Found {
            rule,
            spelling,
            value: value.map(OsString::from),
        })),
        [_] => Ok(None),
        _ => {
            let all: Vec<&str> = found.iter().map(|(_, spelling)| *spelling).collect();
            let (tool, all) = (tool.name, all.join(", "));
            Err(Error::invalid(format!("{tool} {name} may be any of {all}")))
        }
    }
}

/// Adds a parsed option, with its value from the following arguments.
fn apply(
    tool: &Tool,
    found: Found,
    args: &mut VecDeque<OsString>,
    parsed: &mut Parsed,
) -> Result<()> {
    let Found { rule, spelling, .. } = found;
    let name = rule.spellings[0];
    let becomes = match rule.meaning {
        Meaning::Refused(hint) => {
            let what = format!("{} {spelling} is not supported: {hint}", tool.name);
            return Err(Error::unsupported(what));
        }
        Meaning::CombinedRest(becomes) => {
            parsed.typed.push(Typed { spelling, becomes });
            args.drain(..)
                .for_each(|value| parsed.record(name, spelling, value));
            return Ok(());
        }
        Meaning::CombinedList(becomes) => {
            parsed.typed.push(Typed { spelling, becomes });
            let end = args.iter().position(|word| word == ";");
            let end = end.ok_or_else(|| {
                Error::invalid(format!("{spelling}: the list has no end: `;` ends it"))
            })?;
            for value in args.drain(..end) {
                parsed.record(name, spelling, value);
            }
            args.pop_front();
            return Ok(());
        }
        Meaning::Noted(why) => {
            let note = format!("{} {spelling} has no effect here: {why}", tool.name);
            parsed.notes.borrow_mut().push(note);
            ""
        }
        Meaning::Same(becomes)
        | Meaning::Each(becomes)
        | Meaning::Combined(becomes)
        | Meaning::Already(becomes) => becomes,
    };
    parsed.typed.push(Typed { spelling, becomes });
    let mut value = match found.value {
        None if rule.value_name.is_empty() || rule.value_name.starts_with('[') => None,
        None => {
            let value_name = rule.value_name;
            let missing = || Error::invalid(format!("{spelling} needs a value: {value_name}"));
            Some(args.pop_front().ok_or_else(missing)?)
        }
        value => value,
    };
    if let (Meaning::Combined(_) | Meaning::Noted(_), Some(value)) = (rule.meaning, &mut value) {
        // an option of several values, which are recorded one after the other
        for more in rule.value_name.split(' ').skip(1) {
            let missing = || Error::invalid(format!("{spelling} needs a value: {more}"));
            let next = args.pop_front().ok_or_else(missing)?;
            parsed.record(name, spelling, std::mem::replace(value, next));
        }
    }
    match (rule.meaning, value) {
        (Meaning::Same(ours), None) => parsed.push_flag(ours),
        (Meaning::Same(ours), Some(value)) => parsed.replace(ours, &value),
        (Meaning::Each(ours), Some(value)) => parsed.push(ours, value),
        (Meaning::Combined(_), value) => parsed.record(name, spelling, value.unwrap_or_default()),
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
            rules: &[RULES],
            translate: |parsed| Ok(parsed.translated),
        }
    }

    const RULES: &[Rule] = &[
        rule(&["-b", "--block"], "SIZE", Meaning::Same("--block-size")),
        rule(&["-q"], "", Meaning::Same("--quiet")),
        rule(&["--maybe"], "[=X]", Meaning::Combined("")),
        rule(&["--each"], "X", Meaning::Each("--also")),
        rule(&["-e"], "PATH..", Meaning::CombinedRest("")),
        rule(&["-ex"], "PATH.. ;", Meaning::CombinedList("")),
        rule(&["-no"], "", Meaning::Refused("use something else")),
        rule(&["-fast"], "N", Meaning::Noted("it is as fast as it is")),
    ];

    fn parsed_options(style: Style, words: &[&str]) -> Result<Parsed> {
        match request(style, words)? {
            Request::Run(parsed) => Ok(parsed),
            other => panic!("{words:?}: {other:?}"),
        }
    }

    fn request(style: Style, words: &[&str]) -> Result<Request> {
        parse(&tool(style), words.iter().map(OsString::from).collect())
    }

    #[test]
    fn help_is_asked_for_by_options_and_not_by_values() {
        let help = |style, words: &[&str]| matches!(request(style, words), Ok(Request::Help));
        for words in [&["-h"][..], &["x", "-q", "-h"], &["--help", "-x"]] {
            assert!(help(Style::Getopt, words), "{words:?}");
            assert!(help(Style::Words, words), "{words:?}");
        }
        let version = request(Style::Getopt, &["x", "-V", "-h"]);
        assert!(matches!(version, Ok(Request::Version)));
        // a wrong option before it is an error
        assert!(request(Style::Getopt, &["-x", "-h"]).is_err());
        for style in [Style::Getopt, Style::Words] {
            let parsed = parsed_options(style, &["-b", "-h", "x"]).unwrap();
            assert_eq!(parsed.translated, ["--block-size=-h"]);
            let parsed = parsed_options(style, &["x", "-e", "-h", "-V"]).unwrap();
            assert!(parsed.values("-e").eq(["-h", "-V"]));
        }
        let parsed = parsed_options(Style::Getopt, &["-q", "--", "-h", "-V"]).unwrap();
        assert_eq!(parsed.operands, ["-h", "-V"]);
        let parsed = parsed_options(Style::WordsFirst, &["-q", "x", "-h", "-q"]).unwrap();
        assert_eq!(parsed.operands, ["x", "-h", "-q"]);
    }

    #[test]
    fn values_stand_behind_options_in_every_way() {
        for words in [
            &["-b", "4k", "x"][..],
            &["-b4k", "x"],
            &["--block=4k", "x"],
            &["x", "--block", "4k"],
        ] {
            let parsed = parsed_options(Style::Getopt, words).unwrap();
            assert_eq!(parsed.translated, ["--block-size=4k"], "{words:?}");
            assert_eq!(parsed.operands, ["x"]);
        }
        let parsed = parsed_options(Style::Getopt, &["--maybe", "--maybe=1", "--", "-b"]).unwrap();
        assert!(parsed.values("--maybe").eq(["", "1"]));
        assert_eq!(parsed.operands, ["-b"]);
    }

    #[test]
    fn the_last_option_takes_the_rest() {
        let parsed = parsed_options(Style::Words, &["in", "out", "-q", "-e", "-b", "x"]).unwrap();
        assert!(parsed.values("-e").eq(["-b", "x"]));
        assert_eq!((parsed.translated.len(), parsed.operands.len()), (1, 2));
    }

    #[test]
    fn letters_are_grouped_and_names_abbreviated_as_by_getopt() {
        let parsed = parsed_options(Style::Getopt, &["-qb4k", "x"]).unwrap();
        assert_eq!(parsed.translated, ["--quiet", "--block-size=4k"]);
        let parsed = parsed_options(Style::Getopt, &["--bl=4k", "--ma", "x"]).unwrap();
        assert_eq!(parsed.translated, ["--block-size=4k"]);
        assert!(parsed.values("--maybe").eq([""]));
        assert!(matches!(
            request(Style::Getopt, &["-qh"]),
            Ok(Request::Help)
        ));
        // the next letter is none, or the word is no group
        for words in [&["-qx"][..], &["-q=1"], &["--quick"], &["--x"]] {
            let error = parsed_options(Style::Getopt, words).unwrap_err();
            assert!(error.what().contains(words[0]), "{error}");
        }
        assert!(parsed_options(Style::Words, &["-qb", "4k"]).is_err());
    }

    #[test]
    fn of_several_the_last_or_each_counts() {
        let words = ["-b1", "--each=1", "-b2", "--each=2"];
        let parsed = parsed_options(Style::Getopt, &words).unwrap();
        assert_eq!(
            parsed.translated,
            ["--also=1", "--block-size=2", "--also=2"]
        );
    }

    #[test]
    fn a_list_ends_with_a_semicolon() {
        let words = ["-ex", "a", "-q", ";", "x", "-q"];
        let parsed = parsed_options(Style::WordsFirst, &words).unwrap();
        assert!(parsed.values("-ex").eq(["a", "-q"]));
        assert_eq!(parsed.operands, ["x", "-q"]);
        assert!(parsed_options(Style::WordsFirst, &["-ex", "a"]).is_err());
    }

    #[test]
    fn what_has_no_effect_is_told() {
        let parsed = parsed_options(Style::Words, &["-fast", "-h", "x"]).unwrap();
        let note = "tool -fast has no effect here: it is as fast as it is";
        assert_eq!(*parsed.notes.borrow(), [note]);
        assert_eq!((parsed.translated.len(), parsed.operands.len()), (0, 1));
        assert!(parsed_options(Style::Words, &["-fast"]).is_err());
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
            let parsed = parsed_options(Style::Words, words);
            assert!(parsed.is_err(), "{words:?}");
        }
        let error = parsed_options(Style::Words, &["-no"]).unwrap_err();
        assert!(error.what().contains("use something else"));
    }
}
