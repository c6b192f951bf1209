//! Writes the lines of a list.
//!
//! Enters a name with its inode and the digest of its content; leaves `./path key=value ...`.
//! **Invariant:** a line is ASCII without blanks but those between its words: every other byte of a
//! name is `\ooo`, as vis(3) has it, so that no name can look like another line. Keys: those that
//! both NetBSD's mtree and libarchive know.

use std::fmt::Write;

use sinterfs_model::FileType;

use crate::{LinkTarget, Outgoing};

/// The first line of a list.
pub const SIGNATURE: &str = "#mtree\n";

/// The last name of a list, so that a name in the same directory, or below it, is escaped from
/// there on: a deep tree costs no more than its bytes.
#[derive(Debug, Default)]
pub struct LastName {
    path: Vec<u8>,
    text: String,
}

impl LastName {
    fn escaped(&mut self, path: &[u8]) -> &str {
        let is_below = path.starts_with(&self.path);
        if !is_below {
            // no slash is escaped, and none is in an escaped byte
            let slash = self.path.iter().rposition(|&byte| byte == b'/');
            let dir = slash.map_or(0, |slash| slash + 1);
            let is_beside = self
                .path
                .get(..dir)
                .is_some_and(|dir| path.starts_with(dir));
            let text = self.text.rfind('/').map_or(0, |slash| slash + 1);
            self.path.truncate(if is_beside { dir } else { 0 });
            self.text.truncate(if is_beside { text } else { 0 });
        }
        let rest = path.get(self.path.len()..).unwrap_or_default();
        escape(&mut self.text, rest);
        self.path.extend_from_slice(rest);
        &self.text
    }
}

/// Appends the line of a name. `digest` is SHA-256 of a file's content.
///
/// `lost` receives what the list does not store.
pub fn line(
    out: &mut String,
    last: &mut LastName,
    entry: &Outgoing<'_>,
    digest: Option<&[u8; 32]>,
    lost: &mut dyn FnMut(&'static str),
) {
    let (inode, meta) = (entry.inode, &entry.inode.meta);
    if !entry.xattrs.is_empty() {
        lost("files with extended attributes, which mtree does not have");
    }
    out.push('.');
    if !entry.path.is_empty() {
        out.push('/');
        out.push_str(last.escaped(entry.path));
    }
    // writing to a string cannot fail
    let _ = write!(
        out,
        " type={} mode={:04o} uid={} gid={} nlink={}",
        kind(inode.kind),
        meta.mode,
        meta.uid,
        meta.gid,
        inode.nlink
    );
    let time = meta.times.modified;
    let _ = write!(out, " time={}.{:09}", time.secs, time.nanos);
    match (inode.kind, entry.link) {
        (FileType::File, _) => {
            let _ = write!(out, " size={}", inode.size);
        }
        (FileType::CharDevice | FileType::BlockDevice, _) => {
            let (major, minor) = (inode.rdev.major, inode.rdev.minor);
            let _ = write!(out, " device=native,{major},{minor}");
        }
        (FileType::Symlink, LinkTarget::Symbolic(target)) => {
            out.push_str(" link=");
            escape(out, target);
        }
        _ => {}
    }
    if let Some(digest) = digest {
        out.push_str(" sha256=");
        for byte in digest {
            let _ = write!(out, "{byte:02x}");
        }
    }
    out.push('\n');
}

const fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "dir",
        FileType::File => "file",
        FileType::Symlink => "link",
        FileType::CharDevice => "char",
        FileType::BlockDevice => "block",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
    }
}

/// Returns whether a byte of a name means itself.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'#' | b'=' | b'\\' | b'*' | b'?' | b'[')
}

/// Appends a name; what could mean something else than itself is escaped.
fn escape(out: &mut String, name: &[u8]) {
    let mut rest = name;
    while !rest.is_empty() {
        let plain = rest.iter().position(|byte| !is_plain(*byte));
        let (front, after) = rest.split_at(plain.unwrap_or(rest.len()));
        out.push_str(std::str::from_utf8(front).unwrap_or_default());
        if let Some((byte, after)) = after.split_first() {
            let _ = write!(out, "\\{byte:03o}");
            rest = after;
        } else {
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Ino, Inode, Meta, Rdev, Time, Times};

    use super::*;

    #[test]
    fn lines() {
        let mut inode = Inode {
            ino: Ino(1),
            kind: FileType::File,
            meta: Meta {
                mode: 0o644,
                uid: 1,
                gid: 2,
                times: Times::all(Time {
                    secs: -3,
                    nanos: 40,
                }),
            },
            nlink: 2,
            size: 5,
            allocated: 5,
            rdev: Rdev { major: 8, minor: 1 },
        };
        let mut out = String::new();
        let mut last = LastName::default();
        let mut add = |path: &[u8], inode: &Inode, link, digest: Option<&[u8; 32]>| {
            let entry = Outgoing {
                path,
                inode,
                link,
                xattrs: &[],
                data: None,
            };
            line(&mut out, &mut last, &entry, digest, &mut |what| {
                panic!("{what}")
            });
        };
        add(b"a b\n\xff#", &inode, LinkTarget::None, Some(&[0xab; 32]));
        inode.kind = FileType::Symlink;
        add(b"l", &inode, LinkTarget::Symbolic(b"x=\\"), None);
        inode.kind = FileType::BlockDevice;
        add(b"d/sda", &inode, LinkTarget::None, None);
        inode.kind = FileType::Directory;
        add(b"", &inode, LinkTarget::None, None);
        let expected = format!(
            "./a\\040b\\012\\377\\043 type=file mode=0644 uid=1 gid=2 nlink=2 time=-3.000000040 size=5 sha256={}\n\
             ./l type=link mode=0644 uid=1 gid=2 nlink=2 time=-3.000000040 link=x\\075\\134\n\
             ./d/sda type=block mode=0644 uid=1 gid=2 nlink=2 time=-3.000000040 device=native,8,1\n\
             . type=dir mode=0644 uid=1 gid=2 nlink=2 time=-3.000000040\n",
            "ab".repeat(32)
        );
        assert_eq!(out, expected);
    }

    #[test]
    fn names_after_others_are_escaped_as_alone() {
        let paths = [
            "a", "a/b c", "a/b c/d", "a/b cd", "a/b", "a/b/x", "b#", "b#/", "", "z",
        ];
        let mut last = LastName::default();
        for path in paths {
            let alone = LastName::default().escaped(path.as_bytes()).to_owned();
            assert_eq!(last.escaped(path.as_bytes()), alone);
        }
    }
}
