//! The only paths that are taken from a source.
//!
//! Enters paths below the root; leaves a decision for each entry. **Invariant:** directories that
//! lead to a path are taken, too, and nothing else of them. Memory: the paths; a decision takes one
//! lookup for each of the entry's names.

use std::collections::BTreeMap;

use sinterfs_model::{Error, Result};

/// Paths that are taken.
#[derive(Debug, Clone, Default)]
pub(super) struct OnlyPaths {
    /// Each path, and whether everything below it is taken, too.
    paths: BTreeMap<Vec<u8>, bool>,
}

impl OnlyPaths {
    /// Adds a path; fails with `Invalid` for `..`.
    pub(super) fn add(&mut self, path: &[u8], with_below: bool) -> Result<()> {
        let path = plain_path(path)?;
        let entry = self.paths.entry(path).or_default();
        *entry |= with_below;
        Ok(())
    }

    /// Returns whether an entry is taken, or leads to one that is.
    pub(super) fn holds(&self, path: &[u8]) -> bool {
        let is_whole = |path: &[u8]| self.paths.get(path) == Some(&true);
        let mut slashes = (0..path.len()).filter(|&at| path.get(at) == Some(&b'/'));
        is_whole(b"")
            || self.paths.contains_key(path)
            || slashes.any(|slash| is_whole(path.get(..slash).unwrap_or_default()))
            || self.leads_on(path)
    }

    /// Returns whether a path below a directory is taken.
    fn leads_on(&self, path: &[u8]) -> bool {
        let start = [path, b"/"].concat();
        let mut below = self.paths.range(start.clone()..);
        below
            .next()
            .is_some_and(|(found, _)| found.starts_with(&start))
    }
}

/// Returns a path without slashes at its ends and without names of no meaning. Fails with `Invalid`
/// for `..`.
pub fn plain_path(path: &[u8]) -> Result<Vec<u8>> {
    let names = path.split(|&byte| byte == b'/');
    let names: Vec<&[u8]> = names
        .filter(|name| !name.is_empty() && *name != b".")
        .collect();
    if names.contains(&b"..".as_slice()) {
        let what = "a path with `..` names nothing below the source";
        return Err(Error::invalid(what).path(String::from_utf8_lossy(path).into_owned()));
    }
    Ok(names.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_with_what_leads_to_them() {
        let mut only = OnlyPaths::default();
        only.add(b"./a//b/", true).unwrap();
        only.add(b"c/d", false).unwrap();
        only.add(b"/c", false).unwrap();
        assert!(only.add(b"a/../b", true).is_err());
        for (path, taken) in [
            ("a", true),
            ("a/b", true),
            ("a/b/x/y", true),
            ("a/c", false),
            ("a-b", false),
            ("c", true),
            ("c/d", true),
            ("c/d/e", false),
            ("c/e", false),
        ] {
            assert_eq!(only.holds(path.as_bytes()), taken, "{path}");
        }
        only.add(b".", true).unwrap();
        assert!(only.holds(b"anything/else"));
    }
}
