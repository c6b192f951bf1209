//! Shows an image as a tree of directories: each entry with its place among its siblings.
//!
//! **Invariant:** memory holds the entries of the directories on the way; no recursion, and a
//! directory that holds itself is an error.

use std::ops::ControlFlow;

use sinterfs_model::{Cursor, Error, FileType, Image, Ino, Result};
use sinterfs_platform::names;

/// An entry of a tree.
#[derive(Debug)]
#[non_exhaustive]
pub struct TreeEntry<'a> {
    /// The last component of the path.
    pub name: &'a [u8],
    /// The inode.
    pub ino: Ino,
    /// Its type.
    pub kind: FileType,
    /// For each directory above it, from the start on, and for itself: whether it is the last entry
    /// of its directory.
    pub last: &'a [bool],
}

/// What a tree shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeOptions {
    /// The number of levels.
    pub max_depth: Option<usize>,
    /// Whether only directories are shown.
    pub only_directories: bool,
}

/// One directory on the way: what is left of it, in reverse order.
struct Level {
    dir: Ino,
    left: Vec<(Vec<u8>, Ino, FileType)>,
}

/// Shows everything below a directory.
pub fn tree(
    image: &dyn Image,
    start: Ino,
    options: TreeOptions,
    show: &mut dyn FnMut(TreeEntry<'_>) -> Result<()>,
) -> Result<()> {
    if options.max_depth == Some(0) {
        return Ok(());
    }
    let mut levels = vec![level(image, start, options)?];
    let mut entered = 1_u64;
    let mut last: Vec<bool> = Vec::new();
    while let Some(depth) = levels.len().checked_sub(1)
        && let Some(top) = levels.last_mut()
    {
        last.truncate(depth);
        let Some((name, ino, kind)) = top.left.pop() else {
            levels.pop();
            continue;
        };
        last.push(top.left.is_empty());
        show(TreeEntry {
            name: &name,
            ino,
            kind,
            last: &last,
        })?;
        let deeper = options.max_depth.is_none_or(|max| levels.len() < max);
        if kind == FileType::Directory && deeper {
            entered += 1;
            // one that is in several places would be shown again in each
            let is_again = levels.iter().any(|level| level.dir == ino);
            if is_again || entered > image.info().totals.inodes {
                let error = Error::corrupt("a directory is in more than one place");
                return Err(error.path(names::path(&name)));
            }
            levels.push(level(image, ino, options)?);
        }
    }
    Ok(())
}

fn level(image: &dyn Image, dir: Ino, options: TreeOptions) -> Result<Level> {
    let (mut left, mut at, mut result) = (Vec::new(), Cursor::START, Ok(()));
    image.read_dir(dir, at, &mut |dirent| {
        if dirent.next <= at {
            result = Err(Error::corrupt(
                "a directory listing continues at an earlier position",
            ));
            return ControlFlow::Break(());
        }
        at = dirent.next;
        if !options.only_directories || dirent.kind == FileType::Directory {
            left.push((dirent.name.to_vec(), dirent.ino, dirent.kind));
        }
        ControlFlow::Continue(())
    })?;
    result?;
    left.reverse();
    Ok(Level { dir, left })
}
