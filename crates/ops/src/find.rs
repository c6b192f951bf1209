//! Finds entries of an image by name, type, size, time and owner.
//!
//! Enters conditions; leaves rows in the order of the tree. **Invariant:** an inode is read only
//! where name and type match, and no directory below the depth asked for is listed.

use globset::{Candidate, GlobBuilder, GlobMatcher};
use sinterfs_model::{Error, FileType, Image, Ino, Result};

use crate::list::{Row, join, row};
use crate::unread::Unread;
use crate::walk::{Visit, WalkStep, walk};

/// What an entry must have to be found; what is not set is not asked.
#[derive(Debug, Clone, Default)]
pub struct FindOptions {
    /// Patterns of which one must match: the name, or with a slash the path from the root.
    pub names: Vec<String>,
    /// Whether patterns match regardless of case.
    pub ignore_case: bool,
    /// The types.
    pub kinds: Vec<FileType>,
    /// The least size in bytes; with it only files are found.
    pub min_size: Option<u64>,
    /// The greatest size in bytes; with it only files are found.
    pub max_size: Option<u64>,
    /// The earliest time of modification, in seconds since 1970.
    pub newer: Option<i64>,
    /// The latest time of modification, in seconds since 1970.
    pub older: Option<i64>,
    /// The owner.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
    /// The permission bits.
    pub mode: Option<ModeBits>,
    /// The number of directories between the start and the deepest entries.
    pub max_depth: Option<usize>,
}

/// Which permission bits an entry has, as find(1) asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeBits {
    /// These and no others.
    Exactly(u16),
    /// All of these.
    All(u16),
    /// At least one of these; with 0, any.
    Any(u16),
}

impl ModeBits {
    fn allows(self, mode: u16) -> bool {
        match self {
            Self::Exactly(bits) => mode & 0o7777 == bits,
            Self::All(bits) => mode & bits == bits,
            Self::Any(bits) => bits == 0 || mode & bits != 0,
        }
    }
}

/// Shows the rows that meet all conditions, from a start on, which is shown as `path`.
///
/// What cannot be read goes to `unread`. `Invalid` for a malformed pattern.
pub fn find(
    image: &dyn Image,
    start: Ino,
    path: &[u8],
    options: &FindOptions,
    unread: &mut Unread,
    show: &mut dyn FnMut(&Row) -> Result<WalkStep>,
) -> Result<()> {
    let names = Names::new(&options.names, options.ignore_case)?;
    let itself = row(image, start, path)?;
    if names.matches(path) && options.allows_kind(itself.kind) && options.allows(&itself) {
        unread.settle(path, show(&itself))?;
    }
    if itself.kind != FileType::Directory || options.max_depth == Some(0) {
        return Ok(());
    }
    walk(image, start, &mut |visit| {
        let entry = match visit {
            Visit::Enter(entry) => entry,
            Visit::Broken(entry, error) => {
                unread.note(&join(path, entry.path), error)?;
                return Ok(WalkStep::On);
            }
            Visit::Leave(_) => return Ok(WalkStep::On),
        };
        let path = join(path, entry.path);
        if names.matches(&path) && options.allows_kind(entry.kind) {
            let row = row(image, entry.ino, &path).map_err(Error::into_corrupt_entry);
            let Some(row) = unread.settle(&path, row)? else {
                return Ok(WalkStep::Over);
            };
            if options.allows(&row) && unread.settle(&path, show(&row))? == Some(WalkStep::Stop) {
                return Ok(WalkStep::Stop);
            }
        }
        let deepest = options.max_depth.is_some_and(|max| entry.depth + 1 >= max);
        Ok(if deepest {
            WalkStep::Over
        } else {
            WalkStep::On
        })
    })
}

impl FindOptions {
    fn allows_kind(&self, kind: FileType) -> bool {
        let sized = self.min_size.is_some() || self.max_size.is_some();
        (self.kinds.is_empty() || self.kinds.contains(&kind)) && (!sized || kind == FileType::File)
    }

    fn allows(&self, row: &Row) -> bool {
        let modified = row.times.modified.secs;
        self.min_size.is_none_or(|size| row.size >= size)
            && self.max_size.is_none_or(|size| row.size <= size)
            && self.newer.is_none_or(|time| modified >= time)
            && self.older.is_none_or(|time| modified <= time)
            && self.uid.is_none_or(|uid| row.uid == uid)
            && self.gid.is_none_or(|gid| row.gid == gid)
            && self.mode.is_none_or(|bits| bits.allows(row.mode))
    }
}

/// Compiled patterns: of names, and of paths.
pub(crate) struct Names {
    names: Vec<GlobMatcher>,
    paths: Vec<GlobMatcher>,
}

impl Names {
    /// Compiles patterns. `Invalid` for a malformed one.
    pub(crate) fn new(texts: &[String], ignore_case: bool) -> Result<Self> {
        let (mut names, mut paths) = (Vec::new(), Vec::new());
        for text in texts {
            let glob = GlobBuilder::new(text.trim_matches('/'))
                .literal_separator(true)
                .case_insensitive(ignore_case)
                .build();
            let glob = glob.map_err(|error| Error::invalid(error.to_string()))?;
            let is_path = text.contains('/');
            let list = if is_path { &mut paths } else { &mut names };
            list.push(glob.compile_matcher());
        }
        Ok(Self { names, paths })
    }

    /// Returns whether one of the patterns matches; true if there is none.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        if self.names.is_empty() && self.paths.is_empty() {
            return true;
        }
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let (name, path) = (Candidate::from_bytes(name), Candidate::from_bytes(path));
        self.names.iter().any(|glob| glob.is_match_candidate(&name))
            || self.paths.iter().any(|glob| glob.is_match_candidate(&path))
    }
}
