//! The crates of the workspace, by the folders that are there.
//!
//! In: the paths that git knows. Out: the folders of `crates`, and which of them are formats: those
//! with a document of their name in `docs/formats`.

use std::path::Path;

use super::lists::NOT_FORMATS;
use super::workspace;

/// The folders of crates.
#[derive(Debug, Default)]
pub struct Crates {
    /// All below `crates`.
    pub all: Vec<String>,
    /// Those of formats.
    pub formats: Vec<String>,
}

impl Crates {
    /// Finds the crates of the workspace.
    pub fn find(root: &Path) -> Result<Self, String> {
        let manifests = workspace::files(root, "crates/*/Cargo.toml")?;
        let documents = workspace::files(root, "docs/formats/*.md")?;
        let exist = |listing: &str| {
            let lines = listing.lines().filter(|path| root.join(path).exists());
            lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
        };
        Ok(Self::of(&exist(&manifests), &exist(&documents)))
    }

    /// Finds crates in listings of manifests and documents.
    pub fn of(manifests: &str, documents: &str) -> Self {
        let folder = |path: &str| {
            let inner = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!inner.contains('/')).then(|| inner.to_owned())
        };
        let all: Vec<String> = manifests.lines().filter_map(folder).collect();
        let is_format = |folder: &&String| {
            let document = format!("docs/formats/{folder}.md");
            let is_excepted = NOT_FORMATS.iter().any(|(name, _)| name == folder);
            documents.lines().any(|path| path == document) && !is_excepted
        };
        let formats = all.iter().filter(is_format).cloned().collect();
        Self { all, formats }
    }

    /// Returns the names of the formats' crates, as code has them.
    pub fn format_names(&self) -> Vec<String> {
        let names = self.formats.iter();
        names.map(|folder| format!("sinterfs_{folder}")).collect()
    }

    /// Returns all crates but those of a list.
    pub fn without<'a>(&'a self, listed: impl Fn(&str) -> bool + 'a) -> Vec<&'a str> {
        let all = self.all.iter().map(String::as_str);
        all.filter(|folder| !listed(folder)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_a_document() {
        let crates = Crates::of(
            "crates/block/Cargo.toml\ncrates/erofs/Cargo.toml\ncrates/parity/Cargo.toml\n\
             crates/erofs/deep/Cargo.toml",
            "docs/formats/erofs.md\ndocs/formats/digest.md\ndocs/formats/parity.md",
        );
        assert_eq!(crates.all, ["block", "erofs", "parity"]);
        assert_eq!(crates.formats, ["erofs"], "parity is beside images");
        assert_eq!(crates.format_names(), ["sinterfs_erofs"]);
        assert_eq!(
            crates.without(|folder| folder == "block"),
            ["erofs", "parity"]
        );
    }
}
