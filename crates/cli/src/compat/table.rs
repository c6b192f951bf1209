//! Another program: its options and what they mean here.

use std::ffi::OsStr;
use std::fmt::Write;

use super::scan::Said;

/// A program.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// What stands behind the name.
    pub(super) usage: &'static str,
    /// What else is to be known.
    pub(super) about: &'static str,
    pub(super) style: Style,
    /// How help is asked for there; `--help` always works.
    pub(super) help: &'static [&'static str],
    /// How the version is asked for there; `--version` always works.
    pub(super) version: &'static [&'static str],
    pub(super) rules: &'static [Rule],
    /// Makes words of what was said.
    pub(super) finish: fn(Said) -> sinterfs::Result<Vec<std::ffi::OsString>>,
}

/// How options are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// One dash before words, values as arguments of their own.
    Words,
    /// As above, and what follows the first operand is no option.
    WordsFirst,
    /// As getopt_long has it: `-xVALUE`, `-x VALUE`, `--name=VALUE`, `--name VALUE`.
    Getopt,
}

/// An option.
pub(super) struct Rule {
    /// How it is written, one way or another; a refused option shares its rule only with what the
    /// hint is as true for.
    pub(super) spelled: &'static [&'static str],
    /// What its value is called, in brackets if it can be missing; empty if it has none.
    pub(super) value: &'static str,
    pub(super) does: Does,
}

/// What an option means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Does {
    /// This option of ours, with the same value.
    Same(&'static str),
    /// What is so anyway, for the reason that is given.
    Already(&'static str),
    /// Something that depends on the others, too.
    Noted(&'static str),
    /// As above; all arguments behind it are its values.
    NotedRest(&'static str),
    /// Nothing that we do; what to do instead. An option in it that the program does not have under
    /// this name stands with the command of ours that has it.
    Refused(&'static str),
}

pub(super) const fn rule(
    spelled: &'static [&'static str],
    value: &'static str,
    does: Does,
) -> Rule {
    Rule {
        spelled,
        value,
        does,
    }
}

impl Tool {
    /// Finds an option, and the spelling of its rule that this is.
    pub(super) fn rule(&self, spelled: &str) -> Option<(&'static Rule, &'static str)> {
        self.rules.iter().find_map(|rule| {
            let same = rule.spelled.iter().find(|one| **one == spelled);
            same.map(|found| (rule, *found))
        })
    }

    /// Returns whether an option asks for help.
    pub(super) fn asks_help(&self, word: &OsStr) -> bool {
        word == "--help" || self.help.iter().any(|spelled| word == *spelled)
    }

    /// Returns whether an option asks for the version.
    pub(super) fn asks_version(&self, word: &OsStr) -> bool {
        word == "--version" || self.version.iter().any(|spelled| word == *spelled)
    }

    /// Returns all that is taken, and what is not.
    pub(super) fn help_text(&self) -> String {
        let name = self.name;
        let mut text = format!(
            "Usage: {name} {}\n\n{}\n\nOptions:\n",
            self.usage, self.about
        );
        let line = |text: &mut String, rule: &Rule, meaning: &str| {
            let spelled = rule.spelled.join(", ");
            let gap = if rule.value.starts_with('[') { "" } else { " " };
            let option = format!("{spelled}{gap}{}", rule.value);
            // writing to a string cannot fail
            let _ = writeln!(text, "  {:<34} {meaning}", option.trim_end());
        };
        for rule in self.rules {
            match rule.does {
                Does::Same(ours) => line(&mut text, rule, ours),
                Does::Already(why) => line(&mut text, rule, &format!("always: {why}")),
                Does::Noted(what) | Does::NotedRest(what) => line(&mut text, rule, what),
                Does::Refused(_) => {}
            }
        }
        text += "\nRefused, and what to use instead:\n";
        for rule in self.rules {
            if let Does::Refused(why) = rule.does {
                line(&mut text, rule, why);
            }
        }
        text
    }
}
