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
    /// Nothing: the option tunes speed or messages alone and is taken; a line states this reason.
    Noted(&'static str),
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
        for rule in self.all_rules() {
            match rule.meaning {
                Meaning::Same(becomes)
                | Meaning::Combined(becomes)
                | Meaning::CombinedRest(becomes) => line(&mut text, rule, becomes),
                Meaning::Already(why) => line(&mut text, rule, &format!("default: {why}")),
                Meaning::Noted(_) | Meaning::Refused(_) => {}
            }
        }
        let noted = |rule: &Rule| match rule.meaning {
            Meaning::Noted(why) => Some(why),
            _ => None,
        };
        let refused = |rule: &Rule| match rule.meaning {
            Meaning::Refused(hint) => Some(hint),
            _ => None,
        };
        self.group(&mut text, "Taken, without an effect on the image:", &noted);
        self.group(
            &mut text,
            "Not supported, and what to use instead:",
            &refused,
        );
        text
    }

    /// Adds the options of a group to the help, if there are some.
    fn group(
        &self,
        text: &mut String,
        heading: &str,
        remark: &dyn Fn(&Rule) -> Option<&'static str>,
    ) {
        let mut rules = self.all_rules().filter(|rule| remark(rule).is_some());
        let Some(first) = rules.next() else {
            return;
        };
        // writing to a string cannot fail
        let _ = writeln!(text, "\n{heading}");
        for rule in std::iter::once(first).chain(rules) {
            line(text, rule, remark(rule).unwrap_or_default());
        }
    }
}

/// Adds the line of an option to the help.
fn line(text: &mut String, rule: &Rule, meaning: &str) {
    let spellings = rule.spellings.join(", ");
    let is_optional = rule.value_name.starts_with('[');
    let gap = if is_optional { "" } else { " " };
    let option = format!("{spellings}{gap}{}", rule.value_name);
    // writing to a string cannot fail
    let _ = writeln!(text, "  {:<34} {meaning}", option.trim_end());
}
