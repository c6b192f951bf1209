//! Decides by name what of an image is taken and under which name.
//!
//! **Invariant:** a name that could lead out of a target (`..`, with a slash, ...) never gets
//! into a plan; it becomes an error, and so does everything below it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use globset::{Candidate, GlobBuilder, GlobMatcher};
use sinterfs_model::{Error, FileType, Image, Result};

use crate::plan::Plan;
use crate::walk::{Visit, WalkEntry, WalkStep, walk};

/// The most hostile names that are reported one by one.
const MAX_ERRORS: usize = 1000;

/// What paths and globs select.
pub(crate) struct Selection {
    paths: Vec<(Vec<u8>, AtomicBool)>,
    globs: Vec<(GlobMatcher, AtomicBool)>,
}

impl Selection {
    /// Prepares paths and globs. `Invalid` for a malformed glob.
    pub(crate) fn new(paths: &[PathBuf], globs: &[String]) -> Result<Self> {
        let path = |path: &PathBuf| {
            let bytes = path.as_os_str().as_bytes();
            let parts = bytes.split(|&byte| byte == b'/');
            let parts: Vec<_> = parts
                .filter(|part| !part.is_empty() && *part != b".")
                .collect();
            (parts.join(&b'/'), AtomicBool::new(false))
        };
        let glob = |text: &String| {
            let clean = text.trim_start_matches("./").trim_matches('/');
            let glob = GlobBuilder::new(clean).literal_separator(true).build();
            let glob = glob.map_err(|error| Error::invalid(error.to_string()))?;
            Ok((glob.compile_matcher(), AtomicBool::new(false)))
        };
        Ok(Self {
            paths: paths.iter().map(path).collect(),
            globs: globs.iter().map(glob).collect::<Result<_>>()?,
        })
    }

    /// Returns whether nothing is named, which selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.globs.is_empty()
    }

    /// Returns whether a path is named itself; notes which pattern was of use.
    fn names(&self, path: &[u8]) -> bool {
        let mut named = false;
        let candidate = Candidate::from_bytes(path);
        for (wanted, used) in &self.paths {
            if wanted.is_empty() || wanted == path {
                used.store(true, Ordering::Relaxed);
                named = true;
            }
        }
        for (glob, used) in &self.globs {
            if glob.is_match_candidate(&candidate) {
                used.store(true, Ordering::Relaxed);
                named = true;
            }
        }
        named
    }

    /// Returns whether something below a directory may be named.
    fn may_name_below(&self, path: &[u8]) -> bool {
        let below = |wanted: &[u8]| {
            wanted
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with(b"/"))
        };
        !self.globs.is_empty() || self.paths.iter().any(|(wanted, _)| below(wanted))
    }

    /// Makes an error of each path and glob that was of no use.
    pub(crate) fn unmatched(&self) -> Vec<Error> {
        let unused = |used: &AtomicBool| !used.load(Ordering::Relaxed);
        let paths = self
            .paths
            .iter()
            .filter(|(_, used)| unused(used))
            .map(|(path, _)| {
                Error::not_found("no such file or directory in the image")
                    .path(OsStr::from_bytes(path))
            });
        let globs = self
            .globs
            .iter()
            .filter(|(_, used)| unused(used))
            .map(|(glob, _)| {
                Error::not_found("nothing in the image matches").path(glob.glob().glob())
            });
        paths.chain(globs).collect()
    }
}

/// A directory on the way: whether it is selected with everything, and its index in the plan once
/// something needs it.
struct Level {
    inside: bool,
    planned: Option<u32>,
    name: Vec<u8>,
    ino: sinterfs_model::Ino,
}

/// Plans the selected part of an image; the errors are about names that cannot be used and
/// what can't be listed.
pub(crate) fn plan(
    image: &dyn Image,
    selection: &Selection,
    strip: usize,
) -> Result<(Plan, Vec<Error>)> {
    let root = image.info().root;
    let mut plan = Plan::new(root);
    let mut refused = Refused::default();
    let all = selection.is_empty();
    let top = Level {
        inside: all,
        planned: Some(0),
        name: Vec::new(),
        ino: root,
    };
    let mut levels = vec![top];
    walk(image, root, &mut |met| {
        let entry = match met {
            Visit::Enter(entry) => entry,
            Visit::Broken(_, error) => {
                refused.push(error);
                return Ok(WalkStep::On);
            }
            Visit::Leave(_) => {
                levels.pop();
                return Ok(WalkStep::On);
            }
        };
        if let Some(error) = refuse(&entry) {
            refused.push(error);
            return Ok(WalkStep::Over);
        }
        let above = levels.last().is_some_and(|level| level.inside);
        // Matched even below a selected directory, to learn which patterns are used.
        let named = !all && selection.names(entry.path);
        let inside = above || named;
        let stripped = entry.depth < strip;
        if entry.kind == FileType::Directory {
            if !inside && !selection.may_name_below(entry.path) {
                return Ok(WalkStep::Over);
            }
            let (name, ino) = (entry.name.to_vec(), entry.ino);
            levels.push(Level {
                inside,
                planned: stripped.then_some(0),
                name,
                ino,
            });
            if inside && !stripped {
                plan_dirs(&mut plan, &mut levels)?;
            }
        } else if inside && !stripped {
            let parent = plan_dirs(&mut plan, &mut levels)?;
            let added = plan.add_leaf(image, parent, entry.name, entry.ino, entry.kind);
            if let Err(error) = added {
                refused.push(error.path(OsStr::from_bytes(entry.path)));
            }
        }
        Ok(WalkStep::On)
    })?;
    plan.seal();
    Ok((plan, refused.errors()))
}

/// Plans the directories on the way that nothing has needed so far; returns the deepest.
fn plan_dirs(plan: &mut Plan, levels: &mut [Level]) -> Result<u32> {
    let first = levels
        .iter()
        .rposition(|level| level.planned.is_some())
        .unwrap_or(0);
    let mut parent = levels[first].planned.unwrap_or(0);
    for level in &mut levels[first + 1..] {
        parent = plan.add_dir(parent, &level.name, level.ino)?;
        level.planned = Some(parent);
    }
    Ok(parent)
}

/// What can't be planned: errors, but not more than anybody reads.
#[derive(Default)]
struct Refused {
    errors: Vec<Error>,
    more: u64,
}

impl Refused {
    fn push(&mut self, error: Error) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        } else {
            self.more += 1;
        }
    }

    fn errors(mut self) -> Vec<Error> {
        if self.more > 0 {
            let more = self.more;
            self.errors.push(Error::corrupt(format!(
                "{more} more entries can't be restored"
            )));
        }
        self.errors
    }
}

fn refuse(entry: &WalkEntry<'_>) -> Option<Error> {
    let name = entry.name;
    let bad = name.is_empty()
        || name == b"."
        || name == b".."
        || name.iter().any(|&byte| byte == b'/' || byte == 0);
    let text = String::from_utf8_lossy(name);
    bad.then(|| {
        Error::corrupt(format!("{text:?} can't be the name of a file"))
            .path(OsStr::from_bytes(entry.path))
    })
}
