//! Images that were damaged on purpose end in errors or in content: never in a panic, a hang or a
//! large allocation.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinterfs_erofs::lookalike::{Lookalike, Shown};
use sinterfs_erofs::read::Erofs;
use sinterfs_model::{Cursor, FileType, Image, Ino, Kind, Quiet};
use sinterfs_testkit::Random;
use support::Vector;

/// How far a hostile size is believed, in bytes.
const READ_MAX: u64 = 1 << 20;

/// How many entries or extents are looked at.
const ITEMS_MAX: usize = 10_000;

/// Asks everything of an inode; what comes does not matter, as long as it comes.
fn ask(image: &Erofs, ino: Ino) {
    let Ok(inode) = image.inode(ino) else { return };
    let _ = image.xattrs(ino);
    let _ = image.read_link(ino);
    let _ = image.parent(ino);
    let mut left = ITEMS_MAX;
    let _ = image.read_dir(ino, Cursor::START, &mut |entry| {
        assert!(!entry.name.is_empty() && !entry.name.contains(&b'/'));
        left -= 1;
        if left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let _ = image.lookup(ino, b"text");
    let (mut left, mut at) = (ITEMS_MAX, 0);
    let _ = image.extents(ino, 0, &mut |extent| {
        // sorted, disjoint, without gaps
        assert!(extent.offset == at && extent.len > 0, "{extent:?} at {at}");
        at = extent.offset + extent.len;
        assert!(at <= inode.size);
        left -= 1;
        if left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let mut buf = vec![0; 100_000];
    if let Ok(count) = image.read_at(ino, 0, &mut buf) {
        // whoever begins elsewhere reads the same, or nothing
        let mut part = vec![0; 1000];
        for at in (0..count).step_by(4099) {
            let read = image.read_at(ino, at as u64, &mut part);
            let same = |len| buf[at..count].starts_with(&part[..len]) || at + len > count;
            assert!(read.is_err() || read.is_ok_and(same), "at {at}");
        }
    }
    for start in [0, inode.size / 2, inode.size.saturating_sub(1)] {
        let mut at = start;
        while at < inode.size && at - start < READ_MAX {
            match image.read_at(ino, at, &mut buf) {
                Ok(0) => panic!("nothing at {at} of {}", inode.size),
                Ok(count) => at += count as u64,
                Err(error) => {
                    assert_ne!(error.kind(), Kind::Io, "{error}");
                    break;
                }
            }
        }
    }
}

/// Lists the inodes of an image, as far as they can be listed.
fn inodes(image: &Erofs) -> Vec<Ino> {
    let mut all = vec![image.info().root];
    let mut waiting = all.clone();
    while let Some(dir) = waiting.pop() {
        if all.len() > ITEMS_MAX {
            break;
        }
        let _ = image.read_dir(dir, Cursor::START, &mut |entry| {
            all.push(entry.ino);
            if entry.kind == FileType::Directory {
                waiting.push(entry.ino);
            }
            ControlFlow::Continue(())
        });
    }
    all
}

/// Puts the right checksum into a superblock, where it has one.
fn sign(image: &mut [u8]) {
    let block = 1_usize << (image[1024 + 12] & 15);
    let len = if block > 1024 { block - 1024 } else { block };
    image[1028..1032].fill(0);
    let crc = sinterfs_block::checksum::crc32c(u32::MAX, &image[1024..1024 + len]);
    image[1028..1032].copy_from_slice(&crc.to_le_bytes());
}

fn all() -> Option<Vec<Vector>> {
    let root = support::vectors()?;
    let mut all = support::load(&root, "erofs");
    all.extend(support::load(&root, "composefs"));
    assert!(all.len() >= 54, "only {} images", all.len());
    Some(all)
}

/// The most virtual memory of this process so far, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPeak:"));
    line.unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn damaged_inodes_are_errors_or_content() {
    let Some(vectors) = all() else { return };
    let (start, before) = (Instant::now(), peak());
    let mut numbers = Random(0x5eed);
    let mut count = 0;
    for vector in &vectors {
        let sound = support::open(vector.image.clone(), &vector.devices).unwrap();
        let inodes = inodes(&sound);
        assert!(inodes.len() > 1000, "{}", vector.name);
        for _ in 0..150 {
            let ino = inodes[numbers.below(inodes.len())];
            // the metabox has no bytes of its own: what is hit there is some cluster
            let spot = (ino.0 & !(1 << 63)) * 32 + sound.superblock().meta_start;
            let spot = spot % (vector.image.len() as u64 - 128);
            let at = usize::try_from(spot).unwrap() + numbers.below(128);
            let mut image = vector.image.clone();
            image[at] ^= match numbers.below(3) {
                0 => 0xff,
                1 => 0x80,
                _ => 1 << numbers.below(8),
            };
            sign(&mut image);
            if let Ok(image) = support::open(image, &vector.devices) {
                ask(&image, ino);
                count += 1;
                if count % 10 == 0 {
                    // what a kernel would be shown of it
                    let _ = Lookalike::new(Arc::new(image), Shown::default());
                }
            }
        }
    }
    assert!(count > 4000, "only {count} images opened");
    assert!(start.elapsed() < Duration::from_secs(600));
    assert!(peak() - before < 1 << 20, "{} KiB", peak() - before);
}

#[test]
fn damaged_superblocks_are_errors_or_content() {
    let Some(vectors) = all() else { return };
    let mut opened = 0;
    for vector in &vectors {
        for at in 1024..1024 + 144 + 16 {
            let mut image = vector.image.clone();
            image[at] ^= 1 << (at % 8);
            let unsigned = support::open(image.clone(), &vector.devices);
            if (1032..1104).contains(&at) && unsigned.is_ok() {
                // without a checksum this cannot be detected
                let has_checksum = vector.image[1032] & 1 != 0;
                assert!(!has_checksum || at == 1032, "{} {at}", vector.name);
            }
            sign(&mut image);
            if let Ok(image) = support::open(image, &vector.devices) {
                opened += 1;
                for ino in inodes(&image).into_iter().take(20) {
                    ask(&image, ino);
                }
            }
        }
    }
    assert!(opened > 1000, "only {opened} images opened");
}

#[test]
fn cut_images_are_errors_or_content() {
    let Some(vectors) = all() else { return };
    let (mut numbers, mut rootless) = (Random(0xc07), 0);
    for vector in &vectors {
        for _ in 0..6 {
            let len = numbers.below(vector.image.len());
            let Ok(image) = support::open(vector.image[..len].to_vec(), &vector.devices) else {
                continue;
            };
            if let Err(error) = image.inode(Ino(image.superblock().root)) {
                assert_eq!(error.kind(), Kind::Corrupt, "{error}");
                rootless += usize::from(error.to_string().contains("may have been cut"));
            }
            for ino in inodes(&image).into_iter().take(200) {
                ask(&image, ino);
            }
        }
    }
    assert!(rootless > 0, "no image was cut before its root");
}

#[test]
fn targets_with_a_nul_are_refused() {
    let Some(vectors) = all() else { return };
    let (mut image, ino, at) = vectors
        .iter()
        .find_map(|vector| {
            let sound = support::open(vector.image.clone(), &vector.devices).unwrap();
            let target = |ino: &Ino| sound.read_link(*ino).ok().filter(|path| path.len() > 12);
            let inodes = inodes(&sound);
            let (ino, target) = inodes.iter().find_map(|ino| Some((*ino, target(ino)?)))?;
            let mut places = vector.image.windows(target.len());
            let at = places.position(|bytes| bytes == target)?;
            Some((vector.image.clone(), ino, at))
        })
        .unwrap();
    image[at + 4] = 0;
    sign(&mut image);
    let error = support::open(image, &[]).unwrap().read_link(ino);
    assert_eq!(error.unwrap_err().kind(), Kind::Corrupt);
}

#[test]
fn unknown_features_are_refused_by_name() {
    let Some(vectors) = all() else { return };
    let mut image = vectors[0].image.clone();
    image[1024 + 80 + 1] |= 0x42;
    sign(&mut image);
    let error = support::open(image, &[]).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported);
    let text = error.to_string();
    assert!(text.contains("0x200") && text.contains("0x4000"), "{text}");
}

#[test]
fn sound_images_pass_the_check_and_damage_does_not() {
    let Some(vectors) = all() else { return };
    let mut numbers = Random(0xc4ec);
    let (mut found, mut tried) = (0, 0);
    for vector in &vectors {
        let image = support::open(vector.image.clone(), &vector.devices).unwrap();
        let report = sinterfs_erofs::check::check(&image, &Quiet).unwrap();
        assert!(
            report.findings.is_sound(),
            "{}: {:?}",
            vector.name,
            report.findings
        );
        let inodes = inodes(&image);
        // a type that no inode has: must be found wherever metadata is not compressed
        let ino = inodes[1 + numbers.below(inodes.len() - 1)];
        if ino.0 >> 63 != 0 {
            continue;
        }
        tried += 1;
        let mut damaged = vector.image.clone();
        let at = usize::try_from(ino.0 * 32 + image.superblock().meta_start).unwrap() + 5;
        damaged[at] |= 0xf0;
        sign(&mut damaged);
        let damaged = support::open(damaged, &vector.devices).unwrap();
        let report = sinterfs_erofs::check::check(&damaged, &Quiet).unwrap();
        found += usize::from(!report.findings.is_sound());
    }
    assert!(tried > 40 && found == tried, "{found} of {tried}");
}
