//! Mutated images, in a loop: whatever is changed, cut, repeated or swapped in an image, opening it
//! and reading all of it ends in an error or in data, never in a panic, a hang or a flood of
//! memory.
//!
//! Runs for a few seconds as a test; SINTER_FUZZ_SECONDS makes it longer (`cargo xtask fuzz`). The
//! seed is printed and can be given again with SINTER_FUZZ_SEED. In three of four cases the section
//! checksums are made right again, so that what lies behind them is reached.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::print_stdout, reason = "the seed, for whoever repeats a run")]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinterfs::build::{BuildRequest, Destination, build};
use sinterfs::image::ReadAt;
use sinterfs::image::{Limits, MemorySource};
use sinterfs::model::{Cursor, Image, Ino};
use sinterfs::{FileType, OpenOptions, Quiet, open_source};
use sinterfs_erofs::lookalike::{Lookalike, Shown};
use sinterfs_testkit::Random;

#[test]
fn no_mutation_harms_the_reader() {
    let seconds = std::env::var("SINTER_FUZZ_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(8);
    let seed = std::env::var("SINTER_FUZZ_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| {
            std::time::UNIX_EPOCH
                .elapsed()
                .map_or(1, |since| since.as_nanos() as u64)
        });
    println!("seed {seed}");
    let mut random = Random(seed);
    let images = images();
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut runs, mut opened) = (0u64, 0u64);
    while Instant::now() < end {
        let mut image = images[random.below(images.len())].clone();
        mutate(&mut image, &mut random);
        if random.below(4) > 0 {
            reseal(&mut image);
        }
        let case = random.0;
        let start = Instant::now();
        opened += u64::from(read_everything(image).is_ok());
        let took = start.elapsed();
        assert!(
            took < Duration::from_secs(10),
            "seed {seed}, state {case}: took {took:?}"
        );
        runs += 1;
    }
    println!("{runs} mutations, {opened} of them opened");
    assert!(
        runs > 20,
        "only {runs} mutations: too slow to mean anything"
    );
}

/// Images of a small tree with every codec and with what else changes the layout, and the vectors.
fn images() -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let cases = [
        ("none", "none"),
        ("zstd:level=3", "zstd:level=3"),
        ("lzma:level=1", "lzma:level=1"),
        ("lz4", "lz4hc"),
        ("brotli:quality=3", "brotli:quality=3"),
    ];
    let mut images: Vec<_> = cases
        .iter()
        .map(|(codec, metadata)| {
            let path = dir.path().join("image");
            build(&request(&tree, &path, codec, metadata), &Quiet).unwrap();
            fs::read(path).unwrap()
        })
        .collect();
    images.extend(vectors());
    images
}

fn vectors() -> Vec<Vec<u8>> {
    let Some(vectors) = sinterfs_testkit::shared("vectors") else {
        return Vec::new();
    };
    let names = [
        "images/dwarfs/pack-all.img",
        "images/dwarfs/pack-none.img",
        "images/dwarfs/categorize.img",
        "images/cramfs/holes.img",
        "images/cramfs/big-endian.img",
        "images/iso9660/zisofs-v1-xorriso.img.gz",
        "images/iso9660/zisofs-v2-susp-z2.img.gz",
        "images/cromfs/default.img",
        "images/cromfs/bsize-for.img",
        "upstream/dwarfs/compat/compat-v0.2.0.dwarfs",
        "upstream/dwarfs/compat/compat-v0.4.1.dwarfs",
    ];
    names
        .map(|name| sinterfs_testkit::read_file(&vectors.join(name)))
        .to_vec()
}

fn make_tree(tree: &Path) {
    fs::create_dir_all(tree.join("a/b")).unwrap();
    for i in 0..20usize {
        let text: String = (0..i * 97)
            .map(|j| char::from(b'a' + (j * j % 23) as u8))
            .collect();
        fs::write(tree.join(format!("a/file{i}")), &text).unwrap();
        fs::write(tree.join(format!("a/b/again{}", i % 3)), &text).unwrap();
    }
    fs::hard_link(tree.join("a/file9"), tree.join("a/b/linked")).unwrap();
    std::os::unix::fs::symlink("../file9", tree.join("a/b/symlink")).unwrap();
    let sparse = fs::File::create(tree.join("sparse")).unwrap();
    sparse.set_len(1 << 20).unwrap();
}

fn request(tree: &Path, image: &Path, codec: &str, metadata: &str) -> BuildRequest {
    BuildRequest {
        destination: Destination::File {
            path: image.to_owned(),
            replace: true,
        },
        compression: Some(codec.to_owned()),
        metadata_compression: Some(metadata.to_owned()),
        block_size: Some(1 << 12),
        time_resolution: Some("1ns".to_owned()),
        ..BuildRequest::new(tree)
    }
}

/// Changes an image in one to four places.
fn mutate(image: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(image.len());
        let near = |random: &mut Random, len: usize| (at + random.below(64)).min(len);
        match random.below(8) {
            0 => image[at] ^= 1 << random.below(8),
            1 => image[at] = random.number() as u8,
            2 => {
                let extreme = [0, 1, 0x7f, 0x80, 0xff][random.below(5)];
                let end = near(random, image.len());
                image[at..end].fill(extreme);
            }
            3 => image.truncate(at.max(16)),
            4 => {
                let (from, len) = (random.below(image.len()), random.below(200));
                let piece = image[from..(from + len).min(image.len())].to_vec();
                let end = (at + piece.len()).min(image.len());
                image[at..end].copy_from_slice(&piece[..end - at]);
            }
            5 => {
                let end = near(random, image.len());
                image.drain(at..end);
            }
            6 => image.insert(at, random.number() as u8),
            _ => {
                // a small change of a number, where fields lie
                let end = (at + 4).min(image.len());
                if let Ok(bytes) = <[u8; 4]>::try_from(&image[at..end]) {
                    let number = u32::from_le_bytes(bytes)
                        .wrapping_add(random.below(5) as u32)
                        .wrapping_sub(2);
                    image[at..end].copy_from_slice(&number.to_le_bytes());
                }
            }
        }
        if image.len() < 16 {
            image.resize(16, 0);
        }
    }
}

/// Makes the quick checksums of all DwarFS sections right again, as far as headers can be followed.
fn reseal(image: &mut [u8]) {
    let mut at = 0usize;
    while let Some(header) = image
        .get(at..at + 64)
        .filter(|header| header.starts_with(b"DWARFS\x02"))
    {
        let len = u64::from_le_bytes(header[0x38..0x40].try_into().unwrap());
        let Some(end) = usize::try_from(len)
            .ok()
            .and_then(|len| (at + 64).checked_add(len))
        else {
            return;
        };
        if end > image.len() {
            return;
        }
        let sum = sinterfs_block::checksum::xxh3_64(&image[at + 0x30..end]);
        image[at + 0x28..at + 0x30].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
}

/// Opens an image, walks it, reads every file and checks it.
fn read_everything(bytes: Vec<u8>) -> sinterfs::Result<()> {
    let options = OpenOptions {
        limits: Limits {
            metadata: 64 << 20,
            block: 64 << 20,
            ..Limits::default()
        },
        cache_bytes: 16 << 20,
        ..OpenOptions::default()
    };
    let opened = open_source(Arc::new(MemorySource(bytes)), &options)?;
    let image = &**opened.raw();
    let mut todo = vec![image.info().root];
    let mut budget = 200_000;
    while let Some(dir) = todo.pop() {
        let mut found: Vec<(Vec<u8>, Ino, FileType)> = Vec::new();
        image.read_dir(dir, Cursor::START, &mut |entry| {
            found.push((entry.name.to_vec(), entry.ino, entry.kind));
            ControlFlow::Continue(())
        })?;
        for (name, ino, kind) in found {
            budget -= 1;
            assert!(budget > 0, "a walk without end");
            assert_eq!(
                image.lookup(dir, &name)?,
                Some(ino),
                "a name is listed but not found"
            );
            let inode = image.inode(ino)?;
            assert_eq!(inode.kind, kind);
            match kind {
                FileType::Directory => todo.push(ino),
                FileType::File => read_file(image, ino, inode.size),
                FileType::Symlink => drop(image.read_link(ino)?),
                _ => {}
            }
        }
    }
    look_alike(Arc::clone(opened.raw()))?;
    opened.info()?;
    opened.dump(&mut std::io::sink())?;
    Ok(())
}

/// Reads what a kernel would be shown of the image: all metadata, and some content.
fn look_alike(image: Arc<dyn Image>) -> sinterfs::Result<()> {
    let made = Lookalike::new(image, Shown::default())?;
    let mut buf = vec![0; 1 << 16];
    for range in made.metadata() {
        for at in range.clone().step_by(buf.len()) {
            let len = (range.end - at).min(buf.len() as u64) as usize;
            made.read_at(at, &mut buf[..len])?;
        }
    }
    let content = 16 << 30;
    for at in (content..made.len()).step_by(1 << 20).take(20) {
        let len = (made.len() - at).min(buf.len() as u64) as usize;
        let _ = made.read_at(at, &mut buf[..len]);
    }
    Ok(())
}

/// Reads the beginning, the end and some places of a file; huge sparse files are not read whole.
fn read_file(image: &dyn Image, ino: Ino, size: u64) {
    let mut buf = vec![0; 8192];
    for offset in [0, size / 3, size.saturating_sub(100), size, u64::MAX] {
        if let Ok(got) = image.read_at(ino, offset, &mut buf) {
            let left = size.saturating_sub(offset);
            assert_eq!(
                got as u64,
                left.min(buf.len() as u64),
                "a short read at {offset} of {size}"
            );
        }
    }
    let mut covered = 0;
    let told = image.extents(ino, 0, &mut |extent| {
        assert_eq!(extent.offset, covered, "a gap between extents");
        covered += extent.len;
        ControlFlow::Continue(())
    });
    assert!(
        told.is_err() || covered == size,
        "extents cover {covered} of {size}"
    );
}
