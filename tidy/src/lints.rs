//! Crates that read what nobody vouches for switch lints on that forbid silent casts and `[]`.

use std::path::Path;

use super::source::SourceFile;

/// The lints of a reading crate: an index or a cast that hostile bytes decide is an error instead.
const LINTS: &[&str] = &[
    "clippy::indexing_slicing",
    "clippy::cast_possible_truncation",
    "clippy::cast_sign_loss",
    "clippy::cast_possible_wrap",
];

/// Checks that each listed crate's `lib.rs` has an inner attribute `warn` or `deny` with all lints.
pub fn lints(files: &[SourceFile], crates: &[&str]) -> Vec<String> {
    let mut broken = Vec::new();
    for name in crates {
        let path = format!("crates/{name}/src/lib.rs");
        let Some(file) = files.iter().find(|file| file.path == Path::new(&path)) else {
            broken.push(format!("LINTED: there is no {path}"));
            continue;
        };
        let on: String = attributes(&file.text).concat();
        for lint in LINTS.iter().filter(|lint| !on.contains(*lint)) {
            broken.push(format!("{path}: does not switch on {lint}"));
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
        assert!(lints(&sources, &["a"]).is_empty());
        assert_eq!(lints(&sources, &["b"]).len(), 1);
        assert_eq!(lints(&sources, &["c"]).len(), LINTS.len());
        assert_eq!(lints(&sources, &["d"]).len(), 1);
    }
}
