//! The rule that outside the rows of the registry nobody names a format.

use proc_macro2::{TokenStream, TokenTree};

use super::source::SourceFile;

/// The library above the formats, and the folder of its rows.
const LIBRARY: &str = "sinterfs";
const ROWS: [&str; 2] = [
    "crates/sinterfs/src/registry.rs",
    "crates/sinterfs/src/registry/",
];

/// Finds a crate of a format that a file of the library names outside the rows.
pub fn formats(file: &SourceFile, crates: &[String]) -> Vec<String> {
    if file.package != LIBRARY || ROWS.iter().any(|rows| file.path.starts_with(rows)) {
        return Vec::new();
    }
    let named = |name: &&String| names(file.tokens.clone(), name);
    let broken = crates.iter().filter(named);
    broken
        .map(|name| format!("{}: names {name}: only rows do", file.path.display()))
        .collect()
}

fn names(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => names(group.stream(), name),
        TokenTree::Ident(ident) => ident == name,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::files;

    #[test]
    fn formats_are_named_by_rows_alone() {
        let code = "fn f() { sinterfs_erofs::read::open() }";
        let files = files(&[
            ("crates/sinterfs/src/mount/serve.rs", code),
            ("crates/sinterfs/src/registry/erofs.rs", code),
            ("crates/erofs/src/lib.rs", code),
        ]);
        let found: Vec<_> = files
            .iter()
            .flat_map(|f| formats(f, &["sinterfs_erofs".to_owned()]))
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
