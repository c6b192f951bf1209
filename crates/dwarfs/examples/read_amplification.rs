//! How many bytes cold reads of a DwarFS image decode, for each byte that is read.
//!
//! Enters images; leaves a table on standard output. Nothing is decoded: the result follows from
//! the extents alone, so it is exact on any machine. A reader is taken to decode each block from
//! its beginning as far as it is needed, and to keep decoded blocks in a cache, the least recently
//! used one leaving first. Usage: `read_amplification IMAGE...`

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::collections::HashMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::FileSource;
use sinterfs_dwarfs::read::{Dwarfs, ReadOptions};
use sinterfs_model::{Cursor, ExtentSource, FileType, Image, Ino};

/// Large files that are read, each with an empty cache.
const LARGEST_FILES: usize = 20;

/// Files that are read at random.
const RANDOM_FILES: usize = 500;

/// Directories that are read, each with an empty cache.
const DIRECTORIES: usize = 200;

/// Reads of 4 KiB within the largest file, each with an empty cache.
const SMALL_READS: u64 = 200;

/// A range of a block.
type Range = (u64, u64, u64);

/// A regular file: its directory, and its ranges in order.
struct File {
    directory: u64,
    len: u64,
    ranges: Vec<Range>,
}

/// Decoded blocks, by how far they are decoded and when they were used last.
struct Cache {
    limit: u64,
    held: u64,
    clock: u64,
    blocks: HashMap<u64, (u64, u64)>,
    decoded: u64,
}

impl Cache {
    fn new(limit: u64) -> Self {
        Self {
            limit,
            held: 0,
            clock: 0,
            blocks: HashMap::new(),
            decoded: 0,
        }
    }

    fn read(&mut self, ranges: &[Range]) {
        for &(block, offset, len) in ranges {
            self.clock += 1;
            let (done, used) = self.blocks.entry(block).or_default();
            *used = self.clock;
            let more = (offset + len).saturating_sub(*done);
            *done += more;
            self.decoded += more;
            self.held += more;
            while self.held > self.limit && self.blocks.len() > 1 {
                let oldest = self.blocks.iter().min_by_key(|(_, (_, used))| *used);
                let Some((&oldest, &(done, _))) = oldest else {
                    break;
                };
                self.blocks.remove(&oldest);
                self.held -= done;
            }
        }
    }
}

/// Returns the regular files in path order, each inode once.
fn files(image: &Dwarfs) -> Result<Vec<File>, Box<dyn Error>> {
    let mut seen = std::collections::HashSet::new();
    let mut files = Vec::new();
    walk(image, image.info().root, &mut seen, &mut files)?;
    Ok(files)
}

fn walk(
    image: &Dwarfs,
    dir: Ino,
    seen: &mut std::collections::HashSet<Ino>,
    files: &mut Vec<File>,
) -> Result<(), Box<dyn Error>> {
    let mut entries = Vec::new();
    image.read_dir(dir, Cursor::START, &mut |entry| {
        entries.push((entry.ino, entry.kind));
        ControlFlow::Continue(())
    })?;
    for (ino, kind) in entries {
        if kind == FileType::Directory {
            walk(image, ino, seen, files)?;
        } else if kind == FileType::File && seen.insert(ino) {
            let mut file = File {
                directory: dir.0,
                len: image.inode(ino)?.allocated,
                ranges: Vec::new(),
            };
            image.extents(ino, 0, &mut |extent| {
                if let ExtentSource::Block { block, offset } = extent.source {
                    file.ranges.push((block, offset, extent.len));
                }
                ControlFlow::Continue(())
            })?;
            if file.len > 0 {
                files.push(file);
            }
        }
    }
    Ok(())
}

/// Returns the ranges of a file between two offsets.
fn part(file: &File, from: u64, to: u64) -> Vec<Range> {
    let mut at = 0;
    let mut ranges = Vec::new();
    for &(block, offset, len) in &file.ranges {
        let (start, end) = (from.max(at), to.min(at + len));
        if start < end {
            ranges.push((block, offset + start - at, end - start));
        }
        at += len;
    }
    ranges
}

/// A fixed sequence of numbers without a pattern.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 29)
}

fn row(name: &str, read: u64, decoded: u64, blocks: usize) {
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let ratio = decoded as f64 / read.max(1) as f64;
    println!(
        "  {name:<34} {:>9.1} MB read {:>9.1} MB decoded {ratio:>8.2} {blocks:>6} blocks",
        mb(read),
        mb(decoded)
    );
}

fn measure(image: &Dwarfs) -> Result<(), Box<dyn Error>> {
    let files = files(image)?;
    let Some(largest) = files.iter().rev().max_by_key(|file| file.len) else {
        return Ok(());
    };
    let mut cache = Cache::new(u64::MAX);
    cache.read(&largest.ranges);
    let extents = largest.ranges.len();
    let name = format!("largest file ({extents} extents)");
    row(&name, largest.len, cache.decoded, cache.blocks.len());

    let mut by_size: Vec<&File> = files.iter().collect();
    by_size.sort_by_key(|file| std::cmp::Reverse(file.len));
    let (mut read, mut decoded, mut blocks) = (0, 0, 0);
    for file in by_size.iter().take(LARGEST_FILES) {
        let mut cache = Cache::new(u64::MAX);
        cache.read(&file.ranges);
        read += file.len;
        decoded += cache.decoded;
        blocks += cache.blocks.len();
    }
    row("20 largest files, each cold", read, decoded, blocks);

    let (mut state, mut decoded, mut blocks) = (1, 0, 0);
    for _ in 0..SMALL_READS {
        let at = random(&mut state) % largest.len.saturating_sub(4096).max(1);
        let mut cache = Cache::new(u64::MAX);
        cache.read(&part(largest, at, at + 4096));
        decoded += cache.decoded;
        blocks += cache.blocks.len();
    }
    row(
        "4 KiB of it, each cold",
        SMALL_READS * 4096,
        decoded,
        blocks,
    );

    let (mut cache, mut read) = (Cache::new(u64::MAX), 0);
    for _ in 0..RANDOM_FILES {
        let file = &files[(random(&mut state) % files.len() as u64) as usize];
        cache.read(&file.ranges);
        read += file.len;
    }
    row("500 random files", read, cache.decoded, cache.blocks.len());

    let (mut decoded, mut blocks, mut read) = (0, 0, 0);
    for _ in 0..RANDOM_FILES {
        let file = &files[(random(&mut state) % files.len() as u64) as usize];
        let mut cache = Cache::new(u64::MAX);
        cache.read(&file.ranges);
        read += file.len;
        decoded += cache.decoded;
        blocks += cache.blocks.len();
    }
    row("500 random files, each cold", read, decoded, blocks);

    // by path, so that images of one tree are asked for the same ones: writers number them each in
    // its own way
    let mut directories: Vec<u64> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    directories.extend(
        files
            .iter()
            .map(|file| file.directory)
            .filter(|&dir| seen.insert(dir)),
    );
    let (mut read, mut decoded, mut blocks) = (0, 0, 0);
    for _ in 0..DIRECTORIES {
        let directory = directories[(random(&mut state) % directories.len() as u64) as usize];
        let mut cache = Cache::new(u64::MAX);
        for file in files.iter().filter(|file| file.directory == directory) {
            cache.read(&file.ranges);
            read += file.len;
        }
        decoded += cache.decoded;
        blocks += cache.blocks.len();
    }
    row("200 directories, each cold", read, decoded, blocks);

    for mib in [512, 64] {
        let (mut cache, mut read) = (Cache::new(mib << 20), 0);
        for file in &files {
            cache.read(&file.ranges);
            read += file.len;
        }
        let name = format!("all by path, cache of {mib} MiB");
        row(&name, read, cache.decoded, cache.blocks.len());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let source = Arc::new(FileSource::open(&path)?);
        let image = Dwarfs::open(source, &ReadOptions::default())?;
        let stored = std::fs::metadata(&path)?.len();
        println!("{path}: {:.2} MB", stored as f64 / 1e6);
        measure(&image)?;
    }
    Ok(())
}
