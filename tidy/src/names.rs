//! One word, one meaning: no type name is defined in more than two crates without a reason.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};

use super::source::SourceFile;

/// Crates that may define a type of the same name.
const MOST: usize = 2;

/// Checks the names of structs, enums, traits and unions of shipped code; `shared` gives names that
/// more crates have, with the reason.
pub fn names(files: &[SourceFile], shared: &[(&str, &str)]) -> Vec<String> {
    let mut crates: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_in_src()) {
        let mut defined = BTreeSet::new();
        collect(file.tokens.clone(), &mut defined);
        for name in defined {
            crates.entry(name).or_default().insert(&file.package);
        }
    }
    let mut broken = Vec::new();
    for (name, of) in crates.iter().filter(|(_, of)| of.len() > MOST) {
        if !shared.iter().any(|(listed, _)| listed == name) {
            let of: Vec<&str> = of.iter().copied().collect();
            broken.push(format!(
                "the type {name} is defined in {} crates ({}): rename it, or list it with a reason",
                of.len(),
                of.join(", ")
            ));
        }
    }
    for (name, reason) in shared {
        if reason.is_empty() {
            broken.push(format!("SHARED_NAMES: {name} has no reason"));
        }
        if crates.get(*name).is_none_or(|of| of.len() <= MOST) {
            broken.push(format!("SHARED_NAMES: {name} needs no exception any more"));
        }
    }
    broken
}

/// Collects the names of structs, enums, traits and unions.
pub fn collect(tokens: TokenStream, defined: &mut BTreeSet<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => collect(group.stream(), defined),
            TokenTree::Ident(word)
                if ["struct", "enum", "trait", "union"]
                    .iter()
                    .any(|kind| word == kind) =>
            {
                if let Some(TokenTree::Ident(name)) = tokens.peek() {
                    defined.insert(name.to_string());
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
    fn a_name_of_three_crates_needs_a_reason() {
        let sources = files(&[
            ("crates/a/src/lib.rs", "pub struct Part; struct Own;"),
            ("crates/b/src/x.rs", "fn f() { enum Part {} }"),
            (
                "crates/c/src/lib.rs",
                "trait Part {} #[cfg(test)] mod tests { struct Own; }",
            ),
            ("crates/c/tests/t.rs", "struct Own;"),
            ("crates/b/src/y.rs", "struct Own;"),
        ]);
        let broken = names(&sources, &[]);
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert!(broken[0].contains("Part is defined in 3 crates (a, b, c)"));
        assert!(names(&sources, &[("Part", "the specifications call it so")]).is_empty());
        let broken = names(&sources, &[("Part", ""), ("Own", "stale")]);
        assert_eq!(broken.len(), 2, "{broken:?}");
    }
}
