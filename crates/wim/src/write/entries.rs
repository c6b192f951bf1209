//! The directory entry of a name: fixed fields, the name, and items.
//!
//! In: a node and what it refers to. Out: the bytes of its entry.
//!
//! **Invariant:** the length of an entry depends only on name and node, not on positions. Format:
//! `docs/formats/wim.md`, "Metadata".

use sinterfs_block::checksum::Sha1Digest;
use sinterfs_model::{Content, FileType, Node, Time, Tree};

use crate::layout::{attributes, items, reparse};

/// Seconds from 1601 to 1970.
const EPOCH: i64 = 11_644_473_600;

/// The length of an entry in bytes, without names.
const ENTRY_LEN: usize = 102;

/// The length of the entry of a stream in bytes, without its name.
const STREAM_LEN: usize = 38;

/// Nanoseconds in the unit of times.
pub(super) const UNIT_NANOS: u32 = 100;

/// The most bytes of the value of an extended attribute.
const VALUE_MAX: usize = u16::MAX as usize;

/// The most bytes of the name of an extended attribute.
const XATTR_NAME_MAX: usize = u8::MAX as usize;

/// The content that an entry refers to.
#[derive(Debug, Clone, Default)]
pub(super) struct References {
    pub(super) listing: u64,
    pub(super) digest: Sha1Digest,
    /// The tag of a symlink.
    pub(super) tag: u32,
    /// The number that all names of one inode have; 0 for a single name.
    pub(super) group: u64,
    /// The names of named streams in UTF-16, with their digests.
    pub(super) streams: Vec<(Vec<u8>, Sha1Digest)>,
}

/// Converts a time to units of 100 ns since 1601; times before are 0.
pub(super) fn units(time: Time) -> u64 {
    let secs = time.secs.saturating_add(EPOCH);
    let secs = u64::try_from(secs).unwrap_or(0);
    secs.saturating_mul(10_000_000)
        .saturating_add(u64::from(time.nanos / UNIT_NANOS))
}

/// Returns whether an extended attribute can be stored.
pub(super) fn fits(name: &[u8], value: &[u8]) -> bool {
    let is_name = (1..=XATTR_NAME_MAX).contains(&name.len()) && !name.contains(&0);
    is_name && value.len() <= VALUE_MAX
}

/// Appends the entry of a name in UTF-16, and of its streams; `is_stream` are the attributes that
/// are among these.
pub(super) fn put(
    out: &mut Vec<u8>,
    (tree, node): (&Tree, &Node),
    name: &[u8],
    to: &References,
    is_stream: &dyn Fn(&[u8]) -> bool,
) {
    let start = out.len();
    let kind = node.content.kind();
    let is_link = kind == FileType::Symlink;
    let flags = match kind {
        FileType::Directory => attributes::DIRECTORY,
        FileType::Symlink => attributes::REPARSE_POINT,
        _ => attributes::NORMAL,
    };
    out.extend([0; 8]);
    out.extend(flags.to_le_bytes());
    out.extend(u32::MAX.to_le_bytes());
    out.extend(to.listing.to_le_bytes());
    out.extend([0; 16]);
    // access times, which any read changes, would make images of one tree differ
    let modified = units(node.meta.times.modified).to_le_bytes();
    out.extend([modified; 3].as_flattened());
    let unnamed = unnamed(kind, to);
    // the digest of a link is in a stream, as is its empty content; so is the digest of other
    // content if there are named streams
    let is_apart = is_link || !to.streams.is_empty();
    out.extend(if is_apart { [0; 20] } else { to.digest });
    out.extend([0; 4]);
    if is_link {
        out.extend(to.tag.to_le_bytes());
        // the target was not changed
        out.extend([0, 0, 1, 0]);
    } else {
        out.extend(to.group.to_le_bytes());
    }
    let streams = u16::try_from(unnamed.len() + to.streams.len()).unwrap_or(0);
    out.extend(streams.to_le_bytes());
    out.extend([0; 2]);
    out.extend(u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
    debug_assert_eq!(out.len() - start, ENTRY_LEN);
    out.extend_from_slice(name);
    if !name.is_empty() {
        out.extend([0; 2]);
    }
    pad(out);
    put_items(out, tree, node, is_stream);
    let len = (out.len() - start) as u64;
    if let Some(room) = out.get_mut(start..start + 8) {
        room.copy_from_slice(&len.to_le_bytes());
    }
    for digest in &unnamed {
        put_stream(out, b"", digest);
    }
    for (name, digest) in &to.streams {
        put_stream(out, name, digest);
    }
}

/// Returns the digests of the streams without a name that follow an entry.
fn unnamed(kind: FileType, to: &References) -> Vec<Sha1Digest> {
    match kind {
        FileType::Symlink => vec![to.digest, [0; 20]],
        FileType::File if !to.streams.is_empty() => vec![to.digest],
        _ => Vec::new(),
    }
}

/// Appends a stream.
fn put_stream(out: &mut Vec<u8>, name: &[u8], digest: &Sha1Digest) {
    let end = if name.is_empty() { 0 } else { 2 };
    let len = (STREAM_LEN + name.len() + end).next_multiple_of(8) as u64;
    out.extend(len.to_le_bytes());
    out.extend([0; 8]);
    out.extend(digest);
    out.extend(u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
    out.extend_from_slice(name);
    out.extend([0; 2].get(..end).unwrap_or_default());
    pad(out);
}

fn put_items(out: &mut Vec<u8>, tree: &Tree, node: &Node, is_stream: &dyn Fn(&[u8]) -> bool) {
    let meta = &node.meta;
    let rdev = match node.content {
        Content::CharDevice(rdev) | Content::BlockDevice(rdev) => rdev.to_dev_t(),
        _ => 0,
    };
    let mode = node.content.kind().bits() | u32::from(meta.mode);
    let words = [meta.uid, meta.gid, mode, u32::try_from(rdev).unwrap_or(0)];
    put_item(out, items::UNIX_DATA, &words.map(u32::to_le_bytes).concat());
    let mut xattrs = Vec::new();
    for (name, value) in tree.xattrs().pairs(node.xattrs) {
        if !fits(name, value) || is_stream(name) {
            continue;
        }
        xattrs.extend(u16::try_from(value.len()).unwrap_or(0).to_le_bytes());
        xattrs.extend([u8::try_from(name.len()).unwrap_or(0), 0]);
        xattrs.extend_from_slice(name);
        xattrs.push(0);
        xattrs.extend_from_slice(value);
    }
    if !xattrs.is_empty() {
        put_item(out, items::XATTRS, &xattrs);
    }
}

fn put_item(out: &mut Vec<u8>, tag: u32, content: &[u8]) {
    out.extend(tag.to_le_bytes());
    out.extend(u32::try_from(content.len()).unwrap_or(0).to_le_bytes());
    out.extend_from_slice(content);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

/// Returns tag and data of the reparse point of a symlink.
pub(super) fn link_data(target: &[u8]) -> (u32, Vec<u8>) {
    let converted = (!target.contains(&b'\\'))
        .then(|| super::text::to_utf16(target))
        .flatten();
    let named = converted.and_then(|name| {
        let name = backslashes(name);
        let (prefix, drive, flags) = match target.first() {
            Some(b'/') => (r"\??\", "C:", 0_u32),
            _ => ("", "", 1),
        };
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let shown = [wide(drive), name].concat();
        let substitute = [wide(prefix), shown.clone()].concat();
        let (long, short) = (u16::try_from(substitute.len()), u16::try_from(shown.len()));
        let (long, short) = (long.ok()?, short.ok()?);
        let heads = [0, long, long.checked_add(2)?, short];
        let mut data = heads.map(u16::to_le_bytes).concat();
        data.extend(flags.to_le_bytes());
        data.extend(substitute);
        data.extend([0; 2]);
        data.extend(shown);
        data.extend([0; 2]);
        (data.len() < 16 << 10).then_some((reparse::SYMLINK, data))
    });
    // what has no form of Windows is stored as Linux programs on Windows do
    named.unwrap_or_else(|| {
        let kind = 2_u32.to_le_bytes();
        (reparse::LX_SYMLINK, [&kind, target].concat())
    })
}

fn backslashes(mut name: Vec<u8>) -> Vec<u8> {
    for unit in name.as_chunks_mut::<2>().0 {
        if *unit == [b'/', 0] {
            *unit = [b'\\', 0];
        }
    }
    name
}
