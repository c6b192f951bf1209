//! Writes the members of a cpio archive: what precedes the content of each, and the end.
//!
//! Enters a name with its inode and a number for the inode; leaves a header of hexadecimal digits.
//! **Invariant:** the bytes depend only on the input. Values that do not fit into 32 bits are
//! reported, and files of 4 GiB and more are refused. Spec: see the parent.

use sinterfs_model::{FileType, Time};

use crate::{Follows, LinkTarget, Outgoing};

/// Headers with their names, and contents, are padded to this.
const UNIT: usize = 4;
/// Archives are padded to this.
const RECORD: u64 = 512;
/// The name that ends an archive.
const TRAILER: &[u8] = b"TRAILER!!!";

/// Appends what precedes the content of a member, and returns what must follow; `None`, with
/// nothing appended, for a file that is too long.
///
/// `number` is the inode number; members with the same number are names of one file, and the last
/// of them has the content (`has_content`). `lost` receives what the archive does not store.
pub fn header(
    out: &mut Vec<u8>,
    entry: &Outgoing<'_>,
    number: u32,
    has_content: bool,
    lost: &mut dyn FnMut(&'static str),
) -> Option<Follows> {
    let inode = entry.inode;
    let target = match entry.link {
        LinkTarget::Symbolic(target) => target,
        _ => b"",
    };
    let whole = match inode.kind {
        FileType::File => inode.size,
        FileType::Symlink => target.len() as u64,
        _ => 0,
    };
    let Ok(whole) = u32::try_from(whole) else {
        lost("files of 4 GiB or more, which cpio does not have");
        return None;
    };
    if !entry.xattrs.is_empty() {
        lost("files with extended attributes, which cpio does not have");
    }
    let is_elsewhere = inode.kind == FileType::File && !has_content;
    let len = if is_elsewhere { 0 } else { whole };
    let meta = &inode.meta;
    let (major, minor) = match inode.kind {
        FileType::CharDevice | FileType::BlockDevice => (inode.rdev.major, inode.rdev.minor),
        _ => (0, 0),
    };
    let mode = inode.kind.bits() | u32::from(meta.mode);
    let name = name(entry.path);
    let fields = [
        number,
        mode,
        meta.uid,
        meta.gid,
        inode.nlink,
        seconds(meta.times.modified, lost),
        len,
        0,
        0,
        major,
        minor,
    ];
    append(out, &fields, &name);
    if inode.kind == FileType::Symlink {
        out.extend_from_slice(target);
        pad(out);
        return Some(Follows::of(0, UNIT as u64));
    }
    Some(Follows::of(u64::from(len), UNIT as u64))
}

/// Appends what ends an archive that is `len` bytes long so far.
pub fn end(out: &mut Vec<u8>, len: u64) {
    let start = out.len();
    append(out, &[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], TRAILER);
    let all = len + (out.len() - start) as u64;
    let zeros = all.next_multiple_of(RECORD) - all;
    let padded = (0..zeros).map(|_| 0);
    out.extend(padded);
}

/// Returns a path as archives have it; the root is `.`, and what would end the archive gets another
/// form.
fn name(path: &[u8]) -> Vec<u8> {
    match path {
        b"" => b".".to_vec(),
        TRAILER => [b"./", TRAILER].concat(),
        path => path.to_vec(),
    }
}

/// Returns the seconds of a time as 32 bits hold them.
fn seconds(time: Time, lost: &mut dyn FnMut(&'static str)) -> u32 {
    if time.nanos != 0 {
        lost("fractions of a second, which cpio does not have");
    }
    u32::try_from(time.secs).unwrap_or_else(|_| {
        lost("times before 1970 or after 2106, which cpio does not have");
        if time.secs < 0 { 0 } else { u32::MAX }
    })
}

fn append(out: &mut Vec<u8>, fields: &[u32; 11], name: &[u8]) {
    debug_assert_eq!(out.len() % UNIT, 0);
    out.extend_from_slice(b"070701");
    let len = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
    // the last is a sum of the content, which this variant leaves 0
    for field in fields.iter().chain(&[len, 0]) {
        out.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    out.extend_from_slice(name);
    out.push(0);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(UNIT), 0);
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Ino, Inode, Meta, Rdev, Times};

    use super::*;

    fn inode(kind: FileType, size: u64, time: Time) -> Inode {
        Inode {
            ino: Ino(7),
            kind,
            meta: Meta {
                mode: 0o644,
                uid: u32::MAX,
                gid: 2,
                times: Times::all(time),
            },
            nlink: 1,
            size,
            allocated: size,
            rdev: Rdev::default(),
        }
    }

    fn write(
        path: &[u8],
        inode: &Inode,
        link: LinkTarget<'_>,
    ) -> (Vec<u8>, Option<Follows>, usize) {
        let (mut out, mut losses) = (Vec::new(), 0);
        let entry = Outgoing {
            path,
            inode,
            link,
            xattrs: &[],
            data: None,
        };
        let follows = header(&mut out, &entry, 5, true, &mut |_| losses += 1);
        (out, follows, losses)
    }

    #[test]
    fn a_header_of_digits() {
        let file = inode(FileType::File, 5, Time { secs: 16, nanos: 0 });
        let (bytes, follows, losses) = write(b"ab", &file, LinkTarget::None);
        let expected = "07070100000005000081a4ffffffff00000002000000010000001000000005\
                        0000000000000000000000000000000000000003000000000ab";
        assert_eq!(&bytes[..110], &expected.as_bytes()[..110]);
        assert_eq!(&bytes[110..], b"ab\0\0\0\0"[..bytes.len() - 110].as_ref());
        assert_eq!(bytes.len() % 4, 0);
        assert_eq!((follows.unwrap().padding, losses), (3, 0));
    }

    #[test]
    fn reports_attributes_that_cpio_cannot_keep() {
        let time = Time { secs: -1, nanos: 1 };
        let (_, follows, losses) = write(
            b"a",
            &inode(FileType::File, 1 << 32, time),
            LinkTarget::None,
        );
        assert_eq!((follows, losses), (None, 1));
        let (bytes, _, losses) = write(b"a", &inode(FileType::File, 1, time), LinkTarget::None);
        assert_eq!(losses, 2);
        assert_eq!(&bytes[46..54], b"00000000");
    }

    #[test]
    fn targets_of_symlinks_are_content() {
        let link = inode(FileType::Symlink, 6, Time::default());
        let (bytes, follows, _) = write(b"l", &link, LinkTarget::Symbolic(b"target"));
        assert!(bytes.ends_with(b"target\0\0"));
        assert_eq!(follows.unwrap().content, 0);
    }

    #[test]
    fn nothing_but_the_end_is_named_so() {
        let file = inode(FileType::File, 0, Time::default());
        let (bytes, _, _) = write(TRAILER, &file, LinkTarget::None);
        assert!(bytes[110..].starts_with(b"./TRAILER!!!\0"));
        let mut out = Vec::new();
        end(&mut out, 400);
        assert_eq!((out.len() + 400) % 512, 0);
    }
}
