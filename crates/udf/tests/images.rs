//! Discs of genisoimage: what 7-Zip unpacks is what is read; volumes of mkudffs; damaged discs.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Cursor, FileType, Image, Ino, Limits, Quiet, Result};
use sinterfs_testkit::{Random, noise, read_file, skip};
use sinterfs_udf::check::check;
use sinterfs_udf::read::{Probe, ReadOptions, Udf, probe};

fn options() -> ReadOptions {
    ReadOptions {
        limits: Limits {
            metadata: 64 << 20,
            ..Limits::default()
        },
        ..ReadOptions::default()
    }
}

fn open(bytes: &[u8]) -> Result<Udf> {
    Udf::open(Arc::new(MemorySource(bytes.to_vec())), &options())
}

/// Returns the content of each file by its path; directories have none.
fn contents(image: &Udf) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut left = vec![(String::new(), image.info().root)];
    while let Some((path, dir)) = left.pop() {
        // a damaged directory has nothing that is found
        let _ = image.read_dir(dir, Cursor::START, &mut |entry| {
            let path = format!("{path}/{}", String::from_utf8_lossy(entry.name));
            assert_eq!(image.lookup(dir, entry.name).unwrap(), Some(entry.ino));
            if entry.kind == FileType::Directory {
                found.insert(path.clone(), None);
                left.push((path, entry.ino));
            } else if let Ok(content) = content(image, entry.ino) {
                found.insert(path, Some(content));
            }
            assert!(found.len() < 100_000, "a walk without end");
            ControlFlow::Continue(())
        });
    }
    found
}

fn content(image: &Udf, ino: Ino) -> Result<Vec<u8>> {
    let inode = image.inode(ino)?;
    let mut content = vec![0; inode.size.min(16 << 20) as usize];
    let len = image.read_at(ino, 0, &mut content)?;
    assert_eq!(len, content.len());
    if inode.kind == FileType::File {
        let mut end = 0;
        image.extents(ino, 0, &mut |extent| {
            assert_eq!(extent.offset, end);
            end += extent.len;
            ControlFlow::Continue(())
        })?;
        assert_eq!(end, inode.size);
    }
    image.xattrs(ino)?;
    Ok(content)
}

fn tree(root: &Path) {
    fs::create_dir_all(root.join("a directory/deeper")).unwrap();
    fs::create_dir(root.join("many")).unwrap();
    for number in 0..120 {
        let name = format!("many/file number {number}.txt");
        fs::write(root.join(name), format!("{number}\n").repeat(number)).unwrap();
    }
    fs::write(root.join("README.TXT"), "short").unwrap();
    fs::write(root.join("ünïcödé ☃.txt"), noise(1, 100_000)).unwrap();
    fs::write(root.join("empty"), "").unwrap();
    fs::write(root.join("a directory/deeper/x"), noise(2, 70_001)).unwrap();
}

/// Makes a disc of a tree; `None` without its tool.
fn disc(work: &Path) -> Option<Vec<u8>> {
    tree(&work.join("tree"));
    let made = Command::new("genisoimage")
        .current_dir(work)
        .env("LC_ALL", "C.UTF-8")
        .args([
            "-quiet",
            "-udf",
            "-input-charset",
            "utf-8",
            "-o",
            "disc.iso",
            "tree",
        ])
        .output();
    let Ok(made) = made else {
        skip("no genisoimage");
        return None;
    };
    assert!(made.status.success(), "{made:?}");
    Some(read_file(&work.join("disc.iso")))
}

/// Returns the files below a directory, as `contents` does.
fn on_disk(root: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut left = vec![(String::new(), root.to_owned())];
    while let Some((path, dir)) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{path}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                found.insert(path.clone(), None);
                left.push((path, entry.path()));
            } else {
                found.insert(path, Some(fs::read(entry.path()).unwrap()));
            }
        }
    }
    found
}

#[test]
fn files_match_7_zip() {
    let work = tempfile::tempdir().unwrap();
    let Some(bytes) = disc(work.path()) else {
        return;
    };
    let image = open(&bytes).unwrap();
    let found = contents(&image);
    assert!(found == on_disk(&work.path().join("tree")));
    assert_eq!(image.left_out().count() + image.damage().count(), 0);
    assert!(
        check(Arc::new(MemorySource(bytes)), &options(), &Quiet)
            .unwrap()
            .findings
            .is_sound()
    );
    let unpacked = Command::new("7zz")
        .current_dir(work.path())
        .env("LC_ALL", "C.UTF-8")
        .args(["x", "-y", "-ounpacked", "disc.iso"])
        .output();
    match unpacked {
        Ok(done) => {
            assert!(done.status.success(), "{done:?}");
            assert!(found == on_disk(&work.path().join("unpacked")));
        }
        Err(_) => skip("no 7zz"),
    }
}

#[test]
fn volumes_of_all_kinds_are_opened() {
    let work = tempfile::tempdir().unwrap();
    let path = work.path().join("volume");
    for (media, block, version, shown) in [
        ("hd", "512", "2.01", "2.01"),
        ("hd", "1024", "1.02", "1.02"),
        ("hd", "4096", "2.01", "2.01"),
        ("cdrw", "2048", "2.01", "2.01"),
        ("cdr", "2048", "1.50", "1.50"),
        ("cdr", "2048", "2.60", "2.60"),
    ] {
        let file = fs::File::create(&path).unwrap();
        file.set_len(40 << 20).unwrap();
        let options = ["-m", media, "-b", block, "-r", version, "-l", "A label"];
        let made = Command::new("/usr/sbin/mkudffs")
            .args(options)
            .arg(&path)
            .output();
        let Ok(made) = made else {
            skip("no mkudffs (udftools)");
            return;
        };
        assert!(made.status.success(), "{media} {block} {version}: {made:?}");
        let image = open(&read_file(&path)).unwrap();
        assert_eq!(image.label(), "A label", "{media} {block} {version}");
        assert_eq!(image.info().version, shown);
        assert_eq!(image.info().totals.block_size.to_string(), block);
        // a directory for what fsck finds, of some media
        assert!(contents(&image).keys().all(|name| name == "/lost+found"));
    }
}

#[test]
fn a_damaged_entry_harms_its_file_only() {
    let work = tempfile::tempdir().unwrap();
    let Some(mut bytes) = disc(work.path()) else {
        return;
    };
    let sound = contents(&open(&bytes).unwrap());
    // the last file entry is that of a file
    let mut entries = (0..bytes.len() / 2048).filter(|block| bytes[block * 2048..][..2] == [5, 1]);
    let last = entries.next_back().unwrap();
    bytes[last * 2048 + 60] ^= 1;
    let image = open(&bytes).unwrap();
    let found = contents(&image);
    assert_eq!(found.len() + 1, sound.len());
    assert!(found.iter().all(|(path, content)| sound[path] == *content));
    let report = check(Arc::new(MemorySource(bytes)), &options(), &Quiet).unwrap();
    assert_eq!(report.findings.problems().len(), 1);
}

#[test]
fn the_reserve_is_read_and_a_damaged_root_is_reported() {
    let work = tempfile::tempdir().unwrap();
    let Some(bytes) = disc(work.path()) else {
        return;
    };
    let sound = contents(&open(&bytes).unwrap());
    let at = |block: usize| block * 2048;
    let main = u32::from_le_bytes(bytes[at(256) + 20..][..4].try_into().unwrap()) as usize;
    let mut damaged = bytes.clone();
    for block in main..main + 16 {
        damaged[at(block) + 100] ^= 1;
    }
    let image = open(&damaged).unwrap();
    assert_eq!(contents(&image), sound);
    assert_eq!(image.damage().count(), 1);
    let set = (257..bytes.len() / 2048).find(|block| bytes[at(*block)..][..2] == [0, 1]);
    let mut damaged = bytes.clone();
    damaged[at(set.unwrap()) + 20] ^= 1;
    let source: Arc<dyn ReadAt> = Arc::new(MemorySource(damaged));
    assert!(matches!(
        probe(&source, &options()).unwrap(),
        Probe::Damaged(_)
    ));
    let source: Arc<dyn ReadAt> = Arc::new(MemorySource(bytes));
    assert!(matches!(probe(&source, &options()).unwrap(), Probe::Sound));
}

#[test]
fn damage_ends_in_errors() {
    let work = tempfile::tempdir().unwrap();
    let Some(bytes) = disc(work.path()) else {
        return;
    };
    let mut random = Random(7);
    let blocks: Vec<usize> = (16..bytes.len() / 2048)
        .filter(|block| matches!(bytes[block * 2048..][..2], [1..=9, 0] | [0..=10, 1]))
        .collect();
    for _ in 0..400 {
        let mut damaged = bytes.clone();
        for _ in 0..=random.below(3) {
            let block = blocks[random.below(blocks.len())] * 2048;
            let at = block + 16 + random.below(240);
            damaged[at] = [0, 1, 0xff, random.number() as u8][random.below(4)];
            reseal(&mut damaged[block..block + 2048]);
        }
        if random.below(8) == 0 {
            damaged.truncate(random.below(bytes.len()));
        }
        if let Ok(image) = open(&damaged) {
            contents(&image);
        }
        // fails where there is no volume any more
        let _ = check(Arc::new(MemorySource(damaged)), &options(), &Quiet);
    }
}

/// Makes the checksums of a descriptor right again.
fn reseal(block: &mut [u8]) {
    let covered = usize::from(u16::from_le_bytes([block[10], block[11]]));
    let crc = block.get(16..16 + covered).unwrap_or_default().iter();
    let crc = crc.fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    });
    block[8..10].copy_from_slice(&crc.to_le_bytes());
    block[4] = 0;
    block[4] = block[..16]
        .iter()
        .fold(0, |sum, byte| sum.wrapping_add(*byte));
}
