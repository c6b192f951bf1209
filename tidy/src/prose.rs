//! Comments are English: the names of our types are code, not words of a sentence.
//!
//! In: all files. Out: each comment that has the name of a type outside of backticks: one with two
//! humps (`TreeBuilder`) anywhere, one with one hump after a word in small letters.
//! A mechanical rename of a type leaves such sentences behind. Blocks of code in comments, links
//! and what is quoted are skipped.

use std::collections::BTreeSet;

use super::names;
use super::source::SourceFile;

/// Checks the comments of all files; `proper` gives proper names that types have, too.
pub fn prose(files: &[SourceFile], proper: &[&str]) -> Vec<String> {
    let mut types = BTreeSet::new();
    for file in files {
        names::collect(file.tokens.clone(), &mut types);
    }
    let mut broken = Vec::new();
    let mut used = BTreeSet::new();
    for file in files {
        for (number, text) in comments(&file.text) {
            for word in bare_names(&text).filter(|word| types.contains(*word)) {
                if let Some(name) = proper.iter().find(|name| **name == word) {
                    used.insert(*name);
                } else {
                    let path = file.path.display();
                    broken.push(format!(
                        "{path}:{number}: the type {word} is a word of this sentence: {}",
                        text.trim()
                    ));
                }
            }
        }
    }
    for name in proper.iter().filter(|name| !used.contains(*name)) {
        broken.push(format!("PROPER_NAMES: {name} needs no exception any more"));
    }
    broken
}

/// Returns the text of comments that have a line of their own, with its number; without blocks of
/// code.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (line, number) in text.lines().zip(1..) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']);
        if comment.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.push((number, comment.to_owned()));
        }
    }
    found
}

/// Finds words that look like the name of a type and are not marked as one.
fn bare_names(text: &str) -> impl Iterator<Item = &str> {
    let mut before = "";
    let words = unmarked(text).into_iter().flat_map(str::split_whitespace);
    let found = words.filter_map(move |word| {
        let follows = std::mem::replace(&mut before, word);
        let bare = word.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | ':' | ')' | '?'));
        let is_name = bare.starts_with(|c: char| c.is_ascii_uppercase())
            && bare.chars().all(|c| c.is_ascii_alphanumeric())
            && !word.ends_with("::");
        let is_in_sentence = follows.starts_with(|c: char| c.is_ascii_lowercase())
            && follows.ends_with(|c: char| c.is_ascii_lowercase() || matches!(c, ',' | ';'));
        (is_name && (humps(bare) > 1 || is_in_sentence)).then_some(bare)
    });
    found.collect::<Vec<_>>().into_iter()
}

/// Returns what is not between backticks, quotes or brackets.
fn unmarked(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '"', '[']) {
        parts.push(&rest[..at]);
        let open = rest[at..].chars().next().unwrap_or_default();
        let close = if open == '[' { ']' } else { open };
        rest = &rest[at + 1..];
        let Some(end) = rest.find(close) else {
            return parts;
        };
        rest = &rest[end + 1..];
    }
    parts.push(rest);
    parts
}

/// Counts the parts of a name that begin with a capital letter after a small one or a digit.
fn humps(name: &str) -> usize {
    let pairs = name.as_bytes().windows(2);
    let inner = pairs.filter(|pair| !pair[0].is_ascii_uppercase() && pair[1].is_ascii_uppercase());
    1 + inner.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::files;

    #[test]
    fn names_of_types_are_no_words() {
        let text = "//! SharedImage images.\n/// TailIndex of contents, and what Tail is.\n\
                    /// Tail of `SharedImage`, \"TailIndex\", [`Tail`], TailIndex::new and Other.\n\
                    /// ```\n/// let x = TailIndex;\n/// ```\nstruct TailIndex;\n// in Windows,\n\
                    enum Windows {}\nstruct Tail; trait SharedImage {}";
        let sources = files(&[("crates/a/src/b.rs", text)]);
        let broken = prose(&sources, &["Windows"]);
        let found: Vec<_> = broken
            .iter()
            .filter_map(|one| one.split(" the type ").nth(1)?.split(' ').next())
            .collect();
        assert_eq!(found, ["SharedImage", "TailIndex", "Tail"], "{broken:?}");
        assert_eq!(prose(&sources, &[]).len(), 4);
        assert_eq!(prose(&sources, &["Windows", "Gone"]).len(), 4);
    }
}
