//! Which extended attributes of a source stay.
//!
//! Enters regular expressions and names; leaves a decision. **Invariant:** an expression is looked
//! for anywhere in the full name (`user.x`), byte by byte; what is left out stays out, whatever
//! else matches.

use regex::bytes::{RegexSet, RegexSetBuilder};
use sinterfs_model::{Error, FileType, Result, Tree, Xattrs};

use super::definition::AddedXattr;

/// Which extended attributes stay; by default all do.
#[derive(Debug, Clone, Default)]
pub struct XattrFilter {
    /// What stays, if only some do.
    include: Option<RegexSet>,
    /// What does not.
    exclude: Option<RegexSet>,
}

impl XattrFilter {
    /// Compiles expressions: a name stays that one of `include` matches, if there are any, and none
    /// of `exclude`.
    ///
    /// # Errors
    /// `Invalid` for what is not a regular expression.
    pub fn of(include: &[String], exclude: &[String]) -> Result<Self> {
        Ok(Self {
            include: compile(include)?,
            exclude: compile(exclude)?,
        })
    }

    /// Lets no attribute stay.
    pub fn none() -> Self {
        Self {
            include: Some(RegexSet::empty()),
            exclude: None,
        }
    }

    /// Returns whether all attributes stay.
    pub fn is_empty(&self) -> bool {
        self.include.is_none() && self.exclude.is_none()
    }

    /// Returns whether an attribute stays.
    pub fn keeps(&self, name: &[u8]) -> bool {
        let included = self.include.as_ref().is_none_or(|set| set.is_match(name));
        included && !self.exclude.as_ref().is_some_and(|set| set.is_match(name))
    }

    /// Takes the others off a tree.
    pub(super) fn apply(&self, tree: &mut Tree) -> Result<()> {
        tree.change_xattrs(|tree, node, sets| {
            let pairs = tree.xattrs().pairs(tree.node(node).xattrs);
            let kept = pairs.filter(|(name, _)| self.keeps(name));
            let mut kept: Xattrs = kept
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            sets.intern(&mut kept)
        })
    }
}

/// Adds attributes to a file, replacing attributes of the same name; `user.` attributes are added
/// only to regular files and directories.
pub(super) fn put<'a>(
    all: &mut Xattrs,
    kind: FileType,
    added: impl IntoIterator<Item = &'a AddedXattr>,
) {
    let may_be_users = matches!(kind, FileType::File | FileType::Directory);
    for one in added {
        if may_be_users || !one.name.starts_with(b"user.") {
            all.retain(|(name, _)| *name != one.name);
            all.push((one.name.clone(), one.value.clone()));
        }
    }
}

/// Adds extended attributes to all files.
pub(super) fn add(tree: &mut Tree, added: &[AddedXattr]) -> Result<()> {
    if added.is_empty() {
        return Ok(());
    }
    tree.change_xattrs(|tree, node, sets| {
        let pairs = tree.xattrs().pairs(tree.node(node).xattrs);
        let mut all: Xattrs = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        put(&mut all, tree.node(node).content.kind(), added);
        sets.intern(&mut all)
    })
}

fn compile(texts: &[String]) -> Result<Option<RegexSet>> {
    if texts.is_empty() {
        return Ok(None);
    }
    let built = RegexSetBuilder::new(texts).unicode(false).build();
    let wrong = |error: regex::Error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        let last = last.trim_start_matches("error: ").to_owned();
        Error::invalid(format!(
            "not a regular expression of attribute names: {last}"
        ))
    };
    built.map(Some).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(include: &[&str], exclude: &[&str]) -> Vec<&'static str> {
        let owned = |texts: &[&str]| {
            texts
                .iter()
                .map(|&text| text.to_owned())
                .collect::<Vec<_>>()
        };
        let filter = XattrFilter::of(&owned(include), &owned(exclude)).unwrap();
        let mut names = vec!["user.a", "user.ab", "security.selinux", "trusted.user.x"];
        names.retain(|name| filter.keeps(name.as_bytes()));
        names
    }

    #[test]
    fn what_is_excluded_stays_out() {
        assert_eq!(kept(&[], &[]).len(), 4);
        assert_eq!(kept(&["^user\\."], &[]), ["user.a", "user.ab"]);
        assert_eq!(kept(&["user\\."], &["b$"]), ["user.a", "trusted.user.x"]);
        assert_eq!(kept(&["^user\\.", "^sec"], &[]).len(), 3);
        assert_eq!(kept(&[], &["^user\\.", "trusted"]), ["security.selinux"]);
        assert!(XattrFilter::none().include.is_some() && !XattrFilter::none().keeps(b"user.a"));
        assert!(XattrFilter::of(&["(".to_owned()], &[]).is_err());
    }
}
