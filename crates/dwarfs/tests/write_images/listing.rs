//! What a tree looks like from outside, in a form in which trees of all readers compare.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use sinterfs_model::{Content, FileType, NodeId, Rdev, Time};

use crate::sample::{Piece, Sample, keeps_links};

/// Files longer than this are not hashed: reading their holes takes too long.
pub const HASHED: u64 = 64 << 20;

/// One path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub kind: FileType,
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    pub modified: Time,
    /// Bytes of a file.
    pub size: u64,
    /// Hash of a file's content, unless it is too long.
    pub hash: Option<String>,
    pub target: Vec<u8>,
    pub rdev: Rdev,
    /// The first path of the same inode.
    pub first: Vec<u8>,
    /// Names of a file.
    pub nlink: u32,
}

/// All paths but the root's are without a leading slash; the root's is empty.
pub type Listing = BTreeMap<Vec<u8>, Entry>;

/// Returns what a reader should show of a sample whose times have a resolution in nanoseconds.
pub fn expected(sample: &Sample, resolution: u64) -> Listing {
    let mut listing = Listing::new();
    let mut first: BTreeMap<NodeId, Vec<u8>> = BTreeMap::new();
    let mut stack = vec![(Vec::new(), NodeId::ROOT)];
    while let Some((path, id)) = stack.pop() {
        for link in sample.tree.children(id) {
            let mut child = path.clone();
            if !child.is_empty() {
                child.push(b'/');
            }
            child.extend_from_slice(sample.tree.bytes(link.name));
            let least = first.entry(link.node).or_insert_with(|| child.clone());
            *least = child.clone().min(least.clone());
            stack.push((child, link.node));
        }
        listing.insert(path.clone(), entry(sample, id, path, resolution));
    }
    for (path, id) in all_links(sample) {
        if let (Some(entry), Some(first)) = (listing.get_mut(&path), first.get(&id))
            && keeps_links(entry.kind)
        {
            entry.first = first.clone();
        }
    }
    listing
}

fn all_links(sample: &Sample) -> Vec<(Vec<u8>, NodeId)> {
    let links = sample.tree.links().iter();
    links
        .map(|link| {
            let mut path = sample.tree.path(link.parent);
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(sample.tree.bytes(link.name));
            (path, link.node)
        })
        .collect()
}

fn entry(sample: &Sample, id: NodeId, path: Vec<u8>, resolution: u64) -> Entry {
    let node = sample.tree.node(id);
    let (mut size, mut hash, mut target, mut rdev) = (0, None, Vec::new(), Rdev::default());
    let kind = node.content.kind();
    match node.content {
        Content::File { size: len } => {
            size = len;
            hash = (len <= HASHED).then(|| hash_of(sample.content(id)));
        }
        Content::Symlink(name) => target = sample.tree.bytes(name).to_vec(),
        Content::CharDevice(number) | Content::BlockDevice(number) => rdev = number,
        _ => {}
    }
    let nlink = if kind == FileType::File {
        node.links
    } else {
        1
    };
    let meta = node.meta;
    let modified = round(meta.times.modified, resolution);
    Entry {
        kind,
        mode: meta.mode,
        uid: meta.uid,
        gid: meta.gid,
        modified,
        size,
        hash,
        target,
        rdev,
        first: path,
        nlink,
    }
}

/// Rounds a time down to a resolution in nanoseconds.
pub fn round(time: Time, resolution: u64) -> Time {
    let resolution = i128::from(resolution);
    let nanos = i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos);
    let nanos = nanos.div_euclid(resolution) * resolution;
    Time {
        secs: nanos.div_euclid(1_000_000_000) as i64,
        nanos: nanos.rem_euclid(1_000_000_000) as u32,
    }
}

fn hash_of(pieces: &[Piece]) -> String {
    let mut hasher = Sha256::new();
    for piece in pieces {
        match piece {
            Piece::Data(bytes) => hasher.update(bytes),
            Piece::Hole(len) => hasher.update(vec![0; *len as usize]),
        }
    }
    hex(&hasher.finalize())
}

/// Hashes bytes.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares listings path by path, so that a failure names the path.
pub fn compare(found: &Listing, expected: &Listing) {
    for (path, entry) in expected {
        let path_text = String::from_utf8_lossy(path);
        assert_eq!(found.get(path), Some(entry), "{path_text}");
    }
    let paths = |listing: &Listing| listing.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(found), paths(expected));
}
