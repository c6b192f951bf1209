//! Calls that only Linux has: `openat2`, `O_PATH`, `statx`, `getdents` into large buffers.
//!
//! In: open directories and names. Out: open files and their status. **Invariant:** `openat2`
//! refuses every symlink; where it is missing, components are opened one by one.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;

use rustix::fs::{
    self, AtFlags, Mode, OFlags, RawDir, ResolveFlags, Statx, StatxFlags, StatxTimestamp,
};
use rustix::io::Errno;
use sinterfs_model::{FileType, Meta, Rdev, Time, Times};

use super::super::{OpenFor, within};
use super::{followed, open_each};
use crate::status::{Identity, Status};

/// The way through a directory.
pub(super) const PATH: OFlags = OFlags::PATH;

/// A name of any type.
pub(super) const LOOK: OFlags = OFlags::PATH;

/// The longest step in bytes: less than `PATH_MAX` (4096, including the NUL).
const MAX_STEP_LEN: usize = 4000;

/// Bytes of directory entries a `getdents` call may return.
const LISTING: usize = 64 << 10;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// Opens a path of any length: it is walked in steps shorter than `PATH_MAX`.
pub(super) fn open_beneath(root: &File, path: &[u8], flags: OFlags) -> rustix::io::Result<File> {
    let through = PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<File> = None;
    let mut rest = path;
    loop {
        let dir = at.as_ref().unwrap_or(root);
        let (step, after) = split(rest);
        if after.is_empty() {
            return open_step(dir, step, flags | OFlags::NOFOLLOW);
        }
        at = Some(open_step(dir, step, through)?);
        rest = after;
    }
}

/// Splits off the longest step of whole components; the rest has no leading slash.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    // a name has at most 255 bytes, so a step contains a slash
    let end = match path.get(..MAX_STEP_LEN) {
        Some(front) if path.len() > MAX_STEP_LEN => front.iter().rposition(|&byte| byte == b'/'),
        _ => None,
    };
    match end.map(|end| path.split_at(end)) {
        Some((step, rest)) => (step, rest.get(1..).unwrap_or_default()),
        None => (path, &[]),
    }
}

fn open_step(dir: &File, step: &[u8], flags: OFlags) -> rustix::io::Result<File> {
    if step.is_empty() {
        return Ok(fs::openat(dir, ".", flags, Mode::empty())?.into());
    }
    match fs::openat2(dir, step, flags, Mode::empty(), BENEATH) {
        // a kernel before 5.6, a sandbox that refuses the call, a rename elsewhere
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => open_each(dir, step, flags),
        result => Ok(result?.into()),
    }
}

pub(crate) fn open_within(
    dir: &File,
    path: &[u8],
    open: OpenFor,
    follow: bool,
) -> io::Result<Option<File>> {
    if path.starts_with(b"/") {
        return Ok(None);
    }
    let name = if path.is_empty() { b"." } else { path };
    let flags = followed(open, follow);
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match fs::openat2(dir, name, flags, Mode::empty(), resolve) {
        Err(Errno::XDEV) => Ok(None),
        // a kernel before 5.6, a sandbox that refuses the call, a rename elsewhere, a long path
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG) => {
            within::open_within(dir, path, open, follow)
        }
        result => Ok(Some(result?.into())),
    }
}

pub(crate) fn list(dir: &File, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
    let mut buffer = vec![MaybeUninit::uninit(); LISTING];
    fs::seek(dir, fs::SeekFrom::Start(0))?;
    let mut listing = RawDir::new(dir, &mut buffer);
    while let Some(found) = listing.next() {
        let name = match &found {
            Ok(found) => found.file_name().to_bytes(),
            Err(Errno::INTR) => continue,
            Err(errno) => return Err((*errno).into()),
        };
        if !matches!(name, b"." | b"..") && each(name).is_break() {
            break;
        }
    }
    Ok(())
}

pub(crate) fn status_of(file: &File) -> io::Result<Status> {
    let found = fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    Ok(convert(&found))
}

pub(crate) fn status(dir: &File, name: &[u8]) -> io::Result<Status> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let found = fs::statx(dir, name, flags, StatxFlags::BASIC_STATS)?;
    Ok(convert(&found))
}

/// Changes the permissions through `/proc`: `fchmod` does not take a file that is open only for its
/// path.
pub(crate) fn set_looked_mode(file: &File, mode: u32) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(fs::chmodat(
        fs::CWD,
        &path,
        Mode::from_raw_mode(mode & 0o7777),
        AtFlags::empty(),
    )?)
}

pub(super) fn make_special(
    dir: &File,
    name: &[u8],
    kind: FileType,
    mode: Mode,
    rdev: Rdev,
) -> rustix::io::Result<()> {
    let (kind, number) = match kind {
        FileType::CharDevice => (fs::FileType::CharacterDevice, rdev.to_dev_t()),
        FileType::BlockDevice => (fs::FileType::BlockDevice, rdev.to_dev_t()),
        FileType::Socket => (fs::FileType::Socket, 0),
        _ => (fs::FileType::Fifo, 0),
    };
    fs::mknodat(dir, name, kind, mode, number)
}

fn convert(stat: &Statx) -> Status {
    let times = Times {
        modified: time(&stat.stx_mtime),
        accessed: time(&stat.stx_atime),
        changed: time(&stat.stx_ctime),
    };
    let device = Rdev {
        major: stat.stx_dev_major,
        minor: stat.stx_dev_minor,
    };
    Status {
        identity: Identity {
            device,
            ino: stat.stx_ino,
        },
        kind: FileType::from_mode(u32::from(stat.stx_mode)),
        meta: Meta {
            mode: stat.stx_mode & 0o7777,
            uid: stat.stx_uid,
            gid: stat.stx_gid,
            times,
        },
        nlink: stat.stx_nlink,
        size: stat.stx_size,
        rdev: Rdev {
            major: stat.stx_rdev_major,
            minor: stat.stx_rdev_minor,
        },
    }
}

fn time(stamp: &StatxTimestamp) -> Time {
    Time {
        secs: stamp.tv_sec,
        nanos: stamp.tv_nsec,
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
        let root = File::open(dir.path()).unwrap();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        for way in [open_step, open_each] {
            assert!(way(&root, b"a/file", flags).is_ok());
            assert_eq!(way(&root, b"a/none", flags).unwrap_err(), Errno::NOENT);
            assert_eq!(way(&root, b"a/link", flags).unwrap_err(), Errno::LOOP);
            let error = way(&root, b"link/file", flags).unwrap_err();
            assert!(matches!(error, Errno::LOOP | Errno::NOTDIR), "{error}");
        }
    }

    #[test]
    fn permissions_are_those_of_the_file_that_was_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let root = crate::Directory::open(dir.path(), OpenFor::Walk).unwrap();
        for name in [b"fifo", b"else"] {
            let made = root.make_special(name, FileType::Fifo, 0o600, Rdev::default());
            made.unwrap();
        }
        let looked_at = root.open_beneath(b"fifo", OpenFor::Look).unwrap();
        root.rename(b"fifo", b"away").unwrap();
        root.rename(b"else", b"fifo").unwrap();
        crate::Directory::set_mode_of(&looked_at, 0o4711).unwrap();
        assert_eq!(root.status(b"away").unwrap().meta.mode, 0o4711);
        assert_eq!(root.status(b"fifo").unwrap().meta.mode, 0o600);
    }

    #[test]
    fn steps_end_at_a_slash() {
        assert_eq!(split(b"a/b"), (&b"a/b"[..], &b""[..]));
        let long = [&[b'a'; 250][..]; 20].join(&b'/');
        let (step, rest) = split(&long);
        assert_eq!(step.len() + 1 + rest.len(), long.len());
        assert!(step.len() <= MAX_STEP_LEN && step.ends_with(b"a") && rest.starts_with(b"a"));
    }
}
