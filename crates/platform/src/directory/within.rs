//! Paths that lead through symlinks, but not out of a directory, name by name: what `openat2` of
//! Linux does in one call.
//!
//! In: an open directory and a path. Out: an open file. **Invariant:** each name is opened in the
//! directory before it without following it, and `..` is the directory that was walked through: a
//! text of a symlink leads on from there, however names change meanwhile.

use std::fs::File;
use std::io;

use sinterfs_model::FileType;

use super::{OpenFor, system};

/// The most symlinks that a path may lead through, as on Linux.
const MAX_LINKS: usize = 40;

/// Opens a path; `None` if it leads out. The last name is followed if `follow`.
pub(crate) fn open_within(
    root: &File,
    path: &[u8],
    open: OpenFor,
    follow: bool,
) -> io::Result<Option<File>> {
    let mut todo = Vec::new();
    if !push(&mut todo, path) {
        return Ok(None);
    }
    let mut way: Vec<File> = Vec::new();
    let mut links = 0;
    while let Some(name) = todo.pop() {
        match &*name {
            b"" | b"." => continue,
            b".." if way.pop().is_some() => continue,
            b".." => return Ok(None),
            _ => {}
        }
        let (here, is_last) = (way.last().unwrap_or(root), todo.is_empty());
        if (follow || !is_last) && is_symlink(here, &name)? {
            links += 1;
            if links > MAX_LINKS {
                return Err(io::Error::other("too many symlinks"));
            }
            if !push(&mut todo, &system::read_link(here, &name)?) {
                return Ok(None);
            }
        } else if is_last {
            return system::child(here, &name, open).map(Some);
        } else {
            way.push(system::child(here, &name, OpenFor::Walk)?);
        }
    }
    system::open_beneath(way.last().unwrap_or(root), b"", open).map(Some)
}

fn is_symlink(dir: &File, name: &[u8]) -> io::Result<bool> {
    Ok(system::status(dir, name)?.kind == Some(FileType::Symlink))
}

/// Adds the names of a path in front of those to walk; returns whether it begins where they do.
fn push(todo: &mut Vec<Vec<u8>>, path: &[u8]) -> bool {
    todo.extend(path.rsplit(|&byte| byte == b'/').map(<[u8]>::to_vec));
    !path.starts_with(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Directory;

    /// Opens paths by the name-by-name way and by that of the system.
    fn identity(dir: &Directory, path: &str, follow: bool) -> [Option<Option<u64>>; 2] {
        let ino = |found: io::Result<Option<File>>| match found {
            Ok(Some(file)) => Some(Some(Directory::status_of(&file).unwrap().identity.ino)),
            Ok(None) => Some(None),
            Err(_) => None,
        };
        [
            ino(open_within(
                dir.as_file(),
                path.as_bytes(),
                OpenFor::Look,
                follow,
            )),
            ino(dir.open_within(path.as_bytes(), OpenFor::Look, follow)),
        ]
    }

    #[test]
    fn symlinks_are_followed_and_do_not_lead_out() {
        let held = tempfile::tempdir().unwrap();
        let dir = Directory::open(held.path(), OpenFor::Walk).unwrap();
        std::fs::create_dir_all(held.path().join("a/b")).unwrap();
        std::fs::write(held.path().join("a/file"), b"").unwrap();
        for (name, text) in [
            ("dir", "a"),
            ("one", "dir/b/../file"),
            ("out", "a/../../x"),
            ("root", "/"),
            ("loop", "loop"),
            ("none", "missing"),
        ] {
            let is_dir = !matches!(name, "one" | "none");
            match dir.make_symlink(name.as_bytes(), text.as_bytes(), is_dir) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported && cfg!(windows) => {
                    eprintln!("skipped: {error}");
                    return;
                }
                made => made.unwrap(),
            }
        }
        let ino = |path: &str| identity(&dir, path, false)[0].flatten().unwrap();
        let file = Some(Some(ino("a/file")));
        for (path, found) in [
            ("dir/file", file),
            ("./dir//file", file),
            ("one", file),
            ("dir/../one", file),
            ("dir", Some(Some(ino("a")))),
            ("", Some(Some(ino(".")))),
            ("a/..", Some(Some(ino("")))),
            ("out", Some(None)),
            ("root/x", Some(None)),
            ("..", Some(None)),
            ("/a", Some(None)),
            ("loop", None),
            ("none", None),
            ("one/x", None),
        ] {
            assert_eq!(identity(&dir, path, true), [found; 2], "{path}");
        }
        // only macOS cannot look at a symlink
        let one = dir.status(b"one").unwrap().identity.ino;
        if !cfg!(target_vendor = "apple") {
            assert_eq!(identity(&dir, "one", false), [Some(Some(one)); 2]);
        }
    }
}
