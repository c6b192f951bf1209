//! The workspace's Rust files, each as text and as the tokens of its shipped code.
//!
//! Enters the list of files that git knows; leaves [`SourceFile`]s. **Invariant:** `tokens` holds
//! no item under `#[cfg(test)]` and no doc comment, so that rules over it see shipped code alone.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::workspace;

/// A Rust file of the workspace.
#[derive(Debug)]
pub struct SourceFile {
    /// Relative to the root of the workspace.
    pub path: PathBuf,
    /// The folder of its crate: `block` for `crates/block`, `xtask`, `tidy`, `bench`.
    pub package: String,
    pub text: String,
    /// Code that is shipped: without test items and doc comments. Empty for files of tests.
    pub tokens: TokenStream,
}

impl SourceFile {
    /// Parses a file's text.
    pub fn parse(path: &Path, text: String) -> Result<Self, String> {
        let tokens = if is_test(path) {
            TokenStream::new()
        } else {
            let parsed: Result<TokenStream, _> = text.parse();
            shipped(parsed.map_err(|e| format!("{}: {e}", path.display()))?)
        };
        let mut parts = path.iter().filter_map(|part| part.to_str());
        let package = match parts.next() {
            Some("crates") => parts.next(),
            other => other,
        };
        Ok(Self {
            path: path.to_owned(),
            package: package.unwrap_or_default().to_owned(),
            text,
            tokens,
        })
    }

    /// Returns whether the file is below its crate's `src`.
    pub fn is_in_src(&self) -> bool {
        self.path.iter().any(|part| part == "src") && !is_test(&self.path)
    }
}

/// Reads all Rust files that git tracks or would track.
pub fn rust_files(root: &Path) -> Result<Vec<SourceFile>, String> {
    let listing = workspace::files(root, "*.rs")?;
    let mut files = Vec::new();
    for path in listing.lines().map(Path::new) {
        let full = root.join(path);
        if full.exists() {
            let text = std::fs::read_to_string(full).map_err(|e| e.to_string())?;
            files.push(SourceFile::parse(path, text)?);
        }
    }
    Ok(files)
}

/// Returns whether a path belongs to tests or micro-benchmarks.
pub fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "benches")
        || path.file_name().is_some_and(|name| name == "tests.rs")
}

/// Removes doc comments and items under `#[cfg(test)]`.
fn shipped(stream: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let attribute = match (&token, tokens.peek()) {
            (TokenTree::Punct(punct), Some(TokenTree::Group(group)))
                if punct.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
            {
                group.stream().to_string().replace(' ', "")
            }
            // inner attributes: `#![...]`, and `//!` comments in their tokens
            (TokenTree::Punct(punct), Some(TokenTree::Punct(next)))
                if punct.as_char() == '#' && next.as_char() == '!' =>
            {
                tokens.next();
                tokens.next();
                continue;
            }
            _ => String::new(),
        };
        if attribute.starts_with("doc=") {
            tokens.next();
        } else if attribute.starts_with("cfg(test)") || attribute.starts_with("cfg(all(test") {
            for skipped in tokens.by_ref() {
                let is_end = match &skipped {
                    TokenTree::Punct(punct) => punct.as_char() == ';',
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    _ => false,
                };
                if is_end {
                    break;
                }
            }
        } else if let TokenTree::Group(group) = token {
            kept.push(Group::new(group.delimiter(), shipped(group.stream())).into());
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Parses files of a made-up crate.
    pub fn files(of: &[(&str, &str)]) -> Vec<SourceFile> {
        of.iter()
            .map(|(path, text)| SourceFile::parse(Path::new(path), (*text).to_owned()).unwrap())
            .collect()
    }

    #[test]
    fn tests_and_docs_are_no_shipped_code() {
        let text = "//! Doc.\n#![allow(x)]\n/// One.\nfn one() { /// Two.\n let a = 1; }\n\
                    #[cfg(test)]\n#[derive(Debug)]\nstruct Gone;\n\
                    #[cfg(test)]\nmod tests { fn gone() {} }\nstruct Kept;";
        let file = &files(&[("crates/a/src/b.rs", text)])[0];
        let shipped = file.tokens.to_string();
        assert_eq!(shipped, "fn one () { let a = 1 ; } struct Kept ;");
        assert_eq!(file.package, "a");
        assert!(file.is_in_src());
        assert!(!files(&[("crates/a/tests/b.rs", "")])[0].is_in_src());
    }
}
