//! Blocks that are stored as they are, in an image whose bytes change while it is open: what is
//! read is what was there first, or an error that names the block.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_dwarfs::layout::{SectionCompression, SectionType};
use sinterfs_dwarfs::read::{Dwarfs, ReadOptions, SectionInfo};
use sinterfs_model::{Cursor, FileType, Image, Ino, Kind, Result};

/// An image that somebody writes to, on a disk that may give other bytes at times.
struct Changing {
    bytes: Mutex<Vec<u8>>,
    reads: AtomicUsize,
    /// Every how many reads a byte of what is read is wrong; 0 for never.
    flaky: AtomicUsize,
}

impl Changing {
    fn flip(&self, at: u64) {
        self.bytes.lock().unwrap()[at as usize] ^= 0x10;
    }
}

impl ReadAt for Changing {
    fn len(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let number = self.reads.fetch_add(1, Ordering::Relaxed);
        let flaky = self.flaky.load(Ordering::Relaxed);
        MemorySource(self.bytes.lock().unwrap().clone()).read_at(offset, buf)?;
        if flaky > 0 && number.is_multiple_of(flaky) {
            let at = number * 4099 % buf.len().max(1);
            if let Some(byte) = buf.get_mut(at) {
                *byte ^= 1;
            }
        }
        Ok(())
    }
}

/// An opened image of level 0.
struct Opened {
    source: Arc<Changing>,
    image: Dwarfs,
    blocks: Vec<SectionInfo>,
    files: Vec<Ino>,
    /// The content of each file.
    expected: Vec<Vec<u8>>,
}

fn opened() -> Option<Opened> {
    let path = support::shared("vectors/images/dwarfs/l0.img.gz")?;
    let source = Arc::new(Changing {
        bytes: Mutex::new(support::read_file(&path)),
        reads: AtomicUsize::new(1),
        flaky: AtomicUsize::new(0),
    });
    let image = Dwarfs::open(Arc::clone(&source) as _, &ReadOptions::default()).unwrap();
    let mut blocks = image.sections().unwrap();
    blocks.retain(|section| section.kind == SectionType::BLOCK);
    assert!(!blocks.is_empty());
    assert!(
        blocks
            .iter()
            .all(|block| block.compression == SectionCompression::NONE)
    );
    let mut files = Vec::new();
    files_below(&image, image.info().root, &mut files);
    assert!(files.len() > 20);
    let expected = files
        .iter()
        .map(|ino| read(&image, *ino, 1 << 20).unwrap())
        .collect();
    Some(Opened {
        source,
        image,
        blocks,
        files,
        expected,
    })
}

fn files_below(image: &Dwarfs, dir: Ino, files: &mut Vec<Ino>) {
    let mut found = Vec::new();
    let listed = image.read_dir(dir, Cursor::START, &mut |dirent| {
        found.push(dirent.ino);
        ControlFlow::Continue(())
    });
    listed.unwrap();
    for ino in found {
        match image.inode(ino).unwrap().kind {
            FileType::Directory => files_below(image, ino, files),
            FileType::File => files.push(ino),
            _ => {}
        }
    }
}

/// Reads a file in parts of so many bytes.
fn read(image: &Dwarfs, ino: Ino, part: usize) -> Result<Vec<u8>> {
    let mut content = vec![0; image.inode(ino).unwrap().size as usize];
    for (number, part_of) in content.chunks_mut(part).enumerate() {
        let len = part_of.len();
        assert_eq!(image.read_at(ino, (number * part) as u64, part_of)?, len);
    }
    Ok(content)
}

/// Reads all files and compares those that can be read; counts the errors.
fn errors(image: &Dwarfs, files: &[Ino], expected: &[Vec<u8>], part: usize) -> usize {
    let mut errors = 0;
    for (ino, expected) in files.iter().zip(expected) {
        match read(image, *ino, part) {
            Ok(content) => assert!(content == *expected, "other bytes of {ino:?}"),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Corrupt, "{error}");
                let place = error.place().unwrap();
                assert!(place.structure.starts_with("block "), "{error}");
                errors += 1;
            }
        }
    }
    errors
}

#[test]
fn bytes_that_change_after_the_first_read_are_never_given_out() {
    let Some(Opened {
        source,
        image,
        blocks,
        files,
        expected,
    }) = opened()
    else {
        return;
    };
    for block in &blocks {
        let content = block.offset + 64;
        for at in [0, block.len / 3, block.len - 1] {
            source.flip(content + at);
            let found: Vec<_> = [4096, 100_000, 1 << 20]
                .into_iter()
                .map(|part| errors(&image, &files, &expected, part))
                .collect();
            assert!(found.iter().all(|count| *count > 0), "{found:?}");
            assert!(found.iter().all(|count| *count < files.len()), "{found:?}");
            source.flip(content + at);
        }
    }
    assert_eq!(errors(&image, &files, &expected, 5000), 0);
}

#[test]
fn a_block_that_changed_while_it_was_forgotten_is_refused() {
    let Some(Opened {
        source,
        image,
        blocks,
        files,
        expected,
    }) = opened()
    else {
        return;
    };
    source.flip(blocks[0].offset + 64);
    image.release(0);
    assert!(errors(&image, &files, &expected, 1 << 20) > 0);
    source.flip(blocks[0].offset + 64);
    assert_eq!(errors(&image, &files, &expected, 1 << 20), 0);
}

#[test]
fn verified_bytes_are_the_returned_bytes() {
    let Some(Opened {
        source,
        image,
        files,
        expected,
        ..
    }) = opened()
    else {
        return;
    };
    source.flaky.store(7, Ordering::Relaxed);
    for round in 0..4 {
        assert!(errors(&image, &files, &expected, 3000 + 20_000 * round) > 0);
        for block in 0..=u64::from(u8::MAX) {
            image.release(block);
        }
    }
}
