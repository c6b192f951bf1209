//! The promises of docs/security.md: each names tests, and all of them exist.
//!
//! Enters the document and the workspace's Rust files; leaves what is broken. A promise is a
//! paragraph below `## Promises` that begins with `**`; its tests are the list below it. In the
//! list, code with a slash is a path below `crates`, and code with an underscore a test's name.

use std::collections::HashSet;
use std::path::Path;

use super::source::SourceFile;

/// The document.
const DOCUMENT: &str = "docs/security.md";

/// Finds promises without tests, and tests that are named there and do not exist.
pub fn promises(root: &Path, files: &[SourceFile]) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join(DOCUMENT));
    let text = text.map_err(|error| format!("{DOCUMENT}: {error}"))?;
    let tests = known_tests(files);
    let exists = |path: &str| root.join("crates").join(path).exists();
    Ok(compare(&text, &tests, exists))
}

fn compare(text: &str, tests: &HashSet<&str>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    let promised = text
        .split("\n## ")
        .find(|part| part.starts_with("Promises"));
    let paragraphs: Vec<&str> = promised.unwrap_or_default().split("\n\n").collect();
    let mut count = 0;
    for (at, paragraph) in paragraphs.iter().enumerate() {
        let Some((title, _)) = paragraph
            .strip_prefix("**")
            .and_then(|rest| rest.split_once("**"))
        else {
            continue;
        };
        count += 1;
        let list = paragraphs.get(at + 1).filter(|list| list.starts_with("- "));
        let named = list.map(|list| code(list)).unwrap_or_default();
        if !named.iter().any(|name| tests.contains(name)) {
            broken.push(format!("{DOCUMENT}: `{title}` names no test"));
        }
        for name in named {
            let is_there = if name.contains('/') {
                exists(name)
            } else {
                !name.contains('_') || tests.contains(name)
            };
            if !is_there {
                broken.push(format!("{DOCUMENT}: `{title}`: there is no `{name}`"));
            }
        }
    }
    if count == 0 {
        broken.push(format!("{DOCUMENT}: no promises"));
    }
    broken
}

/// Returns the names of all tests.
pub fn known_tests(files: &[SourceFile]) -> HashSet<&str> {
    files.iter().flat_map(|file| tests(&file.text)).collect()
}

/// Returns what is between backticks.
pub fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the names of the tests of a file.
fn tests(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for after in text.split("#[test]").skip(1) {
        let name = after.split_once("fn ").map(|(_, rest)| rest);
        let end = name.and_then(|rest| rest.split_once('('));
        found.extend(end.map(|(name, _)| name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_without_tests_and_a_missing_test_are_found() {
        let text = "# Security\n\n## Promises\n\n**One.** Is kept.\n\n- `a_test` in `a/tests`\n\n\
                    **Two.** Has none.\n\n**Three.** Has\ntwo.\n\n- `a_test`,\n  `no_test` in \
                    `b/tests`; `--flag`\n\n## Not\n\n**Four.**";
        let source = concat!("#[", "test]\n#[allow(x)]\nfn a_test() {}\nfn no_test() {}");
        let known: HashSet<&str> = tests(source).into_iter().collect();
        let broken = compare(text, &known, |path| path == "a/tests");
        let place = "docs/security.md";
        assert_eq!(
            broken,
            [
                format!("{place}: `Two.` names no test"),
                format!("{place}: `Three.`: there is no `no_test`"),
                format!("{place}: `Three.`: there is no `b/tests`"),
            ]
        );
        assert_eq!(
            compare("", &known, |_| true),
            [format!("{place}: no promises")]
        );
    }
}
