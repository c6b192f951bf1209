//! Thousands of damaged images, always the same ones: opening, walking, reading, checking and
//! dumping them ends in errors or in content, never in a panic or a hang.

#![allow(clippy::unwrap_used, reason = "this is a test")]

#[path = "old_images/make/mod.rs"]
mod make;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use make::{Kind, Node, What};
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Cursor, FileType, Image, Ino, Kind as ErrorKind, Quiet, Result};
use sinterfs_squashfs::check::check;
use sinterfs_squashfs::layout::{Compressor, Flags, MAGIC, MetaRef, Superblock};
use sinterfs_squashfs::read::{ReadOptions, Squashfs, locate};
use sinterfs_testkit::Random;
use zerocopy::IntoBytes;

fn options() -> ReadOptions {
    ReadOptions {
        offset: Some(0),
        cache_bytes: 1 << 20,
        ..ReadOptions::default()
    }
}

fn vectors() -> Option<PathBuf> {
    sinterfs_testkit::shared("vectors")
}

/// Walks an image and reads the start and the end of each file.
fn read_everything(image: &Squashfs) -> Result<()> {
    let mut left = vec![image.info().root];
    let mut budget = 5_000;
    while let Some(dir) = left.pop() {
        let mut found: Vec<(Vec<u8>, Ino, FileType)> = Vec::new();
        let mut last = Cursor::START;
        image.read_dir(dir, Cursor::START, &mut |entry| {
            assert!(entry.next > last, "a cursor that does not go on");
            last = entry.next;
            found.push((entry.name.to_vec(), entry.ino, entry.kind));
            ControlFlow::Continue(())
        })?;
        for (name, ino, kind) in found {
            budget -= 1;
            if budget == 0 {
                return Ok(());
            }
            let _ = image.lookup(dir, &name);
            let _ = image.xattrs(ino);
            let Ok(inode) = image.inode(ino) else {
                continue;
            };
            match kind {
                FileType::Directory => {
                    let _ = image.parent(ino);
                    left.push(ino);
                }
                FileType::File => read_file(image, ino, inode.size),
                _ => drop(image.read_link(ino)),
            }
        }
    }
    Ok(())
}

fn read_file(image: &dyn Image, ino: Ino, size: u64) {
    let mut buf = vec![0; 8192];
    for offset in [0, size / 3, size.saturating_sub(100), size, u64::MAX] {
        if let Ok(found) = image.read_at(ino, offset, &mut buf) {
            let left = size.saturating_sub(offset).min(buf.len() as u64);
            assert_eq!(found as u64, left, "a short read at {offset} of {size}");
        }
    }
    let (mut covered, mut budget) = (0, 100_000);
    let told = image.extents(ino, 0, &mut |extent| {
        assert_eq!(extent.offset, covered, "a gap between extents");
        covered += extent.len;
        budget -= 1;
        match budget {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert!(told.is_err() || budget == 0 || covered == size || image.inode(ino).is_err());
}

/// Reads an image in every way; returns whether it could be opened.
fn endure(bytes: Vec<u8>, what: &str) -> bool {
    let start = Instant::now();
    let source = Arc::new(MemorySource(bytes));
    let opened = Squashfs::open(Arc::clone(&source) as _, &options());
    let sound = opened.is_ok();
    if let Ok(image) = opened {
        let _ = read_everything(&image);
        let _ = image.content_bytes();
        let _ = sinterfs_squashfs::dump::dump(&image, &mut std::io::sink());
    }
    let _ = check(source, &options(), true, &Quiet);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{what}: took {took:?}");
    sound
}

/// Damages an image in a few places, mostly behind `from`, where metadata is.
fn damage(image: &mut Vec<u8>, from: usize, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let start = if random.below(8) == 0 { 0 } else { from };
        let at = start + random.below(image.len() - start);
        match random.below(8) {
            0 | 1 => image[at] ^= 1 << random.below(8),
            2 => image[at] = random.number() as u8,
            3 => {
                let end = (at + random.below(16)).min(image.len());
                image[at..end].fill([0, 0xff, 0x7f][random.below(3)]);
            }
            4 => image.truncate(at.max(from + 64).max(200)),
            5 => {
                let (source, len) = (random.below(image.len()), random.below(64));
                let piece = image[source..(source + len).min(image.len())].to_vec();
                let end = (at + piece.len()).min(image.len());
                image[at..end].copy_from_slice(&piece[..end - at]);
            }
            _ => {
                let end = (at + 4).min(image.len());
                if let Ok(bytes) = <[u8; 4]>::try_from(&image[at..end]) {
                    let number = u32::from_le_bytes(bytes)
                        .wrapping_add(random.below(5) as u32)
                        .wrapping_sub(2);
                    image[at..end].copy_from_slice(&number.to_le_bytes());
                }
            }
        }
        if image.len() < from + 64 {
            image.resize(from + 64, 0);
        }
    }
}

fn node(name: String, what: What) -> Node {
    Node {
        name,
        mode: 0o644,
        owner: (1, 1),
        what,
    }
}

fn small_tree() -> Node {
    let files = (0..300).map(|number| {
        let content = vec![b'a' + (number % 7) as u8; number * 13];
        node(
            format!("file-{number:04}-with-a-long-name"),
            What::File(content),
        )
    });
    let children = vec![
        node("a".to_owned(), What::Directory(files.collect())),
        node("b".to_owned(), What::File(vec![7; 3 * make::BLOCK + 9])),
        node("c".to_owned(), What::Symlink("a/file-0001")),
        node("d".to_owned(), What::Fifo),
    ];
    node(String::new(), What::Directory(children))
}

#[test]
fn damaged_old_images_end_in_errors_or_content() {
    let mut random = Random(1);
    let tree = small_tree();
    let mut opened = 0;
    for major in 1..=3 {
        for big in [false, true] {
            let raw = true;
            let image = make::image(Kind { major, big, raw }, &tree);
            let from = image.len().saturating_sub(3 * 8192).max(119);
            assert!(endure(image.clone(), "untouched"));
            for number in 0..250 {
                let mut damaged = image.clone();
                damage(&mut damaged, from, &mut random);
                opened += u32::from(endure(damaged, &format!("{major} {big} {number}")));
            }
        }
    }
    assert!(opened > 300, "only {opened} could be opened at all");
}

#[test]
fn damaged_images_end_in_errors_or_content() {
    let Some(vectors) = vectors() else { return };
    let mut random = Random(2);
    let mut opened = 0;
    let images = [
        ("images/squashfs/uncompressed.img.gz", 60),
        ("images/squashfs/gzip-4k.img", 30),
        ("images/squashfs/xz-bcj-x86.img", 20),
        ("upstream/squashfs-tools-ng/pathtraversal.sqfs", 1500),
    ];
    for (name, count) in images {
        let image = sinterfs_testkit::read_file(&vectors.join(name));
        let table = u64::from_le_bytes(image[64..72].try_into().unwrap());
        let from = usize::try_from(table).unwrap();
        for number in 0..count {
            let mut damaged = image.clone();
            damage(&mut damaged, from, &mut random);
            opened += u32::from(endure(damaged, &format!("{name} {number}")));
        }
    }
    assert!(opened > 500, "only {opened} could be opened at all");
}

#[test]
fn cut_images_are_refused_with_a_place() {
    let Some(vectors) = vectors() else { return };
    let image = sinterfs_testkit::read_file(&vectors.join("images/squashfs/zstd.img"));
    for len in [0, 3, 50, 95, 96, 1000, image.len() / 2, image.len() - 5000] {
        let source = Arc::new(MemorySource(image[..len].to_vec()));
        let error = Squashfs::open(source, &options()).unwrap_err();
        let expected = if len < 4 {
            ErrorKind::Invalid
        } else {
            ErrorKind::Corrupt
        };
        assert!(
            error.kind() == expected || (len < 96 && error.kind() == ErrorKind::Unsupported),
            "{len}: {error}"
        );
        assert!(error.place().is_some(), "{error}");
    }
}

#[test]
fn names_that_lead_out_are_refused() {
    let Some(vectors) = vectors() else { return };
    let path = vectors.join("upstream/squashfs-tools-ng/pathtraversal.sqfs");
    let source = Arc::new(MemorySource(sinterfs_testkit::read_file(&path)));
    let image = Squashfs::open(source, &options()).unwrap();
    let error = read_everything(&image).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.place().is_some(), "{error}");
    // the same with one name: no listing may show what leads out of its directory
    for bad in ["..", ".", "a/b", "a\0b", "/"] {
        let child = node(bad.to_owned(), What::File(Vec::new()));
        let root = node(String::new(), What::Directory(vec![child]));
        let (major, big, raw) = (3, false, false);
        let bytes = make::image(Kind { major, big, raw }, &root);
        let image = Squashfs::open(Arc::new(MemorySource(bytes)), &options()).unwrap();
        let error = read_everything(&image).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{bad:?}: {error}");
    }
}

/// Counts the bytes that are read.
struct Counting {
    bytes: Vec<u8>,
    read: AtomicU64,
}

impl ReadAt for Counting {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        buf.copy_from_slice(&self.bytes[offset as usize..][..buf.len()]);
        Ok(())
    }
}

#[test]
fn a_file_full_of_false_beginnings_is_searched_in_linear_time() {
    const COUNT: usize = 10_000;
    const LEN: usize = size_of::<Superblock>();
    let mut bytes = vec![b'#'; LEN];
    for number in 0..COUNT {
        let rest = (COUNT - number) * LEN;
        let claim = Superblock {
            magic: MAGIC.into(),
            inodes: 1.into(),
            made: 0.into(),
            block_size: (1 << 17).into(),
            // the list of its blocks fills the file
            fragments: ((rest / 8) as u32).saturating_mul(256).into(),
            compressor: Compressor::GZIP,
            block_log: 17.into(),
            flags: Flags(0.into()),
            ids: 1.into(),
            major: 4.into(),
            minor: 0.into(),
            root: MetaRef::new(0, 0),
            bytes_used: (rest as u64).into(),
            id_table: 0.into(),
            xattr_table: u64::MAX.into(),
            inode_table: 4.into(),
            directory_table: (rest as u64).into(),
            fragment_table: 0.into(),
            export_table: u64::MAX.into(),
        };
        bytes.extend_from_slice(claim.as_bytes());
    }
    let source = Arc::new(Counting {
        bytes,
        read: AtomicU64::new(0),
    });
    assert_eq!(locate(&(Arc::clone(&source) as _)).unwrap(), None);
    let (read, len) = (source.read.load(Ordering::Relaxed), source.len());
    assert!(read < len * 100, "{read} bytes of {len}");
}
