//! The help of all commands.

use std::collections::BTreeMap;

use clap::CommandFactory;

/// Returns the long flags of a command by heading; the general ones are under `Options`.
fn headings(command: &str) -> BTreeMap<String, Vec<String>> {
    let mut all = crate::Cli::command();
    let command = all.find_subcommand_mut(command).expect("a command");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for flag in command.get_arguments().filter(|flag| !flag.is_hide_set()) {
        let heading = flag.get_help_heading().unwrap_or("Options").to_owned();
        let name = flag.get_long().unwrap_or(flag.get_id().as_str());
        found.entry(heading).or_default().push(name.to_owned());
    }
    found
}

#[test]
fn flags_are_under_their_headings() {
    for command in ["build", "merge", "convert"] {
        let headings = headings(command);
        let of = |heading: &str| headings[heading].join(" ");
        assert_eq!(
            of("composefs"),
            "print-digest digest-store min-version max-version skip-devices user-xattrs"
        );
        assert_eq!(
            of("EROFS"),
            "target-kernel chunk-size blob-device xattr-prefix extended uuid"
        );
        assert_eq!(
            of("SquashFS"),
            "tailends no-fragments no-compress no-exports"
        );
        assert!(of("DwarFS").starts_with("for metadata-compression lookback read-cost"));
        assert!(of("DwarFS").ends_with("with-digest metadata-copy"));
        assert_eq!(of("CRAMFS"), "byte-order front-padding edition");
        assert!(of("ISO 9660").starts_with("efi-boot boot-partition efi-partition"));
        assert_eq!(of("Several formats"), "label no-sparse no-pad boot");
        assert!(of("Owners, times and permissions").starts_with("set-owner set-group all-root"));
        assert!(of("Files and extended attributes").starts_with("exclude include"));
    }
}

#[test]
fn general_flags_are_under_no_heading() {
    let general = [
        "output",
        "force",
        "format",
        "level",
        "compression",
        "jobs",
        "quiet",
        "json",
        "verbose",
        "report",
        "IMAGE",
        "sources",
        "paths",
        "long",
        "recursive",
        "deep",
    ];
    for command in crate::Cli::command().get_subcommands() {
        for (heading, flags) in headings(command.get_name()) {
            let misplaced = flags.iter().find(|flag| general.contains(&flag.as_str()));
            let name = command.get_name();
            assert!(
                heading == "Options" || misplaced.is_none(),
                "{name}: {heading}: {flags:?}"
            );
        }
    }
}

#[test]
fn texts_after_the_flags_wrap_at_any_width() {
    let program = crate::Cli::command();
    for command in std::iter::once(&program).chain(program.get_subcommands()) {
        let name = command.get_name();
        for text in [command.get_after_help(), command.get_after_long_help()] {
            let text = text.map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
                // a paragraph is one line, which clap wraps
                assert!(!is_prose(pair[0]) || !is_prose(pair[1]), "{name}: {pair:?}");
            }
            for line in lines.iter().filter(|line| line.starts_with(' ')) {
                // an example has to fit, because clap would wrap it to the first column
                assert!(line.len() <= 78, "{name}: {line}");
            }
        }
    }
}

#[test]
fn the_short_help_fits_a_screen_or_two() {
    let mut program = crate::definitions();
    for command in program.get_subcommands_mut() {
        let name = command.get_name().to_owned();
        let mut command = command.clone().term_width(100);
        let lines = command.render_help().to_string().lines().count();
        assert!(lines <= 60, "{name}: {lines}");
        let long = command.render_long_help().to_string();
        for flag in command.get_arguments().filter(|flag| !flag.is_hide_set()) {
            let spelled = flag.get_long().map(|long| format!("--{long}"));
            assert!(
                spelled.is_none_or(|flag| long.contains(&flag)),
                "{name}: {flag:?}"
            );
        }
    }
}
