//! The description of another program: its options and their translations.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;

use super::parsed::Parsed;

/// Options that print help in unsquashfs and sqfscat, in addition to the common ones; help about
/// some options is help about all.
pub(super) const HELP_OF_READERS: &[&str] = &[
    "-h",
    "-help",
    "-?",
    "-help-all",
    "-ha",
    "-help-option",
    "-ho",
    "-help-section",
    "-hs",
];

/// The same in mksquashfs and sqfstar.
pub(super) const HELP_OF_MAKERS: &[&str] = &[
    "-h",
    "-help",
    "-help-all",
    "-ha",
    "-help-option",
    "-ho",
    "-help-section",
    "-hs",
    "-help-comp",
    "-Xhelp",
];

/// How help is shown there.
pub(super) const HELP_FORM: &[Rule] = &[
    rule(
        &["-no-pager"],
        "",
        Meaning::Already("help is never shown by a pager"),
    ),
    rule(
        &["-cols"],
        "N",
        Meaning::Noted("lines of help have their own width"),
    ),
];

/// A program whose command line is understood.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The arguments after the name, as a usage line shows them.
    pub(super) usage: &'static str,
    /// Further notes for users of the program.
    pub(super) about: &'static str,
    pub(super) style: Style,
    /// The options that print help, other than `--help`.
    pub(super) help: &'static [&'static str],
    /// The options that print the version, other than `--version`.
    pub(super) version: &'static [&'static str],
    /// Groups of options; programs that are alike share one.
    pub(super) rules: &'static [&'static [Rule]],
    /// Returns the arguments of `sinter` that do the same.
    pub(super) translate: fn(Parsed) -> sinterfs::Result<Vec<OsString>>,
}

/// How options are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// One dash before words, values as separate arguments.
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
    /// The name of its value, in brackets if the value is optional, after `=` if it is in the same
    /// word; empty if it has none.
    pub(super) value_name: &'static str,
    pub(super) meaning: Meaning,
}

/// The translation of an option.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// This option of ours, with the same value; of several the last one counts.
    Same(&'static str),
    /// This option of ours for each one that is given.
    Each(&'static str),
    /// Nothing: the behaviour is the default here, with this remark.
    Already(&'static str),
    /// Options of ours that depend on other options, too; described by this text.
    Combined(&'static str),
    /// The same; all arguments after it are its values.
    CombinedRest(&'static str),
    /// The same; its values are all arguments up to one that is `;`.
    CombinedList(&'static str),
    /// Nothing: the option tunes only speed or messages and is accepted; a line states this reason.
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

    /// Returns the version: for scripts that look for one, in the words of the real program, whose
    /// options are those of that version.
    pub(super) fn version_text(&self) -> String {
        let (name, own) = (self.name, env!("CARGO_PKG_VERSION"));
        let real = match name {
            "mksquashfs" | "mksquashfs4" | "sqfstar" | "unsquashfs" | "sqfscat" => " version 4.7",
            "mkfs.erofs" | "fsck.erofs" | "dump.erofs" => " (erofs-utils) 1.9",
            _ => return format!("{name} of sinter {own}\n"),
        };
        format!("{name}{real} (sinter {own})\n")
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
                | Meaning::Each(becomes)
                | Meaning::Combined(becomes)
                | Meaning::CombinedRest(becomes)
                | Meaning::CombinedList(becomes) => line(&mut text, rule, becomes),
                Meaning::Already(why) => line(&mut text, rule, &format!("default: {why}")),
                Meaning::Noted(_) | Meaning::Refused(_) => {}
            }
        }
        let always = |all: &[&str], long| {
            let all = all.iter().copied().filter(|one| *one != long);
            all.chain([long]).collect::<Vec<_>>().join(", ")
        };
        let (help, version) = (
            always(self.help, "--help"),
            always(self.version, "--version"),
        );
        let _ = writeln!(text, "  {help}\n{:37}this help", "");
        let _ = writeln!(text, "  {version:<34} the version");
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
    // `-b#`, which scripts look for in the help of mkfs.erofs, or `--name[=X]`
    let is_joined = rule.value_name.starts_with(['[', '#', '=']);
    let gap = if is_joined { "" } else { " " };
    let option = format!("{spellings}{gap}{}", rule.value_name);
    // writing to a string cannot fail
    let _ = writeln!(text, "  {:<34} {meaning}", option.trim_end());
}
