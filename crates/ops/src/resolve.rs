//! Finds the inode that a path names inside an image.
//!
//! **Invariant:** never leaves the image: `..` of the root is the root, and absolute targets of
//! symlinks start at the image's root.

use sinterfs_model::{Error, FileType, Image, Ino, Kind, Result};
use sinterfs_platform::names;

/// Whether symlinks in a path are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// No symlink is followed, not even on the way: such a path is not found.
    Nothing,
    /// All are followed except one that the whole path names.
    Parents,
    /// All are followed.
    All,
}

/// The number of symlinks that a path may go through, as Linux has it.
const MAX_LINKS: usize = 40;

/// Finds what a path names; it counts from the root, with or without a leading slash.
///
/// `NotFound` if a component is missing, `NotDirectory` if one before the last is no directory,
/// `Loop` for too many symlinks, `Invalid` for a path that no system call takes: one with a NUL.
pub fn resolve(image: &dyn Image, path: &[u8], follow: Follow) -> Result<Ino> {
    if path.contains(&0) {
        return Err(Error::invalid("a NUL in a path").path(names::path(path)));
    }
    resolve_inner(image, path, follow).map_err(|error| error.path(names::path(path)))
}

/// Follows a path from the root through symlinks, and returns the path of each symlink on the way
/// and of the target, or why there is no target.
///
/// # Errors
/// Errors of reading the image.
pub fn trail(image: &dyn Image, path: &[u8]) -> Result<(Vec<Vec<u8>>, Option<Error>)> {
    let mut way: Vec<Vec<u8>> = Vec::new();
    // the names from the root to here, and the directory of each
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut dirs = vec![image.info().root];
    let mut todo = Vec::new();
    push(&mut todo, path);
    let nothing = |what| Error::not_found(what).path(names::path(path));
    while let Some(name) = todo.pop() {
        let here = dirs.last().copied().unwrap_or(image.info().root);
        match name.as_slice() {
            b"." => continue,
            b".." => {
                names.pop();
                dirs.truncate(dirs.len().saturating_sub(1).max(1));
                continue;
            }
            _ => {}
        }
        if image.inode(here)?.kind != FileType::Directory {
            return Ok((
                way,
                Some(nothing("a component of the path is not a directory")),
            ));
        }
        let Some(found) = image.lookup(here, &name)? else {
            return Ok((way, Some(nothing("no such file or directory"))));
        };
        if image.inode(found)?.kind != FileType::Symlink {
            names.push(name);
            dirs.push(found);
            continue;
        }
        let link = names.iter().chain([&name]).cloned().collect::<Vec<_>>();
        way.push(link.join(&b'/'));
        if way.len() > MAX_LINKS {
            return Ok((way, Some(nothing("too many levels of symbolic links"))));
        }
        let target = image.read_link(found)?;
        if target.starts_with(b"/") {
            names.clear();
            dirs.truncate(1);
        }
        push(&mut todo, &target);
    }
    way.push(names.join(&b'/'));
    Ok((way, None))
}

fn resolve_inner(image: &dyn Image, path: &[u8], follow: Follow) -> Result<Ino> {
    let root = image.info().root;
    let mut here = root;
    let mut kind = image.inode(root)?.kind;
    let mut links = 0;
    // The components still to resolve, the next one last; a trailing slash adds `.`.
    let mut todo = Vec::new();
    push(&mut todo, path);

    while let Some(name) = todo.pop() {
        if kind != FileType::Directory {
            let what = "a component of the path is not a directory";
            return Err(Error::new(Kind::NotDirectory, what));
        }
        match name.as_slice() {
            b"." => continue,
            b".." => {
                here = image.parent(here)?;
                kind = FileType::Directory;
                continue;
            }
            _ => {}
        }
        let found = image.lookup(here, &name)?;
        let found = found.ok_or_else(|| Error::not_found("no such file or directory"))?;
        let last = todo.is_empty();
        let through = match follow {
            Follow::Nothing => false,
            Follow::Parents => !last,
            Follow::All => true,
        };
        // a name that is not followed is last and needs no lookup
        let found_kind = if last && !through {
            kind
        } else {
            image.inode(found)?.kind
        };
        if !through || found_kind != FileType::Symlink {
            here = found;
            kind = found_kind;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Error::new(Kind::Loop, "too many levels of symbolic links"));
        }
        let target = image.read_link(found)?;
        if target.starts_with(b"/") {
            here = root;
        }
        // a directory, as `kind` says, in both cases
        push(&mut todo, &target);
    }
    Ok(here)
}

fn push(todo: &mut Vec<Vec<u8>>, path: &[u8]) {
    if path.ends_with(b"/") {
        todo.push(b".".to_vec());
    }
    let components = path
        .split(|&byte| byte == b'/')
        .filter(|part| !part.is_empty());
    todo.extend(components.rev().map(<[u8]>::to_vec));
}
