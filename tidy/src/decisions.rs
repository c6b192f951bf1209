//! The decisions in docs/adr: each says what checks that it still holds.
//!
//! Enters the documents and the workspace's Rust files; leaves what is broken. A paragraph
//! `Checked by:` names tests, by code with an underscore, and files of tests or rules, by code with
//! a slash: paths below the root or below `crates`. Where a decision cannot be checked, the
//! paragraph is `Checked by: nothing` with the reason.

use std::collections::HashSet;
use std::path::Path;

use super::promises::{code, known_tests};
use super::source::SourceFile;
use super::workspace;

const WORDS: &str = "Checked by: ";

/// Finds decisions without a check, and checks that do not exist.
pub fn decisions(root: &Path, files: &[SourceFile]) -> Result<Vec<String>, String> {
    let tests = known_tests(files);
    let exists = |path: &str| root.join(path).exists() || root.join("crates").join(path).exists();
    let mut broken = Vec::new();
    for path in workspace::files(root, "docs/adr/*.md")?.lines() {
        if root.join(path).exists() {
            let text = std::fs::read_to_string(root.join(path));
            let text = text.map_err(|error| format!("{path}: {error}"))?;
            broken.extend(check(path, &text, &tests, exists));
        }
    }
    Ok(broken)
}

fn check(
    path: &str,
    text: &str,
    tests: &HashSet<&str>,
    exists: impl Fn(&str) -> bool,
) -> Vec<String> {
    let Some(named) = text.split("\n\n").find_map(|part| part.strip_prefix(WORDS)) else {
        return vec![format!("{path}: no paragraph `{WORDS}`")];
    };
    if let Some(reason) = named.strip_prefix("nothing") {
        let has_reason = reason.trim_matches(['.', ':', ',', ' ', '\n']).len() > 1;
        return (!has_reason)
            .then(|| format!("{path}: checked by nothing, without a reason"))
            .into_iter()
            .collect();
    }
    let is_check = |name: &&str| name.contains(['/', '_']);
    let checks: Vec<&str> = code(named).into_iter().filter(is_check).collect();
    if checks.is_empty() {
        return vec![format!("{path}: `{WORDS}` names no test and no rule")];
    }
    let is_there = |name: &str| {
        if name.contains('/') {
            exists(name)
        } else {
            tests.contains(name)
        }
    };
    let missing = checks.into_iter().filter(|name| !is_there(name));
    missing
        .map(|name| format!("{path}: there is no `{name}`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_without_checks_and_with_missing_ones() {
        let tests = HashSet::from(["a_test"]);
        let broken = |text: &str| check("a.md", text, &tests, |path| path == "a/tests");
        let text = |checked: &str| format!("# 1: A\n\nAccepted.\n\n{checked}\n\n## Context\n");
        assert!(broken(&text("Checked by: `a_test` in\n`a/tests`, on `Linux`.")).is_empty());
        assert!(broken(&text("Checked by: nothing: it is of taste.")).is_empty());
        for (checked, message) in [
            ("", "no paragraph"),
            ("Checked by: nothing.", "without a reason"),
            ("Checked by: `Linux`.", "names no test"),
            ("Checked by: `b_test` in `a/tests`.", "no `b_test`"),
            ("Checked by: `a_test` in `b/tests`.", "no `b/tests`"),
        ] {
            let found = broken(&text(checked));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains(message), "{found:?}");
        }
    }
}
