//! Reads broken images: whatever they hold, an error or correct data, soon, in little memory.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

mod support;

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use sinterfs_block::MemorySource;
use sinterfs_dwarfs::check::check;
use sinterfs_dwarfs::read::{Dwarfs, ReadOptions};
use sinterfs_model::{Cursor, ExtentSource, FileType, Image, Ino, Limits, Quiet, Result};

/// Bounds that suit images of a few kilobytes.
fn options(offset: Option<u64>) -> ReadOptions {
    let limits = Limits {
        metadata: 16 << 20,
        block: 16 << 20,
        sections: 1 << 16,
    };
    ReadOptions {
        offset,
        limits,
        cache_bytes: 32 << 20,
        ..ReadOptions::default()
    }
}

/// What a walk over a whole image saw.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    paths: u64,
    files: u64,
    unreadable: u64,
    bytes: u64,
}

/// Walks the tree, asks everything of every inode and reads all that is not a hole.
fn walk(image: &dyn Image) -> Result<Seen> {
    let mut seen = Seen::default();
    let mut read = std::collections::HashSet::new();
    let mut directories = vec![image.info().root];
    while let Some(dir) = directories.pop() {
        seen.paths += 1;
        image.inode(dir)?;
        assert!(image.parent(dir)?.0 < image.info().totals.inodes);
        let mut others = Vec::new();
        image.read_dir(dir, Cursor::START, &mut |entry| {
            assert!(!entry.name.is_empty() && !entry.name.contains(&b'/'));
            match entry.kind {
                FileType::Directory => directories.push(entry.ino),
                _ => others.push(entry.ino),
            }
            ControlFlow::Continue(())
        })?;
        for ino in others {
            seen.paths += 1;
            let inode = image.inode(ino)?;
            if inode.kind == FileType::Symlink && image.read_link(ino).is_err() {
                seen.unreadable += 1;
            }
            if inode.kind == FileType::File && read.insert(ino) {
                seen.files += 1;
                read_file(image, ino, inode.size, &mut seen)?;
            }
        }
    }
    Ok(seen)
}

fn read_file(image: &dyn Image, ino: Ino, size: u64, seen: &mut Seen) -> Result<()> {
    let mut extents = Vec::new();
    image.extents(ino, 0, &mut |extent| {
        extents.push(extent);
        ControlFlow::Continue(())
    })?;
    let end = extents.last().map_or(0, |last| last.offset + last.len);
    assert_eq!(end, size);
    let mut buf = vec![0; 1 << 16];
    for extent in extents
        .iter()
        .filter(|extent| extent.source != ExtentSource::Hole)
    {
        let len = buf.len().min(usize::try_from(extent.len).unwrap());
        match image.read_at(ino, extent.offset, &mut buf[..len]) {
            Ok(count) => {
                assert_eq!(count, len);
                seen.bytes += count as u64;
            }
            Err(_) => seen.unreadable += 1,
        }
    }
    Ok(())
}

/// Does everything that can be done with an image; returns whether it could be opened.
fn exercise(bytes: &[u8], offset: Option<u64>) -> bool {
    let source = Arc::new(MemorySource(bytes.to_vec()));
    let options = options(offset);
    let opened = match Dwarfs::open(Arc::clone(&source) as _, &options) {
        Ok(image) => {
            walk(&image).unwrap();
            let _ = image.inode(Ino(u64::MAX)).unwrap_err();
            let _ = image.sections();
            let _ = image.history();
            let _ = image.metadata_history();
            let _ = image.categories();
            let _ = image.made_by();
            for block in (0..100).take(usize::try_from(image.block_count()).unwrap()) {
                let _ = image.block_info(block);
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    };
    if let Ok(report) = check(source, &options, true, 2, &Quiet) {
        assert!(opened || !report.is_sound());
    }
    opened
}

/// Runs one case and fails if it does not end, naming it; prints those that take over a second.
fn soon(name: &str, case: impl FnOnce() -> bool + Send + 'static) -> bool {
    let (sender, receiver) = sync_channel(1);
    let start = Instant::now();
    let thread = std::thread::spawn(move || {
        let result = case();
        let _ = sender.send(());
        result
    });
    match receiver.recv_timeout(Duration::from_secs(20)) {
        Err(RecvTimeoutError::Timeout) => panic!("{name}: does not end"),
        // the channel is closed: it is over, well or not
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
    }
    let result = thread.join().unwrap_or_else(|_| panic!("{name}: panicked"));
    // a second is what it may take; a busy machine is no failure
    let took = start.elapsed();
    if took > Duration::from_secs(1) {
        println!("{name}: took {took:?}");
    }
    result
}

/// The most memory that this process ever had, in bytes; 0 where the system does not report it.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.map_or(0, |kib| kib.trim().parse::<u64>().unwrap() * 1024)
}

/// Lists the regular files of a tar archive with plain ustar headers.
fn tar_files(tar: &[u8]) -> Vec<(String, &[u8])> {
    let mut files = Vec::new();
    let mut rest = tar;
    while let Some((header, after)) = rest.split_at_checked(512) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let text = |range: std::ops::Range<usize>| {
            let field = &header[range];
            let end = field
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(field.len());
            String::from_utf8_lossy(&field[..end]).trim().to_owned()
        };
        let size = usize::from_str_radix(&text(124..136), 8).unwrap();
        let (content, next) = after.split_at(size.next_multiple_of(512).min(after.len()));
        if matches!(header[156], b'0' | 0) {
            files.push((text(0..100), &content[..size]));
        }
        rest = next;
    }
    files
}

#[test]
fn images_that_crashed_upstream() {
    let Some(path) = support::shared("vectors/upstream/dwarfs/badfs.tar.xz") else {
        return;
    };
    let mut tar = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    liblzma::read::XzDecoder::new(file)
        .read_to_end(&mut tar)
        .unwrap();
    let files = tar_files(&tar);
    assert_eq!(files.len(), 1284);
    let mut opened = 0;
    for (name, bytes) in files {
        let bytes = bytes.to_vec();
        opened += u32::from(soon(&name, {
            let bytes = bytes.clone();
            move || exercise(&bytes, Some(0))
        }));
        let source = Arc::new(MemorySource(bytes));
        let report = check(source, &options(Some(0)), true, 2, &Quiet);
        assert!(
            report.is_err() || report.is_ok_and(|r| !r.is_sound()),
            "{name} is found sound"
        );
    }
    println!(
        "{opened} of 1284 can be opened; {} MiB at most",
        peak_memory() >> 20
    );
    assert!(peak_memory() < 1 << 30);
}

/// The smallest images of the kinds that there are.
fn small_images() -> Vec<(String, Vec<u8>)> {
    [
        "compat/compat-v0.2.3",
        "compat/compat-v0.4.1",
        "compat/setuidgid-v0.5.6",
        "unixlink",
    ]
    .iter()
    .filter_map(|name| {
        let path = support::shared(format!("vectors/upstream/dwarfs/{name}.dwarfs"))?;
        Some(((*name).to_owned(), support::read_file(&path)))
    })
    .collect()
}

#[test]
fn images_that_were_cut_short() {
    for (name, bytes) in small_images() {
        let image = bytes.clone();
        assert!(soon(&name, move || exercise(&image, None)));
        for len in (0..bytes.len()).step_by(64).chain([bytes.len() - 1]) {
            let cut = bytes[..len].to_vec();
            let opened = soon(&format!("{name}, {len} bytes"), move || {
                exercise(&cut, None)
            });
            // the metadata is near the end; only what follows it may be cut off at its border
            assert!(!opened, "{name} was opened from {len} bytes");
        }
    }
}

#[test]
fn images_with_flipped_bits() {
    for (name, bytes) in small_images() {
        let intact = walk(&support::open(bytes.clone()).unwrap()).unwrap();
        let has_hashes = bytes[7] >= 2;
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << (at % 8);
            let case = format!("{name}, byte {at}");
            // a hash finds it, or it is in a part that is not read; without hashes other content
            // may come out
            let opened = Dwarfs::open(Arc::new(MemorySource(broken.clone())), &options(Some(0)));
            if let (Ok(image), true) = (opened, has_hashes) {
                let seen = walk(&image).unwrap();
                assert!(seen == intact || seen.unreadable > 0, "{case}: {seen:?}");
            }
            exercise(&broken, None);
        }
    }
}

/// Metadata that was broken before it was hashed: the checks of the tables are all there is.
#[test]
fn images_with_flipped_bits_and_right_hashes() {
    let Some(directory) = support::shared("vectors/upstream/dwarfs") else {
        return;
    };
    for name in [
        "unixlink.dwarfs",
        "compat/compat-v0.9.10.dwarfs",
        "compat/compat-v0.6.2.dwarfs",
    ] {
        let bytes = support::read_file(&directory.join(name));
        let image = support::open(bytes.clone()).unwrap();
        let sections = image.sections().unwrap();
        let mut opened = 0;
        for section in sections
            .iter()
            .filter(|section| [7, 8].contains(&section.kind.0.get()))
        {
            let start = section.offset as usize + 64;
            let stored = &bytes[start..start + section.len as usize];
            let plain =
                sinterfs_dwarfs::framing::decode(section.compression.0.get(), stored, 1 << 20)
                    .unwrap();
            for bit in 0..plain.len() * 8 {
                let mut broken = plain.clone();
                broken[bit / 8] ^= 1 << (bit % 8);
                let mut image = bytes[..section.offset as usize].to_vec();
                image.extend(support::section_with_hashes(
                    &bytes[section.offset as usize..],
                    &broken,
                ));
                let rest = start + section.len as usize;
                image.extend(&bytes[rest..]);
                let case = format!("{name}, {}, bit {bit}", section.kind);
                opened += u32::from(soon(&case, move || exercise(&image, Some(0))));
            }
        }
        println!("{name}: {opened} broken images can be opened");
    }
    println!("{} MiB at most", peak_memory() >> 20);
    assert!(peak_memory() < 1 << 30);
}
