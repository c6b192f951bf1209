//! The options that the real programs have: each is taken or refused here, and docs/other-names has
//! a page of all of them, which is made from their help and from our tables.
//!
//! `real_options.txt` lists the options by program and version. Where that version is at hand, in
//! PATH or in a directory that `SINTER_PEER_SQUASHFS`, `SINTER_PEER_EROFS`, `SINTER_PEER_COMPOSEFS`
//! or `SINTER_PEER_DWARFS` names, its help is compared with the list. With `SINTER_BLESS` the page
//! is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::TOOLS;
use super::table::{Meaning, Rule, Tool};

const LIST: &str = include_str!("real_options.txt");

/// A program, and the options that its help lists.
struct Real {
    name: &'static str,
    version: &'static str,
    /// The command that prints the help.
    help: &'static str,
    options: Vec<&'static str>,
}

fn listed() -> Vec<Real> {
    let mut all: Vec<Real> = Vec::new();
    for line in LIST.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (line.starts_with(' '), &words[..]) {
            (true, options) => all.last_mut().expect("a program").options.extend(options),
            (false, &[name, version, help]) => all.push(Real {
                name,
                version,
                help,
                options: Vec::new(),
            }),
            _ => assert!(line.is_empty(), "{line}"),
        }
    }
    all
}

fn tool(name: &str) -> &'static Tool {
    let mut tools = TOOLS.into_iter();
    tools.find(|tool| tool.name == name).expect("a known name")
}

#[test]
fn every_option_of_the_real_programs_is_taken_or_refused() {
    let mut count = 0;
    for real in listed() {
        let tool = tool(real.name);
        let is_known = |option: &&str| {
            tool.rule(option).is_some()
                || tool.asks_help(option.as_ref())
                || tool.asks_version(option.as_ref())
        };
        let unknown: Vec<_> = real.options.iter().filter(|one| !is_known(one)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", real.name);
        count += real.options.len();
    }
    assert!(count > 500, "{count}");
}

/// Finds a real program of a version.
fn found(real: &Real) -> Option<PathBuf> {
    let peers =
        ["SQUASHFS", "EROFS", "COMPOSEFS", "DWARFS"].map(|peer| format!("SINTER_PEER_{peer}"));
    let dirs = peers.iter().map(String::as_str).chain(["PATH"]);
    let dirs = dirs.filter_map(std::env::var_os);
    let dirs: Vec<PathBuf> = dirs
        .flat_map(|dirs| std::env::split_paths(&dirs).collect::<Vec<_>>())
        .collect();
    let programs = dirs.iter().map(|dir| dir.join(real.name));
    let is_version = |program: &PathBuf| {
        let asks = ["-version", "--version", real.help];
        asks.into_iter()
            .any(|ask| said(program, ask).contains(real.version))
    };
    programs.filter(|path| path.is_file()).find(is_version)
}

/// Returns what a program prints for an option.
fn said(program: &Path, option: &str) -> String {
    let mut command = Command::new(program);
    let output = command.arg(option).stdin(Stdio::null()).output();
    let output = output.expect("the program");
    [&*output.stdout, &output.stderr]
        .map(String::from_utf8_lossy)
        .concat()
}

/// How help lists options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HelpForm {
    /// One dash before words, one option a line.
    Squashfs,
    /// One dash before words, all forms of an option in a line.
    Mkisofs,
    /// One dash before letters, two before words.
    Getopt,
}

impl HelpForm {
    fn of(help: &str) -> Self {
        match help {
            "-help-all" => Self::Squashfs,
            "-help" => Self::Mkisofs,
            _ => Self::Getopt,
        }
    }
}

/// Returns the options at the beginning of a line of help, in all their forms.
fn of_line(line: &str, form: HelpForm) -> Vec<String> {
    let is_squashfs = form == HelpForm::Squashfs;
    let start = line.trim_start();
    let indent = line.get(..line.len() - start.len()).unwrap_or_default();
    let is_description = if is_squashfs {
        !["", "\t", "\t  "].contains(&indent)
    } else {
        indent.len() > 6
    };
    // the name of a page may be divided
    if is_description || !start.starts_with('-') || start.ends_with(".md") {
        return Vec::new();
    }
    // what follows a tab or two spaces describes the option
    let head = start.split('\t').next().unwrap_or(start);
    let head = head.split("  ").next().unwrap_or(head);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let mut options = Vec::new();
    let words = head.split(|c: char| " ,<=#".contains(c));
    let is_option = |word: &&str| {
        let name = word.trim_start_matches('-');
        word.starts_with('-') && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '[')
    };
    let words = words.filter(is_option);
    for word in words.take(if is_squashfs { 1 } else { usize::MAX }) {
        if let Some(rest) = word.strip_prefix("--[no-]") {
            options.extend([format!("--{rest}"), format!("--no-{rest}")]);
            continue;
        }
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        let (name, rest) = word.split_at(end);
        let bracket = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let is_long = form != HelpForm::Getopt || name.starts_with("--");
        options.push(
            if is_long {
                name
            } else {
                name.get(..2).unwrap_or(name)
            }
            .to_owned(),
        );
        if let (true, Some((more, _))) = (is_squashfs, bracket) {
            options.push(format!("{name}{more}"));
        }
    }
    options
}

#[test]
fn the_list_is_what_the_help_of_the_real_programs_has() {
    for real in listed() {
        let Some(program) = found(&real) else {
            eprintln!("NOT RUN: {} {} is not at hand", real.name, real.version);
            continue;
        };
        let form = HelpForm::of(real.help);
        let help = said(&program, real.help);
        let lines = help.lines().flat_map(|line| of_line(line, form));
        let in_help: BTreeSet<String> = lines.collect();
        let in_list: BTreeSet<String> = real.options.iter().map(ToString::to_string).collect();
        let missing: Vec<_> = in_help.difference(&in_list).collect();
        let gone: Vec<_> = in_list.difference(&in_help).collect();
        assert!(
            missing.is_empty() && gone.is_empty(),
            "{}: {missing:?} {gone:?}",
            real.name
        );
    }
}

/// Describes what an option is here.
fn meaning(rule: &Rule) -> String {
    match rule.meaning {
        Meaning::Same(text) | Meaning::Each(text) => format!("`{text}`"),
        Meaning::Combined(text) | Meaning::CombinedRest(text) | Meaning::CombinedList(text) => {
            text.to_owned()
        }
        Meaning::Already(text) => format!("the default: {text}"),
        Meaning::Noted(text) => format!("no effect: {text}"),
        Meaning::Refused(text) => format!("**refused**: {text}"),
    }
}

/// Adds an entry of a list, in lines of 100 columns.
fn add_entry(page: &mut String, text: &str) {
    let mut line = "-".to_owned();
    for word in text.split(' ') {
        if line.len() + 1 + word.len() > 100 {
            page.push_str(&line);
            page.push('\n');
            line = " ".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    page.push_str(&line);
    page.push('\n');
}

fn page() -> String {
    let mut page = "\
# Options of other programs

All options that the real programs list in their help, and what each is where `sinter` is called by
that name ([other-names.md](other-names.md)). A test makes this page from lists of that help and
from the tables of the program; options of `sinter` are those of the command that the first page
names.
"
    .to_owned();
    for real in listed() {
        let tool = tool(real.name);
        page += &format!("\n## {} {}\n\n", real.name, real.version);
        let mut seen = BTreeSet::new();
        let mut asking = Vec::new();
        for option in &real.options {
            let Some((rule, _)) = tool.rule(option) else {
                asking.push(format!("`{option}`"));
                continue;
            };
            if !seen.insert(rule.spellings[0]) {
                continue;
            }
            let is_listed = |one: &&&str| real.options.contains(*one);
            let spellings = rule.spellings.iter().filter(is_listed);
            let spellings: Vec<String> = spellings.map(|one| format!("`{one}`")).collect();
            let value = match rule.value_name {
                "" => String::new(),
                name => format!(" {name}"),
            };
            let text = format!("{}{value}: {}", spellings.join(", "), meaning(rule));
            add_entry(&mut page, &text);
        }
        add_entry(
            &mut page,
            &format!("{}: help and version", asking.join(", ")),
        );
    }
    page
}

#[test]
fn the_page_of_options_is_that_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/other-names-options.md");
    let page = page();
    if std::env::var_os("SINTER_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written == page, "SINTER_BLESS=1 writes {}", path.display());
}
