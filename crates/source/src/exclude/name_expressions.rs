//! Paths with a regular expression for each name.
//!
//! Enters text with slashes; leaves whether a path matches. **Invariant:** an expression sees one
//! name and never a slash, as in mksquashfs and unsquashfs with `-regex`.

use regex::bytes::{Regex, RegexBuilder};
use sinterfs_model::{Error, Result};

/// Expressions of the names of a path.
#[derive(Debug, Clone)]
pub(super) struct NameExpressions {
    names: Vec<Regex>,
    /// Whether the first name is in the root; else in any directory.
    from_root: bool,
}

impl NameExpressions {
    /// Compiles expressions with slashes between them, and one in front where they start at the
    /// root. Fails with `Invalid` for what is not a regular expression.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let names = text.split('/').filter(|name| !name.is_empty());
        let compile = |name: &str| {
            let built = RegexBuilder::new(name).unicode(false).build();
            built.map_err(|error| {
                Error::invalid(format!("no regular expression: {name}")).because(error)
            })
        };
        let names = names.map(compile).collect::<Result<Vec<_>>>()?;
        if names.is_empty() {
            return Err(Error::invalid("an expression of a name is empty"));
        }
        Ok(Self {
            names,
            from_root: text.starts_with('/'),
        })
    }

    /// Returns whether a path matches.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        let Some(above) = parts.len().checked_sub(self.names.len()) else {
            return false;
        };
        let found = parts.iter().skip(above);
        (above == 0 || !self.from_root)
            && self
                .names
                .iter()
                .zip(found)
                .all(|(name, part)| name.is_match(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_see_one_name_each() {
        let matches = |text: &str, path: &str| {
            NameExpressions::parse(text)
                .unwrap()
                .matches(path.as_bytes())
        };
        assert!(matches("/a/^b", "xa/bc") && !matches("/a/^b", "xa/cb"));
        assert!(!matches("/a/b", "a/b/c") && !matches("/a/b", "c/a/b"));
        assert!(matches("a/b", "c/a/b") && matches("^a$", "c/d/a") && !matches("^a$", "a/b"));
        assert!(matches("/a.b", "a-b") && !matches("/a.b", "a/b"));
        assert!(NameExpressions::parse("/(/a").is_err() && NameExpressions::parse("/").is_err());
    }
}
