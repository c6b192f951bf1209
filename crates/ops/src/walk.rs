//! Walks an image depth first, in bytewise order of names.
//!
//! Enters a directory, leaves every entry below it with its full path. **Invariant:** no
//! recursion and memory of the order of the depth, so that a tree of any depth can be walked; an
//! image whose directories form a cycle is an error and not a hang.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sinterfs_model::{Cursor, Error, FileType, Image, Ino, Result};
use sinterfs_platform::names;

/// The error for a directory that contains itself, or that the walk meets too often.
const MANY_PLACES: &str = "a directory is in more than one place";

/// An entry of a directory on the way through an image.
#[derive(Debug, Clone, Copy)]
pub struct WalkEntry<'a> {
    /// The path from where the walk started, without a slash at either end.
    pub path: &'a [u8],
    /// The last component of the path.
    pub name: &'a [u8],
    /// The inode.
    pub ino: Ino,
    /// Its type.
    pub kind: FileType,
    /// The number of directories between the start and this entry.
    pub depth: usize,
}

/// The way in which the walk visits an entry.
#[derive(Debug)]
pub enum Visit<'a> {
    /// The entry comes up; a directory before what it holds.
    Enter(WalkEntry<'a>),
    /// The rest of a directory cannot be listed; continuing leaves it. The start has an empty path
    /// and an error without a path.
    Broken(WalkEntry<'a>, Error),
    /// All that a directory holds has been visited.
    Leave(WalkEntry<'a>),
}

/// How a walk continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkStep {
    /// To the next entry, which may be inside this one.
    On,
    /// To the next entry that is not inside this one.
    Over,
    /// Nowhere.
    Stop,
}

struct Level {
    dir: Ino,
    next: Cursor,
    /// The lengths of the path of the directory, and of that without its last component.
    path: usize,
    name: usize,
}

enum Progress {
    Down(Level),
    Done,
    Broken(Error),
    Stop,
}

/// Walks the tree below a directory; the directory itself is not visited, but if it cannot be
/// listed.
///
/// `Corrupt` if more directories are entered than the image has inodes; an error of listing the
/// start that is not about the image, and the errors of the visitor.
pub fn walk(
    image: &dyn Image,
    start: Ino,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<WalkStep>,
) -> Result<()> {
    let mut path = Vec::new();
    let mut stack = vec![Level {
        dir: start,
        next: Cursor::START,
        path: 0,
        name: 0,
    }];
    let mut above = HashSet::from([start]);
    let mut entered = 1_u64;

    while let Some(level) = stack.last_mut() {
        let mut broken = None;
        match proceed(image, level, above.len() - 1, &mut path, visit)? {
            Progress::Stop => return Ok(()),
            Progress::Done => {}
            Progress::Broken(error) => broken = Some(error),
            Progress::Down(next) => {
                entered += 1;
                let is_circle = above.contains(&next.dir);
                if is_circle && !unlistable(&next, &path, stack.len() - 1, visit)? {
                    return Ok(());
                }
                if is_circle {
                    continue;
                }
                if entered > image.info().totals.inodes {
                    let error = Error::corrupt(MANY_PLACES);
                    return Err(error.path(names::path(&path)));
                }
                above.insert(next.dir);
                stack.push(next);
                continue;
            }
        }
        let Level {
            dir,
            path: end,
            name,
            ..
        } = *level;
        stack.pop();
        above.remove(&dir);
        path.truncate(end);
        let is_start = stack.is_empty();
        let broken = match broken {
            None if is_start => return Ok(()),
            Some(error) if is_start && !error.is_about_image() => return Err(error),
            broken => broken.map(Error::into_corrupt_entry),
        };
        let entry = WalkEntry {
            path: &path,
            name: path.get(name..).unwrap_or_default(),
            ino: dir,
            kind: FileType::Directory,
            depth: stack.len().saturating_sub(1),
        };
        if let Some(error) = broken {
            let error = if is_start {
                error
            } else {
                error.path(names::path(&path))
            };
            if visit(Visit::Broken(entry, error))? == WalkStep::Stop {
                return Ok(());
            }
        }
        if is_start || visit(Visit::Leave(entry))? == WalkStep::Stop {
            return Ok(());
        }
    }
    Ok(())
}

/// Leaves a directory that holds itself without listing it; returns whether the walk continues.
fn unlistable(
    level: &Level,
    path: &[u8],
    depth: usize,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<WalkStep>,
) -> Result<bool> {
    let entry = WalkEntry {
        path,
        name: path.get(level.name..).unwrap_or_default(),
        ino: level.dir,
        kind: FileType::Directory,
        depth,
    };
    let error = Error::corrupt(MANY_PLACES).path(names::path(path));
    let goes_on = visit(Visit::Broken(entry, error))? != WalkStep::Stop;
    Ok(goes_on && visit(Visit::Leave(entry))? != WalkStep::Stop)
}

/// Visits entries of one directory until one is entered.
fn proceed(
    image: &dyn Image,
    level: &mut Level,
    depth: usize,
    path: &mut Vec<u8>,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<WalkStep>,
) -> Result<Progress> {
    let mut result = Ok(Progress::Done);
    let listed = image.read_dir(level.dir, level.next, &mut |dirent| {
        path.truncate(level.path);
        if !path.is_empty() {
            path.push(b'/');
        }
        let start = path.len();
        path.extend_from_slice(dirent.name);
        if dirent.next <= level.next {
            let error = Error::corrupt("a directory listing continues at an earlier position");
            result = Ok(Progress::Broken(error));
            return ControlFlow::Break(());
        }
        level.next = dirent.next;
        let (ino, kind) = (dirent.ino, dirent.kind);
        match visit(Visit::Enter(WalkEntry {
            path,
            name: dirent.name,
            ino,
            kind,
            depth,
        })) {
            Ok(WalkStep::On) if kind == FileType::Directory => {
                let (next, path) = (Cursor::START, path.len());
                result = Ok(Progress::Down(Level {
                    dir: ino,
                    next,
                    path,
                    name: start,
                }));
            }
            Ok(WalkStep::On | WalkStep::Over) => return ControlFlow::Continue(()),
            Ok(WalkStep::Stop) => result = Ok(Progress::Stop),
            Err(error) => result = Err(error),
        }
        ControlFlow::Break(())
    });
    match listed {
        Err(error) => Ok(Progress::Broken(error)),
        Ok(()) => result,
    }
}
