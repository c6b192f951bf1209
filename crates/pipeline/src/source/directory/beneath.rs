//! Opens paths beneath a directory without following symlinks.
//!
//! **Invariant:** no component is resolved through a symlink. Paths of any length work, because
//! they are walked in steps shorter than `PATH_MAX`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::{Errno, Result};

/// The longest step in bytes: less than `PATH_MAX` (4096, including the NUL).
const STEP: usize = 4000;

/// Opens a path relative to `root`; the empty path is the root itself.
pub(in crate::source) fn open(root: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<OwnedFd> = None;
    let mut rest = path;
    loop {
        let dir = at.as_ref().map_or(root, AsFd::as_fd);
        let (step, after) = split(rest);
        if after.is_empty() {
            return open_step(dir, step, flags);
        }
        at = Some(open_step(dir, step, through)?);
        rest = after;
    }
}

/// Splits off the longest step of whole components; the rest has no leading slash.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    if path.len() <= STEP {
        return (path, &[]);
    }
    // a name has at most 255 bytes, so the step contains a slash
    let end = path[..STEP]
        .iter()
        .rposition(|&byte| byte == b'/')
        .unwrap_or(STEP);
    (&path[..end], path.get(end + 1..).unwrap_or_default())
}

fn open_step(dir: BorrowedFd<'_>, step: &[u8], flags: OFlags) -> Result<OwnedFd> {
    if step.is_empty() {
        return openat(dir, ".", flags, Mode::empty());
    }
    match openat2(dir, step, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // a kernel before 5.6, or a sandbox that refuses the call
        Err(Errno::NOSYS | Errno::PERM) => open_each(dir, step, flags),
        result => result,
    }
}

/// Opens a step component by component.
fn open_each(dir: BorrowedFd<'_>, step: &[u8], flags: OFlags) -> Result<OwnedFd> {
    let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<OwnedFd> = None;
    let mut names = step.split(|&byte| byte == b'/').peekable();
    loop {
        let name = names.next().ok_or(Errno::NOENT)?;
        let dir = at.as_ref().map_or(dir, AsFd::as_fd);
        if names.peek().is_none() {
            return openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty());
        }
        at = Some(openat(dir, name, through, Mode::empty())?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn both_ways_refuse_symlinks_and_open_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/file"), "x").unwrap();
        symlink("a", dir.path().join("link")).unwrap();
        symlink("file", dir.path().join("a/link")).unwrap();
        let root = std::fs::File::open(dir.path()).unwrap();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        for way in [open_step, open_each] {
            assert!(way(root.as_fd(), b"a/file", flags).is_ok());
            assert_eq!(
                way(root.as_fd(), b"a/none", flags).unwrap_err(),
                Errno::NOENT
            );
            assert_eq!(
                way(root.as_fd(), b"a/link", flags).unwrap_err(),
                Errno::LOOP
            );
            let error = way(root.as_fd(), b"link/file", flags).unwrap_err();
            assert!(matches!(error, Errno::LOOP | Errno::NOTDIR), "{error}");
        }
    }

    #[test]
    fn steps_end_at_a_slash() {
        assert_eq!(split(b"a/b"), (&b"a/b"[..], &b""[..]));
        let long = [&[b'a'; 250][..]; 20].join(&b'/');
        let (step, rest) = split(&long);
        assert_eq!(step.len() + 1 + rest.len(), long.len());
        assert!(step.len() <= STEP && step.ends_with(b"a") && rest.starts_with(b"a"));
    }
}
