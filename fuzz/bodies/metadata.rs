//! Decoded metadata of DwarFS, SquashFS and EROFS images, changed, encoded again and sealed: damage
//! that no checksum and no codec stops.
//!
//! In: a byte that selects an image, then changes of 8 bytes each: a table, where in it, what, and
//! a value. The images are made once, of a small tree. Out: see `harness`.

use std::path::Path;
use std::sync::LazyLock;

use sinterfs::Quiet;
use sinterfs::build::{BuildRequest, Destination, FormatOptions, build};
use sinterfs_block::checksum;
use sinterfs_codec::{CodecId, Encoding};

use super::harness;

/// An image, taken apart.
enum Parts {
    /// Sections: their headers and, of those of metadata, what they hold.
    Dwarfs(Vec<(Vec<u8>, Vec<u8>)>),
    /// What is before the tables, and the tables, each of one block.
    Squashfs(Vec<u8>, Tables),
    /// An image whose metadata is before this byte, as it is.
    Erofs(Vec<u8>, usize),
}

/// The tables of a SquashFS image, decoded.
#[derive(Clone, Default)]
struct Tables {
    inodes: Vec<u8>,
    directories: Vec<u8>,
    fragments: Vec<u8>,
    exports: Vec<u8>,
    ids: Vec<u8>,
}

static IMAGES: LazyLock<Vec<Parts>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a directory");
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let image = |format, compression: &str, block| {
        make_image(&tree, &dir.path().join("image"), format, compression, block)
    };
    vec![
        dwarfs(&image("dwarfs", "zstd:level=1", 1 << 14)),
        squashfs(&image("squashfs", "gzip:level=1", 1 << 14)),
        Parts::Erofs(image("erofs", "lz4hc", 1 << 12), 16 << 10),
        Parts::Erofs(image("erofs", "none", 1 << 12), 16 << 10),
    ]
});

fn make_tree(tree: &Path) {
    std::fs::create_dir_all(tree.join("a/b")).expect("a directory");
    for number in 0..12_usize {
        let text: Vec<u8> = (0..number * 997)
            .map(|at| (at * at % 19) as u8 + b'a')
            .collect();
        std::fs::write(tree.join(format!("a/file{number}")), &text).expect("a file");
        std::fs::write(tree.join(format!("a/b/again{}", number % 3)), &text).expect("a file");
    }
    std::fs::hard_link(tree.join("a/file9"), tree.join("a/b/linked")).expect("a link");
    std::os::unix::fs::symlink("../file9", tree.join("a/b/symlink")).expect("a symlink");
    let sparse = std::fs::File::create(tree.join("sparse")).expect("a file");
    sparse.set_len(1 << 20).expect("a hole");
}

fn make_image(tree: &Path, path: &Path, format: &str, compression: &str, block: u64) -> Vec<u8> {
    let request = BuildRequest {
        destination: Destination::File {
            path: path.to_owned(),
            replace: true,
        },
        format: Some(FormatOptions::named(format).expect("a format")),
        compression: Some(compression.to_owned()),
        block_size: Some(block),
        threads: 1,
        create_timestamp: Some(1),
        ..BuildRequest::new(tree)
    };
    build(&request, &Quiet).expect("an image");
    std::fs::read(path).expect("an image")
}

fn number(image: &[u8], at: usize, len: usize) -> usize {
    let mut bytes = [0; 8];
    bytes[..len].copy_from_slice(&image[at..at + len]);
    u64::from_le_bytes(bytes) as usize
}

/// Places in the header of a section of DwarFS.
const KIND: usize = 52;
const COMPRESSION: usize = 54;

/// The type of the index of sections.
const INDEX: usize = 9;

/// The types of the sections with metadata and its schema.
const METADATA: [usize; 2] = [7, 8];

/// The codes of compressions: none, and zstd.
const NONE: u16 = 0;
const ZSTD: u16 = 2;

fn dwarfs(image: &[u8]) -> Parts {
    let mut sections = Vec::new();
    let mut at = 0;
    while at + 64 <= image.len() {
        let (header, end) = (&image[at..at + 64], at + 64 + number(image, at + 56, 8));
        let mut payload = image[at + 64..end].to_vec();
        if METADATA.contains(&number(header, KIND, 2))
            && number(header, COMPRESSION, 2) == usize::from(ZSTD)
        {
            let mut decoded = vec![0; 1 << 20];
            let len = CodecId::Zstd
                .decode(&payload, &mut decoded)
                .expect("metadata");
            decoded.truncate(len);
            payload = decoded;
        }
        // the index of sections has offsets that change; without it they are looked for
        if number(header, KIND, 2) != INDEX {
            sections.push((header.to_vec(), payload));
        }
        at = end;
    }
    Parts::Dwarfs(sections)
}

fn seal(sections: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let encoding: Encoding = "zstd:level=1".parse().expect("a codec");
    let mut image = Vec::new();
    for (header, payload) in sections {
        let start = image.len();
        image.extend_from_slice(header);
        let is_metadata = METADATA.contains(&number(header, KIND, 2));
        let encoded = is_metadata.then(|| encoding.encode(payload).ok()).flatten();
        let code = if encoded.is_some() { ZSTD } else { NONE };
        if is_metadata {
            image[start + COMPRESSION..start + COMPRESSION + 2]
                .copy_from_slice(&code.to_le_bytes());
        }
        image.extend_from_slice(encoded.as_ref().unwrap_or(payload));
        let len = (image.len() - start - 64) as u64;
        image[start + 56..start + 64].copy_from_slice(&len.to_le_bytes());
        let sum = checksum::xxh3_64(&image[start + 48..]);
        image[start + 40..start + 48].copy_from_slice(&sum.to_le_bytes());
    }
    image
}

/// Places of the superblock of SquashFS: where its tables begin, and its length.
const IDS: usize = 48;
const INODES: usize = 64;
const DIRECTORIES: usize = 72;
const FRAGMENTS: usize = 80;
const EXPORTS: usize = 88;
const USED: usize = 40;

/// Decodes a block of metadata, which is a table of its own.
fn block(image: &[u8], at: usize) -> Vec<u8> {
    let head = number(image, at, 2);
    let stored = &image[at + 2..at + 2 + (head & 0x7fff)];
    if head & 0x8000 != 0 {
        return stored.to_vec();
    }
    let mut decoded = vec![0; 8192];
    let len = CodecId::Zlib.decode(stored, &mut decoded).expect("a block");
    assert!(len < 8192, "a table of one block");
    decoded.truncate(len);
    decoded
}

fn squashfs(image: &[u8]) -> Parts {
    let of = |place| block(image, number(image, place, 8));
    // these have a list of their blocks
    let listed = |place| block(image, number(image, number(image, place, 8), 8));
    let tables = Tables {
        inodes: of(INODES),
        directories: of(DIRECTORIES),
        fragments: listed(FRAGMENTS),
        exports: listed(EXPORTS),
        ids: listed(IDS),
    };
    Parts::Squashfs(image[..number(image, INODES, 8)].to_vec(), tables)
}

impl Tables {
    fn write(&self, mut image: Vec<u8>) -> Vec<u8> {
        let zlib = Encoding::at_level(CodecId::Zlib, 1).expect("a codec");
        let block = |image: &mut Vec<u8>, place: usize, table: &[u8], is_listed: bool| {
            let mut start = image.len() as u64;
            let encoded = zlib.encode_unit(table, None).expect("a stream");
            let (head, bytes) = match &encoded {
                Some(encoded) => (encoded.len(), &encoded[..]),
                None => (table.len() | 0x8000, table),
            };
            image.extend_from_slice(&(head as u16).to_le_bytes());
            image.extend_from_slice(bytes);
            if is_listed {
                let list = image.len() as u64;
                image.extend_from_slice(&start.to_le_bytes());
                start = list;
            }
            image[place..place + 8].copy_from_slice(&start.to_le_bytes());
        };
        block(&mut image, INODES, &self.inodes, false);
        block(&mut image, DIRECTORIES, &self.directories, false);
        block(&mut image, FRAGMENTS, &self.fragments, true);
        block(&mut image, EXPORTS, &self.exports, true);
        block(&mut image, IDS, &self.ids, true);
        let used = image.len() as u64;
        image[USED..USED + 8].copy_from_slice(&used.to_le_bytes());
        image
    }
}

/// Applies a change: 2 bytes choose the place, one what is done, 4 are a value.
fn change(table: &mut Vec<u8>, change: &[u8]) {
    let at = usize::from(u16::from_le_bytes([change[1], change[2]])) % table.len().max(1);
    let value = [change[4], change[5], change[6], change[7]];
    let all = table.len();
    let end = |len: usize| (at + len).min(all);
    match change[3] % 8 {
        kind @ 0..3 => {
            let end = end(1 << kind);
            table[at..end].copy_from_slice(&value[..end - at]);
        }
        3 if at < all => table[at] ^= 1 << (value[0] % 8),
        4 if at < all => table[at] = table[at].wrapping_add(value[0] % 5).wrapping_sub(2),
        5 => {
            let from = usize::from(u16::from_le_bytes([value[0], value[1]])) % all.max(1);
            let len = usize::from(value[2]).min(all - from.max(at));
            table.copy_within(from..from + len, at);
        }
        6 => table.truncate(at),
        7 => drop(table.splice(at..at, value)),
        _ => {}
    }
}

/// Makes the image that an input describes; `None` for an input without an image.
pub fn mutant(bytes: &[u8]) -> Option<Vec<u8>> {
    let (kind, changes) = bytes.split_first()?;
    let images = &*IMAGES;
    let changes = changes.chunks_exact(8).take(32);
    match &images[usize::from(*kind) % images.len()] {
        Parts::Dwarfs(sections) => {
            let mut sections = sections.clone();
            let metadata: Vec<usize> = (0..sections.len())
                .filter(|&place| METADATA.contains(&number(&sections[place].0, KIND, 2)))
                .collect();
            for bytes in changes {
                // the schema is small; most changes are of what it describes
                let place = metadata[usize::from(bytes[0] % 8 != 0) % metadata.len()];
                change(&mut sections[place].1, bytes);
            }
            Some(seal(&sections))
        }
        Parts::Squashfs(front, tables) => {
            let mut tables = tables.clone();
            for bytes in changes {
                let table = match bytes[0] % 8 {
                    0..3 => &mut tables.inodes,
                    3..5 => &mut tables.directories,
                    5 => &mut tables.fragments,
                    6 => &mut tables.exports,
                    _ => &mut tables.ids,
                };
                change(table, bytes);
            }
            Some(tables.write(front.clone()))
        }
        Parts::Erofs(image, metadata) => {
            let mut image = image.clone();
            let mut front: Vec<u8> = image.drain(..(*metadata).min(image.len())).collect();
            for bytes in changes {
                change(&mut front, bytes);
            }
            front.extend(image);
            harness::reseal(&mut front);
            Some(front)
        }
    }
}

/// Opens and reads what an input describes.
pub fn run(bytes: &[u8]) {
    if let Some(image) = mutant(bytes) {
        // an error is as good as success
        let _ = harness::read_everything(image);
    }
}
