//! What may grow is `#[non_exhaustive]` (docs/adr/0027): public enums and reports of the crates
//! whose types programs get from the library.
//!
//! Each public enum or report without the attribute becomes a message, unless its name is listed
//! with a reason. **Invariant:** a listed name is that of such a type, so that the list shrinks
//! with the exceptions.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::SourceFile;

/// Checks public enums, and structs whose names end in `Report`; `closed` gives enums that programs
/// may match in full, with the reason.
pub fn exhaustive(files: &[SourceFile], of: &[&str], closed: &[(&str, &str)]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut open = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_in_src()) {
        if of.contains(&&*file.package) {
            let mut found = Vec::new();
            collect(file.tokens.clone(), &mut found);
            for name in found {
                if !closed.iter().any(|(listed, _)| *listed == name) {
                    let path = file.path.display();
                    broken.push(format!(
                        "{path}: {name} is neither #[non_exhaustive] nor among CLOSED_TYPES"
                    ));
                }
                open.insert(name);
            }
        }
    }
    for (name, reason) in closed {
        if reason.is_empty() {
            broken.push(format!("CLOSED_TYPES: {name} has no reason"));
        }
        if !open.contains(*name) {
            broken.push(format!("CLOSED_TYPES: {name} needs no exception any more"));
        }
    }
    broken
}

/// Collects the names of public enums and reports without the attribute, in modules as well.
fn collect(tokens: TokenStream, found: &mut Vec<String>) {
    let mut is_marked = false;
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let word = |ahead: usize| match tokens.get(index + ahead) {
            Some(TokenTree::Ident(word)) => word.to_string(),
            _ => String::new(),
        };
        match token {
            TokenTree::Group(group) => {
                match group.delimiter() {
                    Delimiter::Bracket => {
                        is_marked |= group.stream().to_string().contains("non_exhaustive");
                    }
                    // the body of an item
                    Delimiter::Brace => is_marked = false,
                    _ => {}
                }
                collect(group.stream(), found);
            }
            TokenTree::Ident(_) if word(0) == "pub" => {
                let name = word(2);
                let grows = match &*word(1) {
                    "enum" => true,
                    "struct" => name.ends_with("Report"),
                    _ => false,
                };
                if grows && !is_marked {
                    found.push(name);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::files;

    #[test]
    fn public_enums_and_reports_that_may_not_grow() {
        let text = "#[non_exhaustive] #[derive(Debug)] pub enum A { X } pub enum B { Y }\n\
                    pub struct C; pub struct DReport { pub x: u8 } pub(crate) enum E { Z }\n\
                    pub mod m { pub enum F {} }\n\
                    #[cfg(test)] mod tests { pub enum G {} }";
        let sources = files(&[("crates/a/src/b.rs", text), ("crates/z/src/b.rs", text)]);
        let broken = exhaustive(&sources, &["a"], &[("B", "why")]);
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[0].contains("DReport") && broken[1].contains(" F "));
        let listed = [("B", "why"), ("DReport", "why"), ("F", ""), ("A", "why")];
        assert_eq!(exhaustive(&sources, &["a"], &listed).len(), 2);
    }
}
