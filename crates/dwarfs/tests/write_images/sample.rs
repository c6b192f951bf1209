//! Trees with content to write: built in memory, nothing touches the file system.

use std::collections::BTreeMap;

use sinterfs_model::{Content, FileType, Meta, NodeId, Rdev, Time, Times, Tree, TreeBuilder};

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Data(Vec<u8>),
    Hole(u64),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Data(bytes) => bytes.len() as u64,
            Self::Hole(len) => *len,
        }
    }

    /// Returns the bytes that are in a hole.
    pub fn hole(&self) -> u64 {
        match self {
            Self::Data(_) => 0,
            Self::Hole(len) => *len,
        }
    }
}

/// A tree and the content of its files.
pub struct Sample {
    pub tree: Tree,
    contents: BTreeMap<NodeId, Vec<Piece>>,
}

impl Sample {
    /// Returns a file's content.
    pub fn content(&self, file: NodeId) -> &[Piece] {
        self.contents.get(&file).map_or(&[], Vec::as_slice)
    }
}

/// Builds a sample.
pub struct SampleBuilder {
    tree: TreeBuilder,
    /// Files by path.
    files: BTreeMap<Vec<u8>, Vec<Piece>>,
    /// The path of each directory, with a slash behind it.
    paths: BTreeMap<NodeId, Vec<u8>>,
    clock: i64,
}

impl SampleBuilder {
    pub fn new() -> Self {
        Self {
            tree: TreeBuilder::new(meta(0o755, 0, 0, 1_700_000_000)),
            files: BTreeMap::new(),
            paths: BTreeMap::from([(NodeId::ROOT, Vec::new())]),
            clock: 0,
        }
    }

    /// Makes up metadata that differs from node to node.
    fn meta(&mut self, mode: u16) -> Meta {
        self.clock += 1;
        let n = self.clock;
        meta(
            mode,
            (n % 3) as u32 * 1000,
            (n % 5) as u32,
            1_600_000_000 + n * 7919,
        )
    }

    /// Returns the path of a name in a directory.
    fn path(&self, parent: NodeId, name: &[u8]) -> Vec<u8> {
        [&self.paths[&parent], name].concat()
    }

    pub fn dir(&mut self, parent: NodeId, name: &[u8]) -> NodeId {
        let meta = self.meta(0o755);
        let content = Content::Directory { first: 0, count: 0 };
        let id = self.tree.add(parent, name, meta, content).unwrap();
        let path = [&self.path(parent, name)[..], b"/"].concat();
        self.paths.insert(id, path);
        id
    }

    pub fn node(&mut self, parent: NodeId, name: &[u8], mode: u16, content: Content) -> NodeId {
        let meta = self.meta(mode);
        self.tree.add(parent, name, meta, content).unwrap()
    }

    pub fn symlink(&mut self, parent: NodeId, name: &[u8], target: &[u8]) -> NodeId {
        let target = self.tree.intern(target).unwrap();
        self.node(parent, name, 0o777, Content::Symlink(target))
    }

    pub fn file(&mut self, parent: NodeId, name: &[u8], pieces: Vec<Piece>) -> NodeId {
        let meta = self.meta(0o644);
        self.file_with(parent, name, meta, pieces)
    }

    pub fn file_with(
        &mut self,
        parent: NodeId,
        name: &[u8],
        meta: Meta,
        pieces: Vec<Piece>,
    ) -> NodeId {
        let size = pieces.iter().map(Piece::len).sum();
        let id = self
            .tree
            .add(parent, name, meta, Content::File { size })
            .unwrap();
        self.files.insert(self.path(parent, name), pieces);
        id
    }

    pub fn link(&mut self, parent: NodeId, name: &[u8], node: NodeId) {
        self.tree.link(parent, name, node).unwrap();
    }

    /// Ends the tree. Nodes get new numbers, so files are found again by path.
    pub fn finish(mut self) -> Sample {
        let tree = self.tree.finish().unwrap();
        let mut contents = BTreeMap::new();
        let mut paths = BTreeMap::from([(NodeId::ROOT, Vec::new())]);
        for link in tree.links() {
            let mut path = [&paths[&link.parent], tree.bytes(link.name)].concat();
            if let Some(pieces) = self.files.remove(&path) {
                contents.insert(link.node, pieces);
            }
            if tree.node(link.node).content.kind() == FileType::Directory {
                path.push(b'/');
                paths.insert(link.node, path);
            }
        }
        assert!(self.files.is_empty());
        Sample { tree, contents }
    }
}

pub fn meta(mode: u16, uid: u32, gid: u32, secs: i64) -> Meta {
    let at = |more: i64| Time {
        secs: secs + more,
        nanos: 0,
    };
    let times = Times {
        modified: at(0),
        accessed: at(1),
        changed: at(2),
    };
    Meta {
        mode,
        uid,
        gid,
        times,
    }
}

/// Makes bytes that do not compress away and differ by seed.
pub fn bytes(seed: u32, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_769).wrapping_add(1);
    (0..len)
        .map(|i| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            if i % 3 == 0 {
                (state >> 24) as u8
            } else {
                b"the quick brown fox"[i % 19]
            }
        })
        .collect()
}

pub fn data(seed: u32, len: usize) -> Vec<Piece> {
    vec![Piece::Data(bytes(seed, len))]
}

/// Just a root.
pub fn empty() -> Sample {
    SampleBuilder::new().finish()
}

/// What every reader of 2.3 and later shows: UTF-8 names, no holes, whole seconds.
pub fn plain() -> Sample {
    let mut b = SampleBuilder::new();
    let dirs: Vec<NodeId> = ["a", "b", "c"]
        .iter()
        .map(|name| b.dir(NodeId::ROOT, name.as_bytes()))
        .collect();
    let deep = b.dir(dirs[0], b"deep");
    b.dir(dirs[2], b"empty");
    for (i, dir) in dirs.iter().chain([&deep]).enumerate() {
        for (n, len) in [0, 1, 100, 5000, 70_000, 200_000].into_iter().enumerate() {
            let name = format!("file-{n}-ä-{}.txt", "x".repeat(i * 9));
            // every second one is the same in all directories
            b.file(
                *dir,
                name.as_bytes(),
                data((n % 2 * i + n * 10) as u32, len),
            );
        }
        b.symlink(*dir, b"link", b"../somewhere/else");
        b.symlink(*dir, b"link2", format!("target-{i}").as_bytes());
    }
    b.node(
        NodeId::ROOT,
        b"null",
        0o666,
        Content::CharDevice(Rdev { major: 1, minor: 3 }),
    );
    b.node(
        NodeId::ROOT,
        b"disk",
        0o660,
        Content::BlockDevice(Rdev {
            major: 259,
            minor: 70_000,
        }),
    );
    b.node(NodeId::ROOT, b"pipe", 0o600, Content::Fifo);
    b.node(NodeId::ROOT, b"sock", 0o700, Content::Socket);
    let linked = b.file(NodeId::ROOT, b"linked", data(99, 30_000));
    b.link(dirs[1], b"linked-too", linked);
    b.link(dirs[1], b"linked-again", linked);
    b.finish()
}

/// Everything at once: odd names, set-id bits, large ids, shared and hard-linked and empty files,
/// hard links of symlinks and special files, times with nanoseconds.
pub fn everything() -> Sample {
    let mut b = SampleBuilder::new();
    let mut dirs = Vec::new();
    for name in [&b"\x01odd"[..], b"dup", b"links", b"spec", b"times"] {
        dirs.push(b.dir(NodeId::ROOT, name));
    }
    for byte in 1..=255_u8 {
        if byte != b'/' {
            b.file(
                dirs[0],
                &[b'n', byte],
                data(u32::from(byte), usize::from(byte) % 4),
            );
        }
    }
    b.file(dirs[0], &[b'm'; 255], data(1, 10));
    b.file(dirs[0], &[0xfe; 255], data(2, 10));
    b.file(dirs[0], b"\n", data(3, 1));
    b.file(dirs[0], b" ", data(4, 1));
    b.file(dirs[0], b"\\", data(4, 2));
    for i in 0..40_u32 {
        let name = format!("f{i:02}");
        b.file(
            dirs[1],
            name.as_bytes(),
            data(i % 4, 3000 * (i as usize % 4)),
        );
    }
    let shared = b.file(dirs[2], b"a-shared", data(1, 3000));
    b.link(dirs[2], b"b-shared", shared);
    let own = b.file(dirs[2], b"own", data(77, 100_000));
    b.link(NodeId::ROOT, b"own-too", own);
    let symlink = b.symlink(dirs[2], b"s1", b"nowhere");
    b.link(dirs[2], b"s2", symlink);
    b.link(dirs[1], b"s3", symlink);
    b.symlink(dirs[2], b"s4", b"nowhere");
    b.symlink(dirs[2], b"s5", &[b't'; 4095]);
    b.symlink(dirs[2], b"s6", b"\xff\xfe odd");
    let fifo = b.node(dirs[3], b"fifo", 0o644, Content::Fifo);
    b.link(dirs[3], b"fifo2", fifo);
    let large = Rdev {
        major: 0xffff_ffff,
        minor: 0xffff_fffe,
    };
    let device = b.node(dirs[3], b"char", 0o600, Content::CharDevice(large));
    b.link(dirs[3], b"char2", device);
    b.node(
        dirs[3],
        b"block",
        0o600,
        Content::BlockDevice(Rdev { major: 8, minor: 1 }),
    );
    b.node(dirs[3], b"sock", 0o755, Content::Socket);
    let suid = Meta {
        uid: u32::MAX,
        gid: 1 << 31,
        ..meta(0o7777, 0, 0, 5)
    };
    b.file_with(dirs[3], b"suid", suid, data(5, 5));
    times(&mut b, dirs[4]);
    b.finish()
}

fn times(b: &mut SampleBuilder, dir: NodeId) {
    let odd = [
        (0, 0),
        (1, 999_999_999),
        (1 << 31, 1),
        (1 << 32, 123_456_789),
        (-1, 999_999_999),
    ];
    for (i, (secs, nanos)) in odd
        .into_iter()
        .chain([(-(1 << 35), 1), (1 << 40, 5)])
        .enumerate()
    {
        let at = Time { secs, nanos };
        let meta = Meta {
            times: Times::all(at),
            ..meta(0o644, 0, 0, 0)
        };
        b.file_with(dir, format!("t{i}").as_bytes(), meta, data(i as u32, 3));
    }
}

/// Files with holes: at the ends, alone, many, beyond 4 GiB.
pub fn holes() -> Sample {
    let mut b = SampleBuilder::new();
    let root = NodeId::ROOT;
    let piece = |seed, len| Piece::Data(bytes(seed, len));
    b.file(root, b"all", vec![Piece::Hole(1 << 20)]);
    b.file(root, b"begin", vec![Piece::Hole(12_345), piece(1, 100)]);
    b.file(root, b"end", vec![piece(2, 100), Piece::Hole(65_536)]);
    b.file(
        root,
        b"huge",
        vec![
            piece(3, 9),
            Piece::Hole(5 << 30),
            piece(4, 9),
            Piece::Hole((7 << 30) + 1),
        ],
    );
    b.file(root, b"same1", vec![Piece::Hole(4096), piece(5, 5)]);
    b.file(root, b"same2", vec![Piece::Hole(4096), piece(5, 5)]);
    let many = (0..500)
        .flat_map(|i| [piece(i, 10), Piece::Hole(4096 + u64::from(i))])
        .collect();
    b.file(root, b"many", many);
    b.file(root, b"none", data(6, 1000));
    b.finish()
}

/// Holes whose lengths have no place in a chunk.
pub fn vast() -> Sample {
    let mut b = SampleBuilder::new();
    for log in [41, 42, 43, 50, 62] {
        let pieces = vec![Piece::Data(bytes(log, 1000)), Piece::Hole((1 << log) - 1)];
        b.file(NodeId::ROOT, format!("{log}").as_bytes(), pieces);
    }
    b.finish()
}

/// Files without data, so that there is no block at all.
pub fn only_holes() -> Sample {
    let mut b = SampleBuilder::new();
    for len in [1, 65_536, 65_537, 1 << 20] {
        b.file(
            NodeId::ROOT,
            format!("{len}").as_bytes(),
            vec![Piece::Hole(len)],
        );
    }
    b.finish()
}

/// So many small files in directories of a hundred.
pub fn many(count: u32) -> Sample {
    let mut b = SampleBuilder::new();
    let mut dir = NodeId::ROOT;
    let names: Vec<String> = (0..count.div_ceil(100))
        .map(|i| format!("dir{i:05}"))
        .collect();
    let dirs: Vec<NodeId> = names
        .iter()
        .map(|name| b.dir(NodeId::ROOT, name.as_bytes()))
        .collect();
    for i in 0..count {
        if i % 100 == 0 {
            dir = dirs[(i / 100) as usize];
        }
        let name = format!(
            "module_{:03}_{:x}.py",
            i % 100,
            i.wrapping_mul(2_654_435_769) >> 12
        );
        b.file(dir, name.as_bytes(), data(i % 60_000, 20));
    }
    b.finish()
}

/// Returns whether a node can have hard links in DwarFS.
pub fn keeps_links(kind: FileType) -> bool {
    matches!(kind, FileType::File | FileType::Directory)
}
