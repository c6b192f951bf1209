//! The rule that in the library only the list of formats names them.

use proc_macro2::{TokenStream, TokenTree};

use super::source::SourceFile;

/// The library above the formats, and its files that name them.
const LIBRARY: &str = "sinterfs";
const LIST: [&str; 6] = [
    "crates/sinterfs/src/formats.rs",
    "crates/sinterfs/src/identify/compressed_device.rs",
    "crates/sinterfs/src/composefs.rs",
    "crates/sinterfs/src/composefs/",
    "crates/sinterfs/src/write/build_composefs.rs",
    "crates/sinterfs/src/write/device.rs",
];

/// Finds a crate of a format that a file of the library names outside of the list.
pub fn formats(file: &SourceFile, crates: &[String]) -> Vec<String> {
    if file.package != LIBRARY || LIST.iter().any(|place| file.path.starts_with(place)) {
        return Vec::new();
    }
    let named = |name: &&String| names(file.tokens.clone(), name);
    let broken = crates.iter().filter(named);
    broken
        .map(|name| {
            format!(
                "{}: names {name}: only the list of formats does",
                file.path.display()
            )
        })
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
    fn only_the_list_names_formats() {
        let code = "fn f() { sinterfs_erofs::read::open() }";
        let files = files(&[
            ("crates/sinterfs/src/mount/serve.rs", code),
            ("crates/sinterfs/src/formats.rs", code),
            ("crates/erofs/src/lib.rs", code),
        ]);
        let found: Vec<_> = files
            .iter()
            .flat_map(|f| formats(f, &["sinterfs_erofs".to_owned()]))
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
