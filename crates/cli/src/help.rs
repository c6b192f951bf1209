//! The short help, `-h`: the flags that people use, and the first examples. `--help`, manual pages
//! and completions have all.
//!
//! **Invariant:** no flag is hidden from `--help`; the rest of the program sees the definitions as
//! they are derived.

use clap::Command;

/// Flags under a heading that the short help has all the same; others are general ones.
const COMMON: [&str; 5] = ["exclude", "include", "all_root", "for", "base"];

/// General flags that the short help leaves out.
const RARE: [&str; 21] = [
    "header",
    "header_size",
    "self_mount",
    "max_depth",
    "jobs",
    "report",
    "verbose",
    "json",
    "progress",
    "no_ahead",
    "idle",
    "keep_smaller",
    "rebuild_metadata",
    "remove_header",
    "categories",
    "cache_size",
    "no_sparse",
    "max_zeros",
    "set_time",
    "placed_file",
    "new_parity",
];

/// Examples in the short help.
const EXAMPLES: usize = 4;

/// Returns the definitions with a short help for each command.
pub fn with_short_help(mut program: Command) -> Command {
    let names: Vec<String> = program
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    for name in names {
        program = program.mut_subcommand(name, shortened);
    }
    program
}

fn shortened(command: Command) -> Command {
    let long = command.get_after_long_help().or(command.get_after_help());
    let long = long.map(ToString::to_string).unwrap_or_default();
    let name = command.get_name().to_owned();
    let has_more = command.get_arguments().any(is_rare);
    let mut short = first_examples(&long);
    if has_more || short.len() < long.len() {
        short += &format!("\n\n`sinter {name} --help` has all options and examples.");
    }
    let flags: Vec<clap::Id> = command
        .get_arguments()
        .map(|flag| flag.get_id().clone())
        .collect();
    let command = flags.into_iter().fold(command, |command, id| {
        command.mut_arg(id, |flag| {
            let is_hidden = is_rare(&flag) || flag.is_hide_short_help_set();
            first_sentence(flag).hide_short_help(is_hidden)
        })
    });
    command.after_help(short).after_long_help(long)
}

fn is_rare(flag: &clap::Arg) -> bool {
    let id = flag.get_id().as_str();
    match flag.get_help_heading() {
        Some(_) => !COMMON.contains(&id),
        None => RARE.contains(&id),
    }
}

/// Leaves the first sentence of a flag to the short help.
fn first_sentence(flag: clap::Arg) -> clap::Arg {
    let text = flag.get_help().map(ToString::to_string).unwrap_or_default();
    match text.split_once(". ") {
        Some((first, _)) if flag.get_long_help().is_none() => {
            let first = first.to_owned();
            flag.help(first).long_help(text)
        }
        _ => flag,
    }
}

/// Returns the first examples of a text: lines that begin with two spaces, with the indented
/// explanation after them.
fn first_examples(text: &str) -> String {
    let Some(start) = text.lines().position(|line| line.starts_with("Example")) else {
        return String::new();
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut count = 0;
    for line in text.lines().skip(start) {
        let is_command = line.starts_with("  ") && !line.starts_with("   ");
        let is_explained = kept.last().is_some_and(|last| last.starts_with("      "));
        count += usize::from(is_command && (is_explained || count == 0));
        if line.is_empty() || count > EXAMPLES {
            break;
        }
        kept.push(line);
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_kept_whole() {
        let text =
            "Examples:\n  a\n      A.\n  b\n  c\n      C.\n  d\n      D.\n  e\n      E.\n  f\n";
        let kept = first_examples(text);
        assert!(
            kept.starts_with("Examples:\n  a") && kept.ends_with("  e\n      E."),
            "{kept}"
        );
        assert_eq!(first_examples("Example:\n  a\n\nMore."), "Example:\n  a");
    }
}
