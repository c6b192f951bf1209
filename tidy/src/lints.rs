//! Crates that read what nobody vouches for switch lints on that forbid silent casts and `[]`.
//!
//! A crate does so unless a list has the reason why it need not.

use std::path::Path;

use super::source::SourceFile;

/// The lints of a reading crate: an index or a cast that hostile bytes decide is an error instead.
const LINTS: &[&str] = &[
    "clippy::indexing_slicing",
    "clippy::cast_possible_truncation",
    "clippy::cast_sign_loss",
    "clippy::cast_possible_wrap",
];

/// Checks that the `lib.rs` of each crate has an inner attribute `warn` or `deny` with all lints,
/// unless `unlinted` has the crate, with the reason.
pub fn lints(files: &[SourceFile], crates: &[String], unlinted: &[(&str, &str)]) -> Vec<String> {
    let mut broken = Vec::new();
    for name in crates {
        let path = format!("crates/{name}/src/lib.rs");
        let file = files.iter().find(|file| file.path == Path::new(&path));
        let on: String = file
            .map(|file| attributes(&file.text).concat())
            .unwrap_or_default();
        let off: Vec<&str> = LINTS
            .iter()
            .copied()
            .filter(|lint| !on.contains(lint))
            .collect();
        if !unlinted.iter().any(|(listed, _)| listed == name) {
            let missing = off.iter();
            broken.extend(missing.map(|lint| format!("{path}: does not switch on {lint}")));
        } else if off.is_empty() {
            broken.push(format!("UNLINTED: {name} needs no exception any more"));
        }
    }
    for (name, reason) in unlinted {
        if reason.is_empty() || !crates.iter().any(|folder| folder == name) {
            broken.push(format!("UNLINTED: {name} has no reason, or is no crate"));
        }
    }
    broken
}

/// Finds the attributes `#![warn(...)]` and `#![deny(...)]` of a file.
fn attributes(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for start in ["\n#![warn(", "\n#![deny("] {
        for (at, _) in text.match_indices(start) {
            let rest = &text[at..];
            found.push(rest.find(")]").map_or(rest, |end| &rest[..end]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::files;

    #[test]
    fn a_missing_lint_is_found() {
        let all = format!("//! A.\n#![warn({})]\n", LINTS.join(", "));
        let less = all.replace("clippy::cast_sign_loss", "clippy::other");
        let commented = all.replace("\n#![", "\n// #![");
        let sources = files(&[
            ("crates/a/src/lib.rs", &all),
            ("crates/b/src/lib.rs", &less),
            ("crates/c/src/lib.rs", &commented),
        ]);
        let of =
            |name: &str, unlinted: &[(&str, &str)]| lints(&sources, &[name.to_owned()], unlinted);
        assert!(of("a", &[]).is_empty());
        assert_eq!(of("b", &[]).len(), 1);
        assert_eq!(of("c", &[]).len(), LINTS.len());
        assert_eq!(of("d", &[]).len(), LINTS.len());
        assert!(of("b", &[("b", "why")]).is_empty());
        assert_eq!(of("a", &[("a", "why")]).len(), 1);
        assert_eq!(of("b", &[("b", ""), ("z", "why")]).len(), 2);
    }
}
