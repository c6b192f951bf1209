//! Rules of language: how doc comments begin, phrases that slow readers down, and no flag of the
//! command line in a library.
//!
//! Enters all files; leaves a message for each comment or literal that breaks one.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::source::{SourceFile, is_test};

/// Verbs that no comment begins with: "Returns ..." says what a function does.
const VERBS: &[&str] = &["Tells", "Says", "Gives"];

/// Finds comments that begin with one of the verbs that are not used.
pub fn verbs(files: &[SourceFile]) -> Vec<String> {
    let mut broken = Vec::new();
    for file in files {
        let lines = file.text.lines().enumerate();
        for (number, line) in lines.filter(|(_, line)| begins(line)) {
            let place = format!("{}:{}", file.path.display(), number + 1);
            let comment = line.trim();
            broken.push(format!(
                "{place}: a comment begins with such a verb: {comment}"
            ));
        }
    }
    broken
}

/// Finds types whose doc says what they return: only functions return something.
pub fn returning_types(files: &[SourceFile]) -> Vec<String> {
    let mut broken = Vec::new();
    for file in files {
        let mut begins_at = None;
        let mut brackets = Brackets::default();
        for (line, number) in file.text.lines().map(str::trim_start).zip(1..) {
            let is_doc = line.starts_with("///");
            if is_doc && begins_at.is_none() {
                begins_at = Some((number, line.starts_with("/// Returns ")));
            } else if !is_doc
                && !line.starts_with("//")
                && !brackets.are_of_attribute(line)
                && let Some((number, true)) = begins_at.take().filter(|_| is_type(line))
            {
                let path = file.path.display();
                broken.push(format!("{path}:{number}: a type returns nothing: {line}"));
            }
        }
    }
    broken
}

/// The brackets of an attribute that are still open.
#[derive(Debug, Default)]
struct Brackets(usize);

impl Brackets {
    /// Returns whether a line is of an attribute, which may have several lines.
    fn are_of_attribute(&mut self, line: &str) -> bool {
        let is_attribute = self.0 > 0 || line.starts_with("#[");
        if is_attribute {
            self.0 += line.matches('[').count();
            self.0 = self.0.saturating_sub(line.matches(']').count());
        }
        is_attribute
    }
}

fn is_type(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let word = words.find(|word| !word.starts_with("pub") && !["in", "unsafe"].contains(word));
    word.is_some_and(|word| ["struct", "enum", "trait", "union", "type"].contains(&word))
}

fn begins(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("//").unwrap_or_default();
    let first = comment
        .trim_start_matches(['/', '!'])
        .split_whitespace()
        .next();
    first.is_some_and(|first| VERBS.contains(&first))
}

/// Counts phrases in the comments of shipped code; `allowed` gives how often each one still occurs,
/// so that the numbers only shrink.
pub fn phrases(files: &[SourceFile], allowed: &[(&str, usize)]) -> Vec<String> {
    let mut counts = vec![0; allowed.len()];
    for file in files.iter().filter(|file| !is_test(&file.path)) {
        let words = comment_words(&file.text);
        for ((phrase, _), count) in allowed.iter().zip(&mut counts) {
            let phrase: Vec<&str> = phrase.split(' ').collect();
            *count += words
                .windows(phrase.len())
                .filter(|at| **at == *phrase)
                .count();
        }
    }
    let differing = allowed
        .iter()
        .zip(counts)
        .filter(|((_, most), count)| count != most);
    differing
        .map(|((phrase, most), count)| {
            if count > *most {
                format!("comments say `{phrase}` {count} times, {most} may: find plainer words")
            } else {
                format!("PHRASES: `{phrase}` occurs {count} times, not {most}: lower the number")
            }
        })
        .collect()
}

/// Returns the words of all comments before the inline tests, in lower case, without punctuation.
fn comment_words(text: &str) -> Vec<String> {
    let shipped = text.split("#[cfg(test)]\nmod tests {").next();
    let lines = shipped.unwrap_or_default().lines();
    let comments = lines.filter_map(|line| line.trim_start().strip_prefix("//"));
    comments
        .flat_map(str::split_whitespace)
        .map(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
            word.to_lowercase()
        })
        .filter(|word| !word.is_empty())
        .collect()
}

/// Finds string literals of a library that name a flag (`--word`); a program's user may never see
/// one. `listed` files may: those are arguments or formats of other programs.
pub fn flags(file: &SourceFile, listed: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    literals(file.tokens.clone(), &mut found);
    let is_listed = listed.iter().any(|(path, _)| file.path == Path::new(path));
    if is_listed && found.is_empty() {
        return vec![format!(
            "FLAG_FILES: {} needs no exception any more",
            file.path.display()
        )];
    }
    if is_listed {
        return Vec::new();
    }
    let message =
        |literal: &String| format!("{}: a library names a flag: {literal}", file.path.display());
    found.iter().map(message).collect()
}

fn literals(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => literals(group.stream(), found),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.contains('"') && names_flag(&text) {
                    found.push(text);
                }
            }
            _ => {}
        }
    }
}

fn names_flag(text: &str) -> bool {
    let after = text
        .match_indices("--")
        .map(|(at, _)| (&text[..at], &text[at + 2..]));
    let mut flags = after.filter(|(before, rest)| {
        !before.ends_with(|c: char| c == '-' || c.is_alphanumeric())
            && rest.starts_with(|c: char| c.is_ascii_lowercase())
    });
    flags.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::files;

    #[test]
    fn verbs_at_the_beginning_alone() {
        let text =
            "//! Says a.\n/// Tells b.\n    // Gives c.\n/// Returns what he Tells.\nfn f() {}";
        let sources = files(&[("crates/a/src/b.rs", text)]);
        let broken = verbs(&sources);
        assert_eq!(broken.len(), 3, "{broken:?}");
        assert!(broken[1].starts_with("crates/a/src/b.rs:2"));
    }

    #[test]
    fn types_return_nothing() {
        let text = "/// Returns a.\n/// And b.\n#[derive(\n    Debug,\n)]\npub(crate) struct A;\n\
                    /// Returns c.\npub fn f() {}\n/// B.\n/// Returns c.\nenum B {}\n\
                    /// Returns d.\npub field: fn(),\ntype C = u8;\n/// Returns e.\ntype D = u8;";
        let broken = returning_types(&files(&[("crates/a/src/b.rs", text)]));
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[0].contains("b.rs:1:") && broken[1].contains("type D"));
    }

    #[test]
    fn phrases_are_counted_in_comments_and_may_only_shrink() {
        let text = "//! Made anew.\n/// Those\n/// of `that of` it, that of.\n\
                    fn f() { g(\"anew\") }\n#[cfg(test)]\nmod tests {\n// anew\n}";
        let sources = files(&[
            ("crates/a/src/b.rs", text),
            ("crates/a/tests/b.rs", "//! Anew.\nfn f() {}"),
        ]);
        let exact = [("anew", 1), ("those of", 1), ("that of", 1), ("so many", 0)];
        assert_eq!(phrases(&sources, &exact), [""; 0]);
        let broken = phrases(&sources, &[("anew", 0), ("those of", 2)]);
        assert!(broken[0].contains("`anew` 1 times, 0 may"), "{broken:?}");
        assert!(broken[1].contains("lower the number"), "{broken:?}");
    }

    #[test]
    fn flags_in_literals_of_shipped_code() {
        let text = "/// Not \"--this\".\n\
                    fn f() { error(\"refused (--strict)\"); g(\"a--b\", \"--\") }\n\
                    #[cfg(test)]\nmod tests { fn f() { g(\"--that\") } }";
        let file = &files(&[("crates/a/src/b.rs", text)])[0];
        let broken = flags(file, &[]);
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert!(broken[0].contains("--strict"));
        assert!(flags(file, &[("crates/a/src/b.rs", "why")]).is_empty());
        let clean = &files(&[("crates/a/src/b.rs", "//! A.")])[0];
        assert_eq!(flags(clean, &[("crates/a/src/b.rs", "why")]).len(), 1);
    }
}
