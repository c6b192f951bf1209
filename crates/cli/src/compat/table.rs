//! The description of another program: its options and their translations.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;

use super::parsed::Parsed;

/// A program whose command line is understood.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The arguments behind the name, as a usage line shows them.
    pub(super) usage: &'static str,
    /// Further notes for users of the program.
    pub(super) about: &'static str,
    pub(super) style: Style,
    /// The options that print help, besides `--help`.
    pub(super) help: &'static [&'static str],
    /// The options that print the version, besides `--version`.
    pub(super) version: &'static [&'static str],
    /// Groups of options; programs that are alike share one.
    pub(super) rules: &'static [&'static [Rule]],
    /// Returns the arguments of `sinter` that do the same.
    pub(super) translate: fn(Parsed) -> sinterfs::Result<Vec<OsString>>,
}

/// How options are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// One dash before words, values as arguments of their own.
    Words,
    /// The same, but only operands follow the first operand.
    WordsFirst,
    /// As getopt_long parses them: `-xVALUE`, `-x VALUE`, `--name=VALUE`, `--name VALUE`.
    Getopt,
}

/// An option.
pub(super) struct Rule {
    /// All spellings. Options that are refused share a rule only where the hint is true for each.
    pub(super) spellings: &'static [&'static str],
    /// The name of its value, in brackets if the value is optional; empty if it has none.
    pub(super) value_name: &'static str,
    pub(super) meaning: Meaning,
}

/// The translation of an option.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// This option of ours, with the same value.
    Same(&'static str),
    /// Nothing: the behaviour is the default here, with this remark.
    Already(&'static str),
    /// Options of ours that depend on other options, too; described by this text.
    Combined(&'static str),
    /// The same; all arguments behind it are its values.
    CombinedRest(&'static str),
    /// Nothing: the option is refused, with this hint. An option in the hint that the program does
    /// not have under this name is shown with the command of ours that has it.
    Refused(&'static str),
}

pub(super) const fn rule(
    spellings: &'static [&'static str],
    value_name: &'static str,
    meaning: Meaning,
) -> Rule {
    Rule {
        spellings,
        value_name,
        meaning,
    }
}

impl Tool {
    /// Returns the rules of all groups.
    pub(super) fn all_rules(&self) -> impl Iterator<Item = &'static Rule> + use<> {
        self.rules.iter().flat_map(|group| group.iter())
    }

    /// Returns the rule of an option, and the rule's own copy of the spelling.
    pub(super) fn rule(&self, spelling: &str) -> Option<(&'static Rule, &'static str)> {
        self.all_rules().find_map(|rule| {
            let same = rule.spellings.iter().find(|one| **one == spelling);
            same.map(|found| (rule, *found))
        })
    }

    /// Returns whether an option asks for help.
    pub(super) fn asks_help(&self, word: &OsStr) -> bool {
        word == "--help" || self.help.iter().any(|spelling| word == *spelling)
    }

    /// Returns whether an option asks for the version.
    pub(super) fn asks_version(&self, word: &OsStr) -> bool {
        word == "--version" || self.version.iter().any(|spelling| word == *spelling)
    }

    /// Returns the help: all options that are supported, then those that are refused.
    pub(super) fn help_text(&self) -> String {
        let name = self.name;
        let mut text = format!(
            "Usage: {name} {}\n\n{}\n\nOptions:\n",
            self.usage, self.about
        );
        let line = |text: &mut String, rule: &Rule, meaning: &str| {
            let spellings = rule.spellings.join(", ");
            let is_optional = rule.value_name.starts_with('[');
            let gap = if is_optional { "" } else { " " };
            let option = format!("{spellings}{gap}{}", rule.value_name);
            // writing to a string cannot fail
            let _ = writeln!(text, "  {:<34} {meaning}", option.trim_end());
        };
        for rule in self.all_rules() {
            match rule.meaning {
                Meaning::Same(becomes)
                | Meaning::Combined(becomes)
                | Meaning::CombinedRest(becomes) => line(&mut text, rule, becomes),
                Meaning::Already(why) => line(&mut text, rule, &format!("default: {why}")),
                Meaning::Refused(_) => {}
            }
        }
        text += "\nNot supported, and what to use instead:\n";
        for rule in self.all_rules() {
            if let Meaning::Refused(hint) = rule.meaning {
                line(&mut text, rule, hint);
            }
        }
        text
    }
}
