//! Shows an image as a tree of directories: each entry with its place among its siblings.
//!
//! **Invariant:** memory holds the entries of the directories on the way; no recursion, and a
//! directory that holds itself is not entered again; the inode of every entry is read.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sinterfs_model::{Cursor, Error, FileType, Image, Ino, Result};
use sinterfs_platform::names;

use crate::unread::Unread;

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

/// The contents of a tree.
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
    /// The length of its path.
    path: usize,
    left: Vec<(Vec<u8>, Ino, FileType)>,
}

/// Shows everything below a directory, which the caller knows by a path. Entries that the tree or
/// the visitor cannot read go to `unread`.
pub fn tree(
    image: &dyn Image,
    (start, path): (Ino, &[u8]),
    options: TreeOptions,
    unread: &mut Unread,
    show: &mut dyn FnMut(TreeEntry<'_>) -> Result<()>,
) -> Result<()> {
    if options.max_depth == Some(0) {
        return Ok(());
    }
    let mut path = path.to_vec();
    let mut levels = vec![level(image, (start, &path), options, unread)?];
    let mut above = HashSet::from([start]);
    let mut entered = 1_u64;
    let mut last: Vec<bool> = Vec::new();
    while let Some(depth) = levels.len().checked_sub(1)
        && let Some(top) = levels.last_mut()
    {
        last.truncate(depth);
        let Some((name, ino, kind)) = top.left.pop() else {
            above.remove(&top.dir);
            levels.pop();
            continue;
        };
        last.push(top.left.is_empty());
        path.truncate(top.path);
        if !(path.is_empty() || path.ends_with(b"/")) {
            path.push(b'/');
        }
        path.extend_from_slice(&name);
        let shown = show(TreeEntry {
            name: &name,
            ino,
            kind,
            last: &last,
        });
        unread.settle(&path, shown)?;
        let deeper = options.max_depth.is_none_or(|max| levels.len() < max);
        if kind == FileType::Directory && deeper {
            entered += 1;
            // one that is in several places would be shown again in each
            let error = || Error::corrupt("a directory is in more than one place");
            if above.contains(&ino) {
                unread.note(&path, error())?;
            } else if entered > image.info().totals.inodes {
                return Err(error().path(names::path(&path)));
            } else {
                above.insert(ino);
                levels.push(level(image, (ino, &path), options, unread)?);
            }
        } else if kind != FileType::Directory {
            let inode = image.inode(ino).map_err(Error::into_corrupt_entry);
            unread.settle(&path, inode)?;
        }
    }
    Ok(())
}

/// Lists a directory as far as that is possible.
fn level(
    image: &dyn Image,
    (dir, path): (Ino, &[u8]),
    options: TreeOptions,
    unread: &mut Unread,
) -> Result<Level> {
    let (mut left, mut at, mut result) = (Vec::new(), Cursor::START, Ok(()));
    let listed = image.read_dir(dir, at, &mut |dirent| {
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
    });
    let listed = listed.map_err(Error::into_corrupt_entry).and(result);
    unread.settle(path, listed)?;
    left.reverse();
    Ok(Level {
        dir,
        path: path.len(),
        left,
    })
}
