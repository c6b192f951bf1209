//! Decides by name what of an image is taken and under which name.
//!
//! There may be as many paths as entries in an image (lists of files, differences of images): each
//! entry is looked up among them by bisection. **Invariant:** a name that could lead out of a
//! target (`..`, with a slash, ...) never gets into a plan; it becomes an error, and so does
//! everything below it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use globset::{Candidate, GlobBuilder, GlobMatcher};
use sinterfs_model::{Error, FileType, Image, Ino, Result};
use sinterfs_platform::names;

use crate::plan::Plan;
use crate::taken::TakenNames;
use crate::walk::{Visit, WalkEntry, WalkStep, walk};

/// The most hostile names that are reported one by one.
const MAX_ERRORS: usize = 1000;
/// The characters with a meaning in globs.
const SPECIAL: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];
const NO_MATCH: &str = "nothing in the image matches";

/// The selection by paths and globs.
pub(crate) struct Selection {
    /// Arguments that name one path: paths, and globs without special characters; sorted, each
    /// once.
    literals: Vec<Literal>,
    globs: Vec<(GlobMatcher, AtomicBool)>,
    /// Patterns of excluded files; patterns without a slash match names.
    excluded: Vec<GlobMatcher>,
    excluded_names: Vec<GlobMatcher>,
    /// The maximum number of components of a path.
    max_depth: usize,
    /// The comparisons of paths so far, for tests of their number.
    #[cfg(test)]
    comparisons: std::sync::atomic::AtomicUsize,
}

/// A path that was named, by itself or as a glob; the empty one names everything.
struct Literal {
    path: Vec<u8>,
    is_glob: bool,
    /// Its position among all that was named, for the order of messages.
    position: usize,
    used: AtomicBool,
}

impl Selection {
    /// Prepares paths and globs. `Invalid` for a malformed glob.
    pub(crate) fn new(paths: &[PathBuf], globs: &[String]) -> Result<Self> {
        let literal = |(position, path): (usize, Vec<u8>), is_glob| Literal {
            path,
            is_glob,
            position,
            used: AtomicBool::new(false),
        };
        let paths = paths.iter().map(|path| normal(path)).enumerate();
        let mut literals: Vec<_> = paths.map(|path| literal(path, false)).collect();
        let mut patterns = Vec::new();
        for (position, text) in (literals.len()..).zip(globs) {
            let clean = clean(text);
            // an empty glob matches no path, unlike the empty path
            if clean.is_empty() || clean.contains(SPECIAL) {
                patterns.push((compile(text)?, AtomicBool::new(false)));
            } else {
                literals.push(literal((position, clean.into()), true));
            }
        }
        literals.sort_by(|a, b| (&a.path, a.position).cmp(&(&b.path, b.position)));
        literals.dedup_by(|later, first| later.path == first.path);
        Ok(Self {
            literals,
            globs: patterns,
            excluded: Vec::new(),
            excluded_names: Vec::new(),
            max_depth: usize::MAX,
            #[cfg(test)]
            comparisons: Default::default(),
        })
    }

    /// Leaves out what matches: a name at any depth, or with a slash a path. `Invalid` for a
    /// malformed glob.
    pub(crate) fn without(mut self, globs: &[String]) -> Result<Self> {
        for glob in globs {
            let kind = if glob.contains('/') {
                &mut self.excluded
            } else {
                &mut self.excluded_names
            };
            kind.push(compile(glob)?);
        }
        Ok(self)
    }

    /// Leaves out paths of more components.
    pub(crate) fn no_deeper(mut self, components: Option<usize>) -> Self {
        self.max_depth = components.unwrap_or(usize::MAX);
        self
    }

    /// Returns whether an entry is left out, with all below it.
    fn leaves_out(&self, entry: &WalkEntry<'_>) -> bool {
        let is_match = |globs: &[GlobMatcher], text: &[u8]| {
            let candidate = Candidate::from_bytes(text);
            globs.iter().any(|glob| glob.is_match_candidate(&candidate))
        };
        entry.depth >= self.max_depth
            || is_match(&self.excluded, entry.path)
            || is_match(&self.excluded_names, entry.name)
    }

    /// Returns whether nothing is named, which selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.literals.is_empty() && self.globs.is_empty()
    }

    /// Returns whether a path is named itself; notes which pattern was of use.
    fn names(&self, path: &[u8]) -> bool {
        let mut named = false;
        let everything = self.literals.first().filter(|first| first.path.is_empty());
        let itself = self.first_from(|literal| literal < path);
        let itself = itself.filter(|literal| literal.path == path);
        for literal in everything.into_iter().chain(itself) {
            literal.used.store(true, Ordering::Relaxed);
            named = true;
        }
        if self.globs.is_empty() {
            return named;
        }
        let candidate = Candidate::from_bytes(path);
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
        let below = || {
            let found = self.first_from(|literal| literal.iter().lt(path.iter().chain(b"/")));
            let rest = found.and_then(|literal| literal.path.strip_prefix(path));
            rest.is_some_and(|rest| rest.starts_with(b"/"))
        };
        !self.globs.is_empty() || below()
    }

    /// Returns the first literal for which `is_before` does not hold.
    fn first_from(&self, is_before: impl Fn(&[u8]) -> bool) -> Option<&Literal> {
        let first = self.literals.partition_point(|literal| {
            #[cfg(test)]
            self.comparisons.fetch_add(1, Ordering::Relaxed);
            is_before(&literal.path)
        });
        self.literals.get(first)
    }

    /// Makes an error of each path and glob that was of no use, in the order in which they were
    /// named.
    pub(crate) fn unmatched(&self) -> Vec<Error> {
        let unused = |used: &AtomicBool| !used.load(Ordering::Relaxed);
        let literals = self.literals.iter();
        let mut literals: Vec<_> = literals.filter(|literal| unused(&literal.used)).collect();
        literals.sort_by_key(|literal| literal.position);
        let literals = literals.into_iter().map(|literal| {
            let error = Error::not_found(if literal.is_glob {
                NO_MATCH
            } else {
                "no such file or directory in the image"
            });
            error.path(names::path(&literal.path))
        });
        let globs = self.globs.iter().filter(|(_, used)| unused(used));
        let globs = globs.map(|(glob, _)| Error::not_found(NO_MATCH).path(glob.glob().glob()));
        literals.chain(globs).collect()
    }
}

/// Returns a path in the form of image paths: without a slash at either end, and without empty
/// names.
fn normal(path: &Path) -> Vec<u8> {
    let path = names::bytes(path);
    let names = path.split(|&byte| byte == b'/');
    let names: Vec<_> = names
        .filter(|name| !name.is_empty() && *name != b".")
        .collect();
    names.join(&b'/')
}

/// Returns a glob as paths of an image are.
fn clean(text: &str) -> &str {
    text.trim_start_matches("./").trim_matches('/')
}

/// Compiles a glob of a path from the root, or of a name.
fn compile(text: &str) -> Result<GlobMatcher> {
    let glob = GlobBuilder::new(clean(text))
        .literal_separator(true)
        .build();
    let glob = glob.map_err(|error| Error::invalid(error.to_string()))?;
    Ok(glob.compile_matcher())
}

/// A directory on the way: whether it is selected with everything, and its index in the plan once
/// something needs it.
struct Level {
    inside: bool,
    planned: Option<u32>,
    /// Whether another entry has its name, so that nothing below it has a place.
    is_out: bool,
    name: Vec<u8>,
    ino: Ino,
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
    let mut taken = TakenNames::new(image, strip);
    let all = selection.is_empty();
    let top = Level {
        inside: all,
        planned: Some(0),
        is_out: false,
        name: Vec::new(),
        ino: root,
    };
    let mut levels = vec![top];
    walk(image, root, &mut |met| {
        let entry = match met {
            Visit::Enter(entry) => entry,
            Visit::Broken(_, error) => {
                refused.push(match error.concerned_path() {
                    Some(_) => error,
                    None => error.path("."),
                });
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
        if selection.leaves_out(&entry) {
            // a path that is named and left out is not missing
            selection.names(entry.path);
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
                is_out: false,
                name,
                ino,
            });
            if inside && !stripped {
                let path = entry.path;
                let planned = plan_dirs(&mut plan, &mut levels, &mut taken, path, &mut refused)?;
                if planned.is_none() {
                    levels.pop();
                    return Ok(WalkStep::Over);
                }
            }
        } else if inside && !stripped {
            let path = entry.path;
            let parent = plan_dirs(&mut plan, &mut levels, &mut taken, path, &mut refused)?;
            let Some(parent) = parent else {
                return Ok(WalkStep::Over);
            };
            let added = match taken.leaf(parent, entry.name, entry.ino) {
                Ok(true) => plan.add_leaf(image, parent, entry.name, entry.ino, entry.kind),
                other => other.map(drop),
            };
            if let Err(error) = added {
                refused.push(error.path(names::path(entry.path)));
            }
        }
        Ok(WalkStep::On)
    })?;
    plan.seal();
    Ok((plan, refused.errors()))
}

/// Plans the directories on the way that nothing has needed so far; returns the deepest, or `None`
/// if another entry has the place of one of them. `path` is the path of an entry of the deepest
/// directory, or of that directory.
fn plan_dirs(
    plan: &mut Plan,
    levels: &mut [Level],
    taken: &mut TakenNames<'_>,
    path: &[u8],
    refused: &mut Refused,
) -> Result<Option<u32>> {
    if levels.last().is_some_and(|level| level.is_out) {
        return Ok(None);
    }
    let first = levels
        .iter()
        .rposition(|level| level.planned.is_some() || level.is_out)
        .unwrap_or(0);
    let Some(mut parent) = levels[first].planned else {
        return Ok(None);
    };
    for (depth, level) in (first + 1..).zip(&mut levels[first + 1..]) {
        let dir = match taken.dir(parent, &level.name, level.ino) {
            Ok(dir) => dir,
            Err(error) => {
                refused.push(error.path(names::path(front(path, depth))));
                level.is_out = true;
                return Ok(None);
            }
        };
        if dir.is_some_and(|dir| taken.differs(plan, dir, level.ino)) {
            let what = "a directory of this name has other attributes, and keeps them, since \
                        leading components are removed";
            let error = Error::invalid(what);
            refused.push(error.path(names::path(front(path, depth))));
        }
        parent = match dir {
            Some(dir) => dir,
            None => {
                let dir = plan.add_dir(parent, &level.name, level.ino)?;
                taken.add_dir(parent, &level.name, dir);
                dir
            }
        };
        level.planned = Some(parent);
    }
    Ok(Some(parent))
}

/// Returns the first components of a path.
fn front(path: &[u8], components: usize) -> &[u8] {
    let mut slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    match slashes.nth(components - 1) {
        Some((end, _)) => path.get(..end).unwrap_or(path),
        None => path,
    }
}

/// Errors of planning, but not more than anybody reads.
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
            .path(names::path(entry.path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(paths: &[&str], globs: &[&str]) -> Selection {
        let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
        let globs: Vec<_> = globs.iter().map(ToString::to_string).collect();
        Selection::new(&paths, &globs).unwrap()
    }

    #[test]
    fn a_lookup_among_many_paths_takes_few_comparisons() {
        const PATHS: usize = 100_000;
        let path = |number: usize| format!("dir{}/sub/file{number}", number % 1000);
        let paths: Vec<_> = (0..PATHS)
            .map(|number| PathBuf::from(path(number)))
            .collect();
        // as lists of files are given: without special characters, but as globs
        let globs: Vec<_> = (0..PATHS).map(|number| path(number) + ".c").collect();
        let selection = Selection::new(&paths, &globs).unwrap();
        let mut lookups = 0;
        for number in (0..PATHS).step_by(100) {
            let path = path(number);
            let parent = path.rsplit_once('/').unwrap().0;
            assert!(selection.names(path.as_bytes()));
            assert!(selection.names((path.clone() + ".c").as_bytes()));
            assert!(!selection.names(parent.as_bytes()));
            assert!(selection.may_name_below(parent.as_bytes()));
            assert!(!selection.may_name_below(path.as_bytes()));
            lookups += 5;
        }
        // 18 bits hold twice the number of paths
        let most = lookups * 19;
        let comparisons = selection.comparisons.load(Ordering::Relaxed);
        assert!(comparisons <= most, "{comparisons} > {most}");
        assert_eq!(selection.unmatched().len(), 2 * (PATHS - PATHS / 100));
    }

    #[test]
    fn directories_are_entered_only_for_selected_paths() {
        let selection = selection(&["a-b/c", "./a/b//c/", "a.b"], &[]);
        for (path, named, below) in [
            ("a", false, true),
            ("a/b", false, true),
            ("a/b/c", true, false),
            ("a-b", false, true),
            ("a.b", true, false),
            ("a/", false, false),
            ("b", false, false),
        ] {
            assert_eq!(selection.names(path.as_bytes()), named, "{path}");
            assert_eq!(selection.may_name_below(path.as_bytes()), below, "{path}");
        }
        let everything = self::selection(&["/", "x"], &[]);
        assert!(everything.names(b"any") && !everything.is_empty());
        assert_eq!(everything.unmatched().len(), 1);
        assert!(!self::selection(&[], &["/"]).names(b"any"));
    }

    #[test]
    fn unused_patterns_are_reported_once_in_the_given_order() {
        let selection = selection(&["z", "b", "z", "used"], &["q", "*.x", "b", "a"]);
        assert!(selection.names(b"used"));
        let unmatched = selection.unmatched();
        let paths: Vec<_> = unmatched
            .iter()
            .map(|error| error.concerned_path().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(paths, ["z", "b", "q", "a", "*.x"]);
        assert!(unmatched[0].what().contains("no such file"));
        assert!(unmatched[2].what().contains("matches"));
    }
}
