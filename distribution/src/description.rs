//! `release.toml`: what every channel says of a release.
//!
//! Enters the file; leaves its values. **Invariant:** each value is there and not empty, and an
//! address that ends with `.invalid` is a placeholder, which [`placeholders`] finds.

use std::collections::BTreeMap;

use super::tree;

/// The values that the file has to have.
const NAMES: [&str; 8] = [
    "summary",
    "description",
    "publisher",
    "maintainer",
    "email",
    "home",
    "downloads",
    "public_key",
];

/// Documents with addresses that readers write to.
const DOCUMENTS: [&str; 2] = ["SECURITY.md", "CODE_OF_CONDUCT.md"];

/// The end of an address that is not known yet.
const UNKNOWN: &str = ".invalid";

/// Reads the file of the checkout.
pub fn read() -> Result<BTreeMap<String, String>, String> {
    parse(&tree::text("release.toml")?)
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let document: toml_edit::Document<&str> =
        toml_edit::Document::parse(text).map_err(|e| format!("release.toml: {e}"))?;
    let mut values = BTreeMap::new();
    for (name, value) in document.iter() {
        if !NAMES.contains(&name) {
            return Err(format!("release.toml: unknown name {name}"));
        }
        let value = value
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        let value = value.ok_or_else(|| format!("release.toml: {name} is no text"))?;
        values.insert(name.to_owned(), value.to_owned());
    }
    match NAMES.iter().find(|name| !values.contains_key(**name)) {
        Some(missing) => Err(format!("release.toml: no {missing}")),
        None => Ok(values),
    }
}

/// Lists the values that are placeholders, and documents that have one.
pub fn placeholders(values: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
    let unknown = values.iter().filter(|(_, value)| value.contains(UNKNOWN));
    let mut found: Vec<String> = unknown
        .map(|(name, value)| format!("release.toml: {name} = {value}"))
        .collect();
    for name in DOCUMENTS {
        if tree::text(name)?.contains(UNKNOWN) {
            found.push(format!("{name} has an address that ends with {UNKNOWN}"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_every_value_and_no_other() {
        assert!(read().is_ok());
        let text = tree::text("release.toml").unwrap();
        let without = text.replace("home =", "# home =");
        assert_eq!(parse(&without).unwrap_err(), "release.toml: no home");
        let more = format!("{text}\nhouse = \"a\"\n");
        assert_eq!(
            parse(&more).unwrap_err(),
            "release.toml: unknown name house"
        );
        let empty = text.replace("https://home-page.invalid", " ");
        assert_eq!(parse(&empty).unwrap_err(), "release.toml: home is no text");
    }

    #[test]
    fn placeholders_are_found() {
        let values = |home: &str| BTreeMap::from([("home".to_owned(), home.to_owned())]);
        let found = |home: &str| placeholders(&values(home)).unwrap();
        let real = found("https://example.org");
        assert!(!real.iter().any(|one| one.contains("home")), "{real:?}");
        let unknown = found("https://home-page.invalid");
        assert_eq!(unknown.len(), real.len() + 1, "{unknown:?}");
    }
}
