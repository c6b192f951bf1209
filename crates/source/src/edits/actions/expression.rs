//! Expressions of actions: tests of a file, combined.
//!
//! Enters a tree and a file in it; leaves true or false. **Invariant:** `&&` and `||` are evaluated
//! from left to right without precedence, and what follows only where it decides. A path in the
//! tree leads nowhere else: `..` of the root is the root.

use std::collections::HashSet;
use std::num::NonZeroU64;

use globset::{Candidate, GlobMatcher};
use regex::bytes::Regex;
use sinterfs_model::{Content, FileType, NameRef, NodeId, Tree};

/// The most symlinks that a path may go through.
const MAX_LINKS: usize = 40;

/// The size that directories are taken to have, as small ones have on most file systems.
const DIRECTORY: u64 = 4096;

/// A test, or several.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    Constant(bool),
    Not(Box<Expression>),
    /// The first, and what is combined with all before it: a list, since chains may be long.
    Chain(Box<Expression>, Vec<(Junction, Expression)>),
    Name(GlobMatcher),
    Path(GlobMatcher),
    /// The path from the root, with a slash in front, has a match.
    PathHas(Regex),
    /// The first names of the path match.
    PathBegins(Vec<GlobMatcher>),
    Number(Measure, NumberRange),
    Type(FileType),
    Permissions(Bits, u16),
    Exists,
    Absolute,
    /// Of what a symlink leads to.
    Readlink(Box<Expression>),
    /// Of what a path leads to.
    Eval(Vec<u8>, Box<Expression>),
}

/// How an expression is combined with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Junction {
    And,
    Or,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Of regular files only.
    FileSize,
    /// Of regular files only: what follows the last whole block.
    TailSize,
    Size,
    Links,
    Owner,
    Group,
    Depth,
    /// Of directories alone.
    Entries,
}

/// Which numbers match, both ends among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberRange {
    pub(super) least: u64,
    pub(super) most: u64,
}

/// How permissions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bits {
    Exactly,
    All,
    Any,
}

/// A file of a tree by one of its names.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedFile<'a> {
    pub(super) tree: &'a Tree,
    pub(super) node: NodeId,
    /// The path from the root, without a slash in front.
    pub(super) path: &'a [u8],
    /// The size of the blocks before the tails.
    pub(super) block: NonZeroU64,
    /// Paths that were taken off the tree.
    pub(super) gone: Option<&'a HashSet<Vec<u8>>>,
}

impl Expression {
    /// Returns whether it is true of a file.
    pub(super) fn holds(&self, file: NamedFile<'_>) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Not(inner) => !inner.holds(file),
            Self::Chain(first, others) => {
                let combine = |before, (junction, next): &(Junction, Self)| match junction {
                    Junction::And => before && next.holds(file),
                    Junction::Or => before || next.holds(file),
                };
                others.iter().fold(first.holds(file), combine)
            }
            Self::Name(glob) => glob.is_match_candidate(&Candidate::from_bytes(file.name())),
            Self::Path(glob) => glob.is_match_candidate(&Candidate::from_bytes(file.path)),
            Self::PathHas(regex) => regex.is_match(&[b"/", file.path].concat()),
            Self::PathBegins(globs) => {
                let names: Vec<&[u8]> = file.path.split(|&byte| byte == b'/').collect();
                let mut both = globs.iter().zip(&names);
                let is_match = |(glob, name): (&GlobMatcher, &&[u8])| {
                    glob.is_match_candidate(&Candidate::from_bytes(name))
                };
                names.len() >= globs.len() && both.all(is_match)
            }
            Self::Number(measure, range) => {
                let number = file.measure(*measure);
                number.is_some_and(|number| (range.least..=range.most).contains(&number))
            }
            Self::Type(kind) => file.content().kind() == *kind,
            Self::Permissions(bits, wanted) => {
                let mode = file.tree.node(file.node).meta.mode & 0o7777;
                match bits {
                    Bits::Exactly => mode == *wanted,
                    Bits::All => mode & wanted == *wanted,
                    Bits::Any => mode & wanted != 0,
                }
            }
            Self::Exists => file.target().is_none_or(|target| {
                let from = file.parent_path();
                !target.starts_with(b"/") && file.follow(from, target).is_some()
            }),
            Self::Absolute => file.target().is_some_and(|target| target.starts_with(b"/")),
            Self::Readlink(inner) => match file.target() {
                None => false,
                Some(target) if target.starts_with(b"/") => false,
                Some(target) => file.at(file.parent_path(), target, inner),
            },
            Self::Eval(path, inner) => {
                let from = match file.content() {
                    Content::Directory { .. } => file.path,
                    _ => file.parent_path(),
                };
                // `..` of a file is the directory that it is in
                let is_file = from.len() != file.path.len();
                match path.strip_prefix(b"..") {
                    Some(rest) if is_file => {
                        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
                        file.at(from, rest, inner)
                    }
                    _ => file.at(from, path, inner),
                }
            }
        }
    }
}

impl<'a> NamedFile<'a> {
    fn name(&self) -> &'a [u8] {
        let name = self.path.rsplit(|&byte| byte == b'/').next();
        name.unwrap_or(self.path)
    }

    fn parent_path(&self) -> &'a [u8] {
        let slash = self.path.iter().rposition(|&byte| byte == b'/');
        self.path.get(..slash.unwrap_or(0)).unwrap_or_default()
    }

    fn content(&self) -> Content {
        self.tree.node(self.node).content
    }

    fn target(&self) -> Option<&'a [u8]> {
        match self.content() {
            Content::Symlink(target) => Some(self.tree.bytes(target)),
            _ => None,
        }
    }

    fn measure(&self, measure: Measure) -> Option<u64> {
        let (content, node) = (self.content(), self.tree.node(self.node));
        let children = self.tree.children(self.node);
        match (measure, content) {
            (Measure::FileSize | Measure::Size, Content::File { size }) => Some(size),
            (Measure::TailSize, Content::File { size }) => Some(size % self.block),
            (Measure::FileSize | Measure::TailSize, _) => None,
            (Measure::Size, Content::Symlink(target)) => Some(self.tree.bytes(target).len() as u64),
            (Measure::Size, Content::Directory { .. }) => Some(DIRECTORY),
            (Measure::Size, _) => Some(0),
            (Measure::Links, Content::Directory { .. }) => {
                let is_dir =
                    |node| matches!(self.tree.node(node).content, Content::Directory { .. });
                let below = children.iter().filter(|link| is_dir(link.node)).count();
                Some(2 + below as u64)
            }
            (Measure::Links, _) => Some(u64::from(node.links)),
            (Measure::Owner, _) => Some(u64::from(node.meta.uid)),
            (Measure::Group, _) => Some(u64::from(node.meta.gid)),
            (Measure::Depth, _) if self.path.is_empty() => Some(0),
            (Measure::Depth, _) => {
                let slashes = self.path.iter().filter(|&&byte| byte == b'/').count();
                Some(1 + slashes as u64)
            }
            (Measure::Entries, Content::Directory { .. }) => {
                let there = children.iter().filter(|link| !self.is_gone(link.name));
                Some(there.count() as u64)
            }
            (Measure::Entries, _) => None,
        }
    }

    /// Returns whether an entry of this directory was taken off.
    fn is_gone(&self, name: NameRef) -> bool {
        let name = self.tree.bytes(name);
        let slash: &[u8] = if self.path.is_empty() { b"" } else { b"/" };
        self.gone
            .is_some_and(|gone| gone.contains(&[self.path, slash, name].concat()))
    }

    /// Returns whether an expression is true of what a path leads to; false if that is nothing.
    fn at(&self, from: &[u8], path: &[u8], inner: &Expression) -> bool {
        self.follow(from, path).is_some_and(|(node, path)| {
            inner.holds(NamedFile {
                tree: self.tree,
                node,
                path: &path,
                block: self.block,
                gone: self.gone,
            })
        })
    }

    /// Follows a path from a directory, through symlinks.
    fn follow(&self, from: &[u8], path: &[u8]) -> Option<(NodeId, Vec<u8>)> {
        let reversed = |path: &[u8]| {
            let names = path.rsplit(|&byte| byte == b'/').map(<[u8]>::to_vec);
            names.collect::<Vec<_>>()
        };
        let mut todo = reversed(path);
        if !path.starts_with(b"/") {
            todo.extend(reversed(from));
        }
        let mut way: Vec<(NodeId, Vec<u8>)> = Vec::new();
        let mut links = 0;
        while let Some(name) = todo.pop() {
            match &*name {
                b"" | b"." => continue,
                b".." => {
                    way.pop();
                    continue;
                }
                _ => {}
            }
            let here = way.last().map_or(NodeId::ROOT, |(node, _)| *node);
            let children = self.tree.children(here);
            let found = children.binary_search_by(|link| self.tree.bytes(link.name).cmp(&*name));
            let node = children.get(found.ok()?)?.node;
            if let Content::Symlink(target) = self.tree.node(node).content {
                links += 1;
                let target = self.tree.bytes(target);
                if links > MAX_LINKS || target.starts_with(b"/") {
                    return None;
                }
                todo.extend(reversed(target));
                continue;
            }
            way.push((node, name));
        }
        let node = way.last().map_or(NodeId::ROOT, |(node, _)| *node);
        let names: Vec<Vec<u8>> = way.into_iter().map(|(_, name)| name).collect();
        Some((node, names.join(&b'/')))
    }
}
