//! Images that wimlib makes, those of the shared vectors, and damaged ones.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Cursor, FileType, Image, Ino, Kind, Limits, Quiet, Result};
use sinterfs_testkit::{Random, read_file, shared, skip};
use sinterfs_wim::check::check;
use sinterfs_wim::layout::{HEADER_LEN, WimHeader};
use sinterfs_wim::read::{ReadOptions, Wim};

fn source(bytes: &[u8]) -> Arc<dyn ReadAt> {
    Arc::new(MemorySource(bytes.to_vec()))
}

fn open(bytes: &[u8]) -> Result<Wim> {
    Wim::open(source(bytes), &[], &small())
}

/// Options with limits that a small image does not reach.
fn small() -> ReadOptions {
    ReadOptions {
        limits: Limits {
            metadata: 64 << 20,
            block: 256 << 20,
            ..Limits::default()
        },
        ..ReadOptions::default()
    }
}

fn problems(bytes: &[u8]) -> Vec<String> {
    let report = check(source(bytes), &[], &small(), true, &Quiet).unwrap();
    report.findings.into_messages().0
}

/// Returns all paths with their inodes.
fn walk(image: &Wim) -> Vec<(String, Ino)> {
    let mut found = Vec::new();
    let mut left = vec![(String::new(), image.info().root)];
    while let Some((path, dir)) = left.pop() {
        image
            .read_dir(dir, Cursor::START, &mut |entry| {
                let path = format!("{path}/{}", String::from_utf8_lossy(entry.name));
                found.push((path.clone(), entry.ino));
                assert!(found.len() < 100_000, "a walk without end");
                if entry.kind == FileType::Directory {
                    left.push((path, entry.ino));
                }
                ControlFlow::Continue(())
            })
            .unwrap();
    }
    found
}

/// Reads all of an image that may be damaged.
fn read_everything(bytes: &[u8]) {
    let Ok(image) = open(bytes) else { return };
    for (_, ino) in walk(&image) {
        let Ok(inode) = image.inode(ino) else {
            continue;
        };
        let _ = image.xattrs(ino);
        match inode.kind {
            FileType::File => {
                let mut content = vec![0; inode.size.min(1 << 20) as usize];
                let _ = image.read_at(ino, 0, &mut content);
                let mut end = 0;
                image
                    .extents(ino, 0, &mut |extent| {
                        assert_eq!(extent.offset, end);
                        end += extent.len;
                        if end < 16 << 20 {
                            ControlFlow::Continue(())
                        } else {
                            ControlFlow::Break(())
                        }
                    })
                    .unwrap();
            }
            FileType::Symlink => drop(image.read_link(ino)),
            _ => {}
        }
    }
    let _ = image.stored_chunks(&mut |_| {});
    let _ = check(source(bytes), &[], &small(), true, &Quiet);
}

/// The vectors, unpacked.
fn vectors() -> Vec<(String, Vec<u8>)> {
    let Some(vectors) = shared("vectors") else {
        skip("no vectors");
        return Vec::new();
    };
    let files = std::fs::read_dir(vectors.join("images/wim")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let unpacked = files.iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, read_file(path))
    });
    unpacked.collect()
}

#[test]
fn vectors_are_sound() {
    for (name, bytes) in vectors() {
        assert_eq!(problems(&bytes), Vec::<String>::new(), "{name}");
        let image = open(&bytes).unwrap();
        let files = walk(&image);
        assert!(files.len() > 900, "{name}: only {} files", files.len());
        let with_xattrs = files
            .iter()
            .filter(|(_, ino)| !image.xattrs(*ino).unwrap().is_empty());
        assert_eq!(
            with_xattrs.count() > 10,
            name.starts_with("xattrs"),
            "{name}"
        );
    }
}

#[test]
fn one_image_of_several() {
    let Some((_, bytes)) = vectors()
        .into_iter()
        .find(|(name, _)| name.contains("two-images"))
    else {
        return;
    };
    let all = open(&bytes).unwrap();
    let roots: Vec<_> = walk(&all).into_iter().map(|(path, _)| path).collect();
    assert!(roots.contains(&"/1".to_owned()) && roots.contains(&"/2/book.txt".to_owned()));
    let of = |image: &str| {
        let options = ReadOptions {
            image: Some(image.to_owned()),
            ..small()
        };
        Wim::open(source(&bytes), &[], &options)
    };
    let count = |image: &Wim| walk(image).len();
    assert_eq!(count(&of("1").unwrap()), count(&of("first").unwrap()));
    assert_eq!(count(&of("2").unwrap()), count(&of("second").unwrap()));
    assert_eq!(
        count(&all),
        count(&of("1").unwrap()) + count(&of("2").unwrap()) + 2
    );
    let error = of("third").unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);
    assert!(error.what().contains("2 \"second\""), "{error}");
}

/// The images of wimlib's own tests.
fn upstream(name: &str) -> Option<Vec<u8>> {
    let Some(vectors) = shared("vectors") else {
        skip("no vectors");
        return None;
    };
    Some(read_file(&vectors.join("upstream/wimlib").join(name)))
}

#[test]
fn images_of_wimlibs_tests_are_read_or_refused() {
    let refused = [
        ("corrupted_file_1.wim", "SHA-1"),
        ("corrupted_file_2.wim", "chunk 0"),
        ("cyclic.wim", "listing"),
        ("dotdot.wim", "no entry may have that name"),
        ("duplicate_names.wim", "another entry"),
    ];
    for (name, why) in refused {
        let Some(bytes) = upstream(name) else { return };
        let found = problems(&bytes);
        assert!(
            found.iter().any(|found| found.contains(why)),
            "{name}: {found:?}"
        );
    }
    for (name, files) in [
        ("empty_dacl.wim", 1),
        ("linux_xattrs_old.wim", 1),
        ("longpaths.wim", 203),
    ] {
        let bytes = upstream(name).unwrap();
        assert_eq!(problems(&bytes), Vec::<String>::new(), "{name}");
        assert_eq!(walk(&open(&bytes).unwrap()).len(), files, "{name}");
    }
    let old = open(&upstream("linux_xattrs_old.wim").unwrap()).unwrap();
    let (_, file) = walk(&old).remove(0);
    let xattrs = old.xattrs(file).unwrap();
    assert!(
        xattrs.contains(&(b"user.bb".to_vec(), b"vb".to_vec())),
        "{xattrs:?}"
    );
    // what is left out is not in the way of the rest
    let twice = open(&upstream("duplicate_names.wim").unwrap()).unwrap();
    assert_eq!(walk(&twice).len(), 1);
    assert_eq!(twice.lost_entries()[0].count, 2);
}

#[test]
fn mutations_do_no_harm() {
    let mut images = vectors();
    images.retain(|(name, _)| !name.starts_with("none"));
    let mut random = Random(17);
    for _ in 0..150 {
        let Some((_, bytes)) = images.get(random.below(images.len().max(1))) else {
            return;
        };
        let mut bytes = bytes.clone();
        let header = WimHeader::decode(bytes[..HEADER_LEN].first_chunk().unwrap()).unwrap();
        for _ in 0..=random.below(3) {
            let table = header.blobs.at as usize..bytes.len();
            let at = match random.below(4) {
                0 => random.below(HEADER_LEN),
                1 => table.start + random.below(table.len().min(2000)),
                _ => random.below(bytes.len()),
            };
            bytes[at] = random.number() as u8;
        }
        read_everything(&bytes);
    }
}

#[test]
fn reports_every_truncation() {
    for (name, bytes) in vectors()
        .into_iter()
        .filter(|(name, _)| !name.starts_with("none"))
    {
        for cut in [
            0,
            7,
            100,
            HEADER_LEN,
            5000,
            bytes.len() / 2,
            bytes.len() - 300,
        ] {
            let cut_off = &bytes[..cut];
            match open(cut_off) {
                Err(error) => assert!(error.place().is_some(), "{name} at {cut}: {error}"),
                // nothing but the names of images
                Ok(_) => assert!(
                    problems(cut_off)
                        .iter()
                        .any(|what| what.contains("XML data"))
                ),
            }
        }
    }
}

/// Changes the metadata of an image that is stored without compression.
fn with_metadata(change: impl Fn(&mut [u8])) -> Option<Vec<u8>> {
    let mut bytes = upstream("linux_xattrs_old.wim")?;
    let header = *WimHeader::decode(bytes.first_chunk().unwrap())
        .as_ref()
        .unwrap();
    let _ = header;
    let start = 208;
    change(&mut bytes[start..start + 448]);
    let mut state = sinterfs_block::checksum::Sha1::default();
    state.update(&bytes[start..start + 448]);
    let table = header.blobs.at as usize;
    bytes[table + 30..table + 50].copy_from_slice(&state.finish());
    Some(bytes)
}

#[test]
fn hostile_metadata_ends_in_errors() {
    type Change = fn(&mut [u8]);
    let cases: &[(&str, Change)] = &[
        ("a listing outside", |bytes| bytes[24] = 0xff),
        ("a listing far outside", |bytes| bytes[31] = 0x7f),
        ("security data that is too long", |bytes| bytes[3] = 0x7f),
        ("security descriptors without sizes", |bytes| {
            bytes[4] = 0xff;
        }),
        ("an entry that is too long", |bytes| bytes[9] = 0xff),
        ("an entry that is too short", |bytes| bytes[8] = 50),
        ("a root that is no directory", |bytes| bytes[16] = 0x80),
        ("a name past the end", |bytes| bytes[8 + 101] = 0x20),
        ("an item past the end", |bytes| bytes[119] = 0x10),
        ("a listing that is its own directory's", |bytes| {
            bytes[144 + 8] = 0x10;
            bytes[144 + 16] = 144;
        }),
        ("content that is not there", |bytes| bytes[144 + 64] = 1),
        ("streams outside", |bytes| bytes[144 + 97] = 0xff),
    ];
    for (what, change) in cases {
        let Some(bytes) = with_metadata(change) else {
            return;
        };
        let error = open(&bytes).expect_err(what);
        assert_eq!(error.kind(), Kind::Corrupt, "{what}: {error}");
        assert!(error.place().is_some(), "{what}: {error}");
    }
    assert!(open(&with_metadata(|_| {}).unwrap()).is_ok());
}

#[test]
fn limits_hold() {
    for (name, bytes) in vectors() {
        let options = ReadOptions {
            limits: Limits {
                metadata: 20_000,
                ..Limits::default()
            },
            ..ReadOptions::default()
        };
        let error = Wim::open(source(&bytes), &[], &options).expect_err(&name);
        assert_eq!(error.kind(), Kind::Limit, "{name}: {error}");
    }
}

/// Runs a tool of wimlib; `None` without it.
fn wimlib(args: &[&str], dir: &Path) -> Option<()> {
    let output = Command::new("wimlib-imagex")
        .args(args)
        .current_dir(dir)
        .output();
    let Ok(output) = output else {
        skip("no wimlib-imagex");
        return None;
    };
    assert!(output.status.success(), "{args:?}: {output:?}");
    Some(())
}

#[test]
fn parts_and_deltas() {
    let Some((_, bytes)) = vectors()
        .into_iter()
        .find(|(name, _)| name.starts_with("none"))
    else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    std::fs::write(path.join("whole.wim"), &bytes).unwrap();
    let Some(()) = wimlib(&["split", "whole.wim", "part.swm", "1"], path) else {
        return;
    };
    let parts: Vec<_> = (1..)
        .map(|number| match number {
            1 => path.join("part.swm"),
            _ => path.join(format!("part{number}.swm")),
        })
        .take_while(|path| path.exists())
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert!(parts.len() > 2);
    let with = |more: &[Vec<u8>]| more.iter().map(|bytes| source(bytes)).collect::<Vec<_>>();
    let expected = walk(&open(&bytes).unwrap());
    let mut further = parts[1..].to_vec();
    further.reverse();
    let split = Wim::open(source(&parts[0]), &with(&further), &small()).unwrap();
    assert_eq!(walk(&split), expected);
    let report = check(source(&parts[0]), &with(&further), &small(), true, &Quiet).unwrap();
    assert!(report.findings.is_sound(), "{:?}", report.findings);
    let error = Wim::open(source(&parts[0]), &with(&further[1..]), &small()).unwrap_err();
    assert!(error.what().contains("is missing"), "{error}");

    // a delta has only what its base has not
    std::fs::create_dir(path.join("tree")).unwrap();
    wimlib(&["apply", "whole.wim", "1", "tree"], path).unwrap();
    std::fs::write(path.join("tree/new"), "new content\n").unwrap();
    let delta = [
        "capture",
        "tree",
        "delta.wim",
        "--delta-from=whole.wim",
        "--unix-data",
    ];
    wimlib(&delta, path).unwrap();
    let delta = std::fs::read(path.join("delta.wim")).unwrap();
    let error = open(&delta).unwrap_err();
    assert!(error.what().contains("delta"), "{error}");
    let report = check(source(&delta), &with(&[bytes]), &small(), true, &Quiet).unwrap();
    assert!(report.findings.is_sound(), "{:?}", report.findings);
}
