//! Reads the mounts of this process from `/proc/self/mountinfo`; see proc(5).
//!
//! **Invariant:** lines that cannot be parsed are ignored.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Result};

/// A mount that this process sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The number of the mount, and of the one on which it is mounted.
    pub(crate) id: u64,
    pub(crate) parent: u64,
    /// The device as `major:minor`.
    pub(crate) device: String,
    /// The mount point.
    pub(crate) point: PathBuf,
    /// The type, for example `fuse.sinter`.
    pub(crate) kind: String,
    /// The source: a device, a file or a name.
    pub(crate) source: PathBuf,
    /// The option `max_read` of FUSE.
    pub(crate) max_read: Option<u32>,
}

/// Lists all mounts, the oldest first.
pub(crate) fn mounts() -> Result<Vec<Mount>> {
    let path = "/proc/self/mountinfo";
    let text = std::fs::read(path).map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "mounting needs /proc, which is not mounted here",
            _ => "cannot list mounts",
        };
        Error::io(what, error).path(path)
    })?;
    Ok(text
        .split(|&byte| byte == b'\n')
        .filter_map(parse)
        .collect())
}

/// Returns the mount at exactly this path, the topmost if there are several.
pub(crate) fn mounted_at(point: &Path) -> Result<Option<Mount>> {
    Ok(mounts()?
        .into_iter()
        .rev()
        .find(|mount| mount.point == point))
}

/// Returns the mount that was made at this path just now. If somebody has unmounted it already, it
/// has no device: its session ends at once, as one that is unmounted later does.
pub(crate) fn made_at(point: &Path) -> Result<Mount> {
    Ok(mounted_at(point)?.unwrap_or_else(|| Mount {
        id: 0,
        parent: 0,
        device: String::new(),
        point: point.to_owned(),
        kind: String::new(),
        source: PathBuf::new(),
        max_read: None,
    }))
}

fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let (id, parent) = (number()?, number()?);
    let device = fields.next()?;
    let point = fields.nth(1)?;
    let mut fields = fields.skip_while(|field| *field != b"-");
    let (kind, source) = (fields.nth(1)?, fields.next()?);
    let mut options = fields
        .next()
        .unwrap_or_default()
        .split(|&byte| byte == b',');
    let max_read = options.find_map(|option| option.strip_prefix(b"max_read="));
    Some(Mount {
        id,
        parent,
        device: String::from_utf8_lossy(device).into_owned(),
        point: PathBuf::from(OsString::from_vec(unescape(point))),
        kind: String::from_utf8_lossy(&unescape(kind)).into_owned(),
        source: PathBuf::from(OsString::from_vec(unescape(source))),
        max_read: max_read.and_then(|bytes| std::str::from_utf8(bytes).ok()?.parse().ok()),
    })
}

/// Decodes octal escapes such as `\040`.
pub(crate) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| first == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = after.get(3..).unwrap_or_default();
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel() {
        let fields = br"36 35 0:57 / /mnt/a\040b\134c rw,noatime master:1 shared:2 ";
        let line = [&fields[..], br"- fuse.sinter x\040y ro,max_read=7"].concat();
        let mount = parse(&line).unwrap();
        assert_eq!((mount.id, mount.parent, mount.max_read), (36, 35, Some(7)));
        assert_eq!(mount.device, "0:57");
        assert_eq!(mount.point, Path::new(r"/mnt/a b\c"));
        assert_eq!(mount.kind, "fuse.sinter");
        assert_eq!(mount.source, Path::new("x y"));
        let plain = parse(b"1 0 8:1 / / rw - ext4 /dev/root rw").unwrap();
        assert_eq!(
            (plain.point.as_path(), plain.kind.as_str()),
            (Path::new("/"), "ext4")
        );
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"1 2 3"), None);
    }

    #[test]
    fn a_mount_that_is_gone_already_has_no_device() {
        let gone = made_at(Path::new("/proc/no such directory")).unwrap();
        assert_eq!(gone.device, "");
        assert_eq!(gone.point, Path::new("/proc/no such directory"));
    }

    #[test]
    fn this_machine_has_a_root() {
        assert!(mounted_at(Path::new("/")).unwrap().is_some());
    }
}
