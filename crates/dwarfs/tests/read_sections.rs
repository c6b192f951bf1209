//! Finds images and their sections: behind headers, with and without a sound index, among
//! sections of unknown types, in versions that are known and others.

#![allow(clippy::unwrap_used, reason = "this is a test")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

mod manifest;
mod support;

use std::ops::ControlFlow;
use std::sync::Arc;

use manifest::of_image;
use sinterfs_block::MemorySource;
use sinterfs_dwarfs::layout::SectionType;
use sinterfs_dwarfs::read::{Dwarfs, ReadOptions, SectionInfo, locate};
use sinterfs_model::{Cursor, FileType, Image, Ino, Kind, Result};
use support::section_with_hashes;

/// An image with blocks, history and index, and the same as parts.
fn image() -> Option<(Vec<u8>, Vec<SectionInfo>)> {
    let path = support::shared("vectors/images/dwarfs/lookback.img")?;
    let bytes = support::read_file(&path);
    let sections = support::open(bytes.clone()).unwrap().sections().unwrap();
    assert!(sections.len() > 20);
    Some((bytes, sections))
}

fn open_at(bytes: &[u8], offset: Option<u64>) -> Result<Dwarfs> {
    let options = ReadOptions {
        offset,
        ..ReadOptions::default()
    };
    Dwarfs::open(Arc::new(MemorySource(bytes.to_vec())), &options)
}

fn bytes_of<'b>(bytes: &'b [u8], section: &SectionInfo) -> &'b [u8] {
    let start = section.offset as usize;
    &bytes[start..start + 64 + section.len as usize]
}

#[test]
fn headers_and_baits_before_the_image() {
    let Some((bytes, _)) = image() else { return };
    let mut baits = b"#!/bin/sh\n# DWARFS\x02\x05 DWARFS DWARFS\x02 DDWARFS\x02\x01".to_vec();
    baits.extend(&bytes[..64]); // a whole header of a first section, but no second one
    baits.extend([0x55; 100]);
    for padding in [0, 1, 7, (1 << 18) - 300, (1 << 18) - 6, 1 << 18] {
        let mut file = baits.clone();
        file.resize(file.len() + padding, b'D');
        let start = file.len() as u64;
        file.extend(&bytes);
        assert_eq!(
            locate(&MemorySource(file.clone())).unwrap(),
            Some(start),
            "{padding}"
        );
        let found = open_at(&file, None).unwrap();
        assert_eq!(found.offset(), start);
        assert!(found.has_index());
        assert!(open_at(&file, Some(start)).is_ok());
        for wrong in [0, start - 1, start + 1, file.len() as u64, u64::MAX] {
            let error = open_at(&file, Some(wrong)).unwrap_err();
            assert_eq!(error.kind(), Kind::Invalid, "{wrong}: {error}");
        }
    }
}

#[test]
fn where_there_is_no_image() {
    for bytes in [&b""[..], b"D", b"DWARFS", b"DWARF\x02\x05", &[0; 1000]] {
        let error = open_at(bytes, None).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{error}");
    }
}

#[test]
fn an_image_with_something_after_it() {
    let Some((bytes, _)) = image() else { return };
    let mut file = bytes.clone();
    file.extend(b"appended");
    for tail in [&b"appended"[..], &[0; 4096], &bytes] {
        let image = open_at(&[&bytes[..], tail].concat(), None).unwrap();
        assert!(image.has_index());
        assert_eq!(
            of_image(&image),
            of_image(&support::open(bytes.clone()).unwrap())
        );
    }
    let options = ReadOptions {
        len: Some(bytes.len() as u64),
        ..ReadOptions::default()
    };
    assert!(
        Dwarfs::open(Arc::new(MemorySource(file)), &options)
            .unwrap()
            .has_index()
    );
}

#[test]
fn a_broken_index_is_left_alone() {
    let Some((bytes, sections)) = image() else {
        return;
    };
    let expected = of_image(&support::open(bytes.clone()).unwrap());
    let index = sections.last().unwrap();
    let start = index.offset as usize;
    let entries = bytes_of(&bytes, index)[64..].to_vec();
    let with_index = |entries: &[u8]| {
        let mut file = bytes[..start].to_vec();
        file.extend(section_with_hashes(&bytes[start..], entries));
        file
    };
    let swapped = {
        let mut entries = entries.clone();
        let (a, b) = entries.split_at_mut(16);
        a[8..].swap_with_slice(&mut b[..8]);
        entries
    };
    let mut damaged = bytes.clone();
    damaged[start + 64 + 8] ^= 1;
    let first_is_not_zero = [&1_u64.to_le_bytes(), &entries[8..]].concat();
    for (what, file) in [
        ("absent", bytes[..start].to_vec()),
        ("damaged", damaged),
        ("unsorted", with_index(&swapped)),
        ("not from the start", with_index(&first_is_not_zero)),
        ("of two entries", with_index(&entries[entries.len() - 16..])),
        ("cut within an entry", with_index(&entries[3..])),
    ] {
        let image = support::open(file).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(!image.has_index(), "{what}");
        assert_eq!(of_image(&image), expected, "{what}");
    }
    let image = support::open(with_index(&entries)).unwrap();
    assert!(image.has_index());
    assert_eq!(of_image(&image), expected);
}

#[test]
fn unknown_sections_are_skipped() {
    let Some((bytes, sections)) = image() else {
        return;
    };
    let mut unknown = section_with_hashes(&bytes, b"from the future");
    unknown[0x34..0x36].copy_from_slice(&77_u16.to_le_bytes());
    // without the index, which would not know it
    let mut file = bytes_of(&bytes, &sections[0]).to_vec();
    file.extend(unknown);
    for section in &sections[1..sections.len() - 1] {
        file.extend(bytes_of(&bytes, section));
    }
    let image = open_at(&file, Some(0)).unwrap();
    assert_eq!(of_image(&image), of_image(&support::open(bytes).unwrap()));
    assert_eq!(image.sections().unwrap()[1].kind.to_string(), "type 77");
}

#[test]
fn metadata_must_be_there_once() {
    let Some((bytes, sections)) = image() else {
        return;
    };
    for kind in [7, 8] {
        let parts = |copies: usize| -> Vec<u8> {
            sections[..sections.len() - 1]
                .iter()
                .flat_map(|section| {
                    let count = if section.kind.0.get() == kind {
                        copies
                    } else {
                        1
                    };
                    bytes_of(&bytes, section).repeat(count)
                })
                .collect()
        };
        assert!(open_at(&parts(1), Some(0)).is_ok());
        for copies in [0, 2] {
            let error = open_at(&parts(copies), Some(0)).unwrap_err();
            assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        }
    }
}

#[test]
fn other_versions_are_refused() {
    let Some((bytes, _)) = image() else { return };
    for (major, minor) in [(1, 5), (3, 0), (2, 7), (2, 255)] {
        let mut file = bytes.clone();
        (file[6], file[7]) = (major, minor);
        let error = open_at(&file, Some(0)).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported);
        assert!(
            error.to_string().contains(&format!("{major}.{minor}")),
            "{error}"
        );
    }
    let mut file = bytes;
    file[7] = 6;
    assert_eq!(open_at(&file, Some(0)).unwrap().info().version, "2.6");
}

#[test]
fn a_damaged_block_harms_only_its_bytes() {
    let Some((mut bytes, sections)) = image() else {
        return;
    };
    let sound = support::open(bytes.clone()).unwrap();
    let damaged = 5_u64;
    let section = &sections[5];
    bytes[section.offset as usize + 64] ^= 0x40;
    let image = support::open(bytes).unwrap();
    let (mut good, mut bad) = (0, 0);
    let mut directories = vec![image.info().root];
    while let Some(dir) = directories.pop() {
        let mut files = Vec::new();
        let mut visit = |entry: sinterfs_model::Dirent<'_>| {
            match entry.kind {
                FileType::Directory => directories.push(entry.ino),
                FileType::File => files.push(entry.ino),
                _ => {}
            }
            ControlFlow::Continue(())
        };
        image.read_dir(dir, Cursor::START, &mut visit).unwrap();
        for ino in files {
            check_extents(
                &image,
                &sound,
                ino,
                damaged,
                section.offset,
                (&mut good, &mut bad),
            );
        }
    }
    assert!(good > 100 && bad > 0, "{good} {bad}");
}

fn check_extents(
    image: &Dwarfs,
    sound: &Dwarfs,
    ino: Ino,
    damaged: u64,
    offset: u64,
    (good, bad): (&mut u32, &mut u32),
) {
    let mut extents = Vec::new();
    let mut collect = |extent| {
        extents.push(extent);
        ControlFlow::Continue(())
    };
    image.extents(ino, 0, &mut collect).unwrap();
    for extent in extents {
        let sinterfs_model::ExtentSource::Block { block, .. } = extent.source else {
            continue;
        };
        let mut found = vec![0; usize::try_from(extent.len).unwrap()];
        let result = image.read_at(ino, extent.offset, &mut found);
        if block == damaged {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), Kind::Corrupt);
            let place = error.place().unwrap();
            assert_eq!((&*place.structure, place.offset), ("block 5", Some(offset)));
            *bad += 1;
        } else {
            let mut expected = found.clone();
            sound.read_at(ino, extent.offset, &mut expected).unwrap();
            assert!(found == expected);
            *good += 1;
        }
    }
}

#[test]
fn directories_go_on_where_they_stopped() {
    let Some((bytes, _)) = image() else { return };
    let image = support::open(bytes).unwrap();
    let (mut all, mut one_by_one) = (Vec::new(), Vec::new());
    let root = image.info().root;
    image
        .read_dir(root, Cursor::START, &mut |entry| {
            all.push((entry.name.to_vec(), entry.ino));
            ControlFlow::Continue(())
        })
        .unwrap();
    let mut from = Cursor::START;
    loop {
        let before = one_by_one.len();
        image
            .read_dir(root, from, &mut |entry| {
                assert!(entry.next > from);
                from = entry.next;
                one_by_one.push((entry.name.to_vec(), entry.ino));
                ControlFlow::Break(())
            })
            .unwrap();
        if one_by_one.len() == before {
            break;
        }
    }
    assert_eq!(all, one_by_one);
    let past = Cursor(u64::MAX);
    image
        .read_dir(root, past, &mut |_| panic!("nothing is there"))
        .unwrap();
    assert_eq!(image.lookup(root, b"not there").unwrap(), None);
    assert_eq!(image.lookup(root, b"").unwrap(), None);
    assert_eq!(image.parent(root).unwrap(), root);
    let (_, file) = all
        .iter()
        .find(|(_, ino)| image.read_link(*ino).is_err())
        .unwrap();
    assert_eq!(image.read_link(*file).unwrap_err().kind(), Kind::Invalid);
    assert_eq!(
        image.inode(Ino(u64::MAX)).unwrap_err().kind(),
        Kind::NotFound
    );
}

#[test]
fn a_damaged_image_is_not_taken_for_one_inside_of_it() {
    let Some((bytes, _)) = image() else { return };
    // an image whose first section is cut, with another image after it
    let mut file = bytes[..80].to_vec();
    file.extend(&bytes);
    assert_eq!(locate(&MemorySource(file.clone())).unwrap(), Some(0));
    assert_eq!(open_at(&file, None).unwrap_err().kind(), Kind::Corrupt);
    assert!(open_at(&file, Some(80)).is_ok());
}

#[test]
fn an_image_without_its_end_is_salvaged() {
    let Some((bytes, sections)) = image() else {
        return;
    };
    let expected = of_image(&open_at(&bytes, Some(0)).unwrap());
    let mut sections = sections.iter();
    let metadata = sections
        .find(|section| section.kind == SectionType::METADATA_V2)
        .unwrap();
    let end = (metadata.offset + 64 + metadata.len) as usize;
    assert!(end + 64 < bytes.len(), "nothing follows the metadata");
    let open = |bytes: Vec<u8>, salvage| {
        let options = ReadOptions {
            offset: Some(0),
            salvage,
            ..ReadOptions::default()
        };
        Dwarfs::open(Arc::new(MemorySource(bytes)), &options)
    };
    let cut = |len: usize| bytes[..len].to_vec();
    let zeroed = |from: usize| {
        let mut damaged = bytes.clone();
        damaged[from..].fill(0);
        damaged
    };
    for at in [
        end + 1,
        end + 63,
        end + 64,
        bytes.len() - 64,
        bytes.len() - 1,
    ] {
        for damaged in [cut(at), zeroed(at.min(bytes.len() - 512))] {
            let refused = open(damaged.clone(), false);
            if let Ok(whole) = refused {
                // a header is there still: only its content is lost
                assert!(of_image(&whole) == expected);
                continue;
            }
            let salvaged = open(damaged, true).unwrap();
            assert!(of_image(&salvaged) == expected, "{at}");
            assert_eq!(salvaged.damaged_metadata().count(), 1, "{at}");
        }
    }
    // without the metadata there is nothing to salvage
    assert_eq!(open(cut(end - 1), true).unwrap_err().kind(), Kind::Corrupt);
}

#[test]
fn many_threads_read_at_once() {
    let Some((bytes, _)) = image() else { return };
    // a cache of three blocks, so that they are always evicted
    let options = ReadOptions {
        cache_bytes: 3 << 13,
        ..ReadOptions::default()
    };
    let image = Dwarfs::open(Arc::new(MemorySource(bytes)), &options).unwrap();
    let expected = of_image(&image);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| of_image(&image))).collect();
        for thread in threads {
            assert!(thread.join().unwrap() == expected);
        }
    });
}
