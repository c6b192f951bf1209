//! The documents: links lead to files that are there, and every page of docs is in the contents of
//! the site.
//!
//! Enters all Markdown files; leaves each relative link without a file, and each page that
//! `docs/SUMMARY.md` does not list or lists twice.

use std::path::{Component, Path, PathBuf};

use super::workspace;

/// The contents of the site.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Finds links without a file, and pages that the contents lack.
pub fn pages(root: &Path) -> Result<Vec<String>, String> {
    let mut broken = Vec::new();
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
    };
    for path in workspace::files(root, "*.md")?.lines() {
        if root.join(path).exists() {
            for (number, link) in links(&read(path)?) {
                if !root.join(target(path, &link)).exists() {
                    broken.push(format!("{path}:{number}: nothing is at {link}"));
                }
            }
        }
    }
    let contents = read(CONTENTS)?;
    let listed: Vec<PathBuf> = links(&contents)
        .into_iter()
        .map(|(_, link)| target(CONTENTS, &link))
        .collect();
    for path in workspace::files(root, "docs/*.md")?.lines() {
        let count = listed.iter().filter(|one| *one == Path::new(path)).count();
        if path != CONTENTS && root.join(path).exists() && count != 1 {
            broken.push(format!("{CONTENTS}: lists {path} {count} times, not once"));
        }
    }
    Ok(broken)
}

/// Returns the file that a relative link of a document names, without `..`.
fn target(document: &str, link: &str) -> PathBuf {
    let mut path = PathBuf::from(document);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// Returns the relative links of a text with the numbers of their lines, without the parts after
/// `#`; blocks and spans of code have none.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (line, number) in text.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            continue;
        }
        let line = without_code(line);
        let mut rest = line.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let Some((link, after)) = after.split_once(')') else {
                break;
            };
            rest = after;
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains(':') {
                found.push((number, path.to_owned()));
            }
        }
    }
    found
}

/// Returns a line without what is between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_documents() {
        let text = "[a](b.md) and ![c](../d.svg#e), [f](#g)\n```\n[h](i)\n```\n`[j](k)` \
                    [l](https://m)\n[`n`](o/p.md)\n";
        let found = links(text);
        let expected = [(1, "b.md"), (1, "../d.svg"), (6, "o/p.md")];
        assert_eq!(found, expected.map(|(line, link)| (line, link.to_owned())));
        assert_eq!(
            target("docs/a/b.md", "../c/./d.md"),
            Path::new("docs/c/d.md")
        );
        assert_eq!(target("README.md", "docs"), Path::new("docs"));
    }
}
