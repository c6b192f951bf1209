//! Images that genromfs makes of trees of every type of file, and damaged ones.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_model::{Cursor, Error, FileType, Image, Ino, Kind, Quiet, Rdev, Result};
use sinterfs_romfs::check::check;
use sinterfs_romfs::read::{ReadOptions, Romfs};
use sinterfs_testkit::{Random, noise, skip};

fn open(bytes: &[u8]) -> Result<Romfs> {
    Romfs::open(
        Arc::new(MemorySource(bytes.to_vec())),
        &ReadOptions::default(),
    )
}

/// Makes an image of a directory; `None` without genromfs.
fn genromfs(tree: &Path, image: &Path) -> Option<Vec<u8>> {
    let made = Command::new("genromfs")
        .args(["-V", "a volume", "-d"])
        .args([tree, Path::new("-f"), image])
        .output();
    match made {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => {
            skip("no genromfs");
            return None;
        }
    }
    Some(fs::read(image).unwrap())
}

fn make_tree(tree: &Path) {
    fs::create_dir_all(tree.join("deep/er")).unwrap();
    fs::create_dir(tree.join("empty")).unwrap();
    fs::write(tree.join("text"), "some text\n").unwrap();
    fs::write(tree.join("zero"), "").unwrap();
    fs::write(tree.join("deep/er/noise"), noise(5, 70_001)).unwrap();
    fs::write(tree.join("n".repeat(100)), "long").unwrap();
    fs::write(tree.join("run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(tree.join("run"), PermissionsExt::from_mode(0o755)).unwrap();
    fs::hard_link(tree.join("text"), tree.join("deep/linked")).unwrap();
    std::os::unix::fs::symlink("../text", tree.join("deep/symlink")).unwrap();
    let special = "mkfifo fifo; mknod char c 5 300 2>/dev/null || true";
    let mut shell = Command::new("sh");
    shell.args(["-c", special]).current_dir(tree);
    assert!(shell.status().unwrap().success());
}

/// Compares a directory of an image with one of the system.
fn compare(image: &Romfs, dir: Ino, path: &Path) {
    let mut found = Vec::new();
    let visit = &mut |entry: sinterfs_model::Dirent<'_>| {
        found.push((String::from_utf8(entry.name.to_vec()).unwrap(), entry.ino));
        ControlFlow::Continue(())
    };
    image.read_dir(dir, Cursor::START, visit).unwrap();
    let mut names: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        found
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    );
    for (name, ino) in found {
        let path = path.join(&name);
        let (real, inode) = (path.symlink_metadata().unwrap(), image.inode(ino).unwrap());
        assert_eq!(image.lookup(dir, name.as_bytes()).unwrap(), Some(ino));
        let kind = real.file_type();
        match inode.kind {
            FileType::Directory => {
                assert!(kind.is_dir());
                assert_eq!(image.parent(ino).unwrap(), dir);
                compare(image, ino, &path);
            }
            FileType::File => {
                assert!(kind.is_file());
                assert_eq!(u64::from(inode.nlink), real.nlink());
                assert_eq!(u32::from(inode.meta.mode) & 0o111, real.mode() & 0o111);
                let mut content = vec![0; inode.size as usize];
                image.read_at(ino, 0, &mut content).unwrap();
                assert!(content == fs::read(&path).unwrap(), "{name}");
            }
            FileType::Symlink => {
                let target = fs::read_link(&path).unwrap();
                let read = image.read_link(ino).unwrap();
                assert_eq!(target.to_str().unwrap().as_bytes(), read);
            }
            FileType::CharDevice => {
                assert_eq!(inode.rdev, Rdev::from_dev_t(real.rdev()));
            }
            FileType::Fifo => assert!(kind.is_fifo()),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn images_of_genromfs_are_their_source() {
    let work = tempfile::tempdir().unwrap();
    let tree = work.path().join("tree");
    make_tree(&tree);
    let Some(bytes) = genromfs(&tree, &work.path().join("image")) else {
        return;
    };
    let image = open(&bytes).unwrap();
    assert_eq!(image.volume(), b"a volume");
    compare(&image, image.info().root, &tree);
    let source = Arc::new(MemorySource(bytes.clone()));
    let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
    assert!(report.findings.is_sound(), "{:?}", report.findings);

    let mut random = Random(11);
    for _ in 0..20_000 {
        let mut bytes = bytes.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(1200);
            bytes[at] = random.number() as u8;
        }
        read_everything(&bytes);
    }
}

/// Reads all of an image that may be damaged. Returns the names that can be read, and what is
/// damaged.
fn read_everything(bytes: &[u8]) -> (Vec<String>, Vec<Error>) {
    let image = match open(bytes) {
        Ok(image) => image,
        Err(error) => return (Vec::new(), vec![error]),
    };
    let (mut names, mut problems) = (Vec::new(), Vec::new());
    let mut left = vec![image.info().root];
    let mut budget = 10_000;
    while let Some(dir) = left.pop() {
        let visit = &mut |entry: sinterfs_model::Dirent<'_>| {
            budget -= 1;
            assert!(budget > 0, "a walk without end");
            let inode = match image.inode(entry.ino) {
                Ok(inode) => inode,
                Err(error) => {
                    problems.push(error);
                    return ControlFlow::Continue(());
                }
            };
            match inode.kind {
                FileType::Directory => left.push(entry.ino),
                FileType::File => {
                    let mut room = [0; 4096];
                    problems.extend(image.read_at(entry.ino, 0, &mut room).err());
                }
                FileType::Symlink => problems.extend(image.read_link(entry.ino).err()),
                _ => {}
            }
            names.push(String::from_utf8_lossy(entry.name).into_owned());
            ControlFlow::Continue(())
        };
        let listed = image.read_dir(dir, Cursor::START, visit);
        problems.extend(listed.err());
    }
    let source = Arc::new(MemorySource(bytes.to_vec()));
    let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
    assert!(problems.is_empty() || !report.findings.is_sound());
    (names, problems)
}

/// Appends a header with a name; `next` has the type in its low bits.
fn header(bytes: &mut Vec<u8>, next: u32, info: u32, name: &str) {
    for word in [next, info, 0, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(name.as_bytes());
    bytes.resize((bytes.len() + 1).next_multiple_of(16), 0);
}

/// Headers: next with the type, info and name.
type Headers = &'static [(u32, u32, &'static str)];

/// An image whose root at 0x20 has these headers from 0x40 on, 32 bytes each.
fn made(headers: &[(u32, u32, &str)]) -> Vec<u8> {
    let mut bytes = b"-rom1fs-".to_vec();
    bytes.extend([0; 24]);
    header(&mut bytes, 1, 0x40, ".");
    for (next, info, name) in headers {
        header(&mut bytes, *next, *info, name);
    }
    let size = bytes.len() as u32;
    bytes[8..12].copy_from_slice(&size.to_be_bytes());
    bytes
}

/// Reads an image with damage, which hides no other names than these.
fn damaged(what: &str, bytes: &[u8], others: &[&str]) {
    let (names, problems) = read_everything(bytes);
    assert_eq!(names, others, "{what}");
    let error = problems.first().expect(what);
    assert_eq!(error.kind(), Kind::Corrupt, "{what}: {error}");
    assert!(error.place().is_some(), "{what}: {error}");
}

#[test]
fn damaged_entries_hide_no_other_names() {
    assert!(open(&made(&[(0x62, 0, "a"), (0, 0x40, "b")])).is_ok());
    let cases: &[(&str, Headers, &[&str])] = &[
        ("a directory in itself", &[(1, 0x40, "loop")], &["loop"]),
        ("a header before itself", &[(0x42, 0, "a")], &["a"]),
        (
            "one listing twice",
            &[(0x61, 0x80, "a"), (1, 0x80, "b"), (2, 0, "f")],
            &["a", "b", "f"],
        ),
        (
            "a link to nothing",
            &[(0x60, 0x1000, "l"), (2, 0, "z")],
            &["z"],
        ),
        (
            "a link to a link",
            &[(0x60, 0x60, "l"), (0x80, 0x40, "m"), (2, 0, "z")],
            &["z"],
        ),
        (
            "a link to a directory",
            &[(0x61, 0, "d"), (0, 0x40, "l")],
            &["d"],
        ),
        ("equal names", &[(0x62, 0, "a"), (2, 0, "a")], &["a"]),
        ("no name", &[(0x62, 0, ""), (2, 0, "z")], &["z"]),
        ("a slash", &[(0x62, 0, "a/b"), (2, 0, "z")], &["z"]),
        ("a file named ..", &[(0x62, 0, ".."), (2, 0, "z")], &["z"]),
        ("the next one outside", &[(0x1002, 0, "a")], &["a"]),
        (
            "a listing outside",
            &[(0x61, 0x1000, "a"), (2, 0, "z")],
            &["a", "z"],
        ),
    ];
    for (what, headers, others) in cases {
        damaged(what, &made(headers), others);
    }
    let mut large = made(&[(0x62, 0, "a"), (2, 0, "z")]);
    large[0x48..0x4c].fill(0xff);
    damaged("content outside", &large, &["a", "z"]);
}
