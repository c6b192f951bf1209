//! Command lines: filled in, quoted, taken apart.

use std::path::Path;

/// Fills in a command line; without a number of jobs, what is in brackets is left out.
pub fn fill(command: &str, places: &[(&str, &str)], jobs: Option<usize>) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, after) = after.split_once(']').unwrap_or((after, ""));
        text += before;
        if jobs.is_some() {
            text += inside;
        }
        rest = after;
    }
    text += rest;
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    text = text.replace("{jobs}", &jobs.unwrap_or_else(processors).to_string());
    text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (place, value) in places {
        text = text.replace(&format!("{{{place}}}"), value);
    }
    text
}

/// Quotes a path for the shell.
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Returns the programs that a command line runs.
pub fn programs(command: &str) -> Vec<&str> {
    command
        .split("&&")
        .flat_map(|part| part.split('|'))
        .filter_map(|part| part.split_whitespace().next())
        .collect()
}

/// Finds the first version number in a program's output.
pub fn version(output: &str) -> Option<&str> {
    let is_version = |word: &&str| {
        let starts_with_digit = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        word.contains('.') && word.split('.').all(starts_with_digit)
    };
    let words = output.split_whitespace();
    words
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_digit()))
        .find(is_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_filled_in() {
        let line = "a [-j {jobs}] {args} {dir} [x]";
        let places = [("args", "-l7 --b"), ("dir", "'/d  [e]'")];
        assert_eq!(fill(line, &places, None), "a -l7 --b '/d  [e]'");
        assert_eq!(fill(line, &places, Some(3)), "a -j 3 -l7 --b '/d  [e]' x");
        assert_eq!(fill("z -T{jobs}", &[], Some(2)), "z -T2");
        assert_eq!(quoted("/a b'c".as_ref()), r"'/a b'\''c'");
    }

    #[test]
    fn programs_of_command_lines() {
        let found = programs("mkdir {out} && xz -d | tar -x");
        assert_eq!(found, ["mkdir", "xz", "tar"]);
        assert!(programs("").is_empty());
    }

    #[test]
    fn versions_in_output() {
        for (output, found) in [
            ("mkdwarfs (v0.15.3)\nusing x 1.2", Some("0.15.3")),
            ("*** Zstandard CLI (64-bit) v1.5.5, by Y", Some("1.5.5")),
            ("mksquashfs version 4.7.5 (2026/03/01)", Some("4.7.5")),
            ("sinter 0.1.0", Some("0.1.0")),
            ("no number here...", None),
        ] {
            assert_eq!(version(output), found);
        }
    }
}
