//! File systems that mkfs of e2fsprogs makes of trees, in every version; and damaged ones.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_ext::check::check;
use sinterfs_ext::read::{Ext, ReadOptions};
use sinterfs_model::{Cursor, FileType, Image, Ino, Kind, Quiet, Rdev, Result};
use sinterfs_testkit::{Random, noise, skip};

fn open(bytes: &[u8]) -> Result<Ext> {
    let source = Arc::new(MemorySource(bytes.to_vec()));
    Ext::open(source, &ReadOptions::default())
}

/// Makes a file system of a directory; `None` without the tool.
fn mkfs(options: &[&str], tree: &Path, image: &Path, size: &str) -> Option<Vec<u8>> {
    drop(fs::remove_file(image));
    let made = Command::new("mke2fs")
        .args(["-q", "-d"])
        .arg(tree)
        .args(options)
        .arg(image)
        .arg(size)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output();
    match made {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => {
            skip("no mke2fs");
            return None;
        }
    }
    Some(fs::read(image).unwrap())
}

fn make_tree(tree: &Path) {
    fs::create_dir_all(tree.join("deep/er")).unwrap();
    fs::create_dir(tree.join("many")).unwrap();
    fs::write(tree.join("text"), "some text\n").unwrap();
    fs::write(tree.join("zero"), "").unwrap();
    // with blocks of 1 KiB: through three levels of pointers
    let mut sparse = fs::File::create(tree.join("sparse")).unwrap();
    for at in [0, 20_000, 400_000, 70_000_000] {
        sparse.seek(SeekFrom::Start(at)).unwrap();
        sparse.write_all(&noise(at, 5000)).unwrap();
    }
    fs::write(tree.join("deep/er/noise"), noise(5, 700_001)).unwrap();
    fs::write(tree.join("n".repeat(255)), "long").unwrap();
    for number in 0..600 {
        fs::write(tree.join(format!("many/file-{number:03}")), "").unwrap();
    }
    fs::hard_link(tree.join("text"), tree.join("deep/linked")).unwrap();
    std::os::unix::fs::symlink("../text", tree.join("deep/symlink")).unwrap();
    std::os::unix::fs::symlink("t/".repeat(100), tree.join("deep/long")).unwrap();
    let special = "mkfifo fifo; mknod c c 5 300 2>/dev/null; mknod b b 8 1 2>/dev/null;
        setfattr -n user.one -v 1 text 2>/dev/null; touch -d '2040-05-06 07:08:09.123456789' text;
        touch -d '1931-01-02 03:04:05' zero; chown 70000:80000 zero 2>/dev/null; true";
    let mut shell = Command::new("sh");
    shell.args(["-c", special]).current_dir(tree);
    assert!(shell.status().unwrap().success());
}

/// Compares a directory of an image with one of the system.
fn compare(image: &Ext, dir: Ino, path: &Path) {
    let mut found = Vec::new();
    let visit = &mut |entry: sinterfs_model::Dirent<'_>| {
        found.push((String::from_utf8(entry.name.to_vec()).unwrap(), entry.ino));
        ControlFlow::Continue(())
    };
    image.read_dir(dir, Cursor::START, visit).unwrap();
    found.retain(|(name, _)| name != "lost+found");
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert!(names.iter().eq(found.iter().map(|(name, _)| name)));
    for (name, ino) in found {
        let path = path.join(&name);
        assert_eq!(image.lookup(dir, name.as_bytes()).unwrap(), Some(ino));
        compare_inode(image, ino, &path);
        if path.symlink_metadata().unwrap().is_dir() {
            assert_eq!(image.parent(ino).unwrap(), dir);
            compare(image, ino, &path);
        }
    }
}

fn compare_inode(image: &Ext, ino: Ino, path: &Path) {
    let (real, inode) = (path.symlink_metadata().unwrap(), image.inode(ino).unwrap());
    assert_eq!(u32::from(inode.meta.mode), real.mode() & 0o7777, "{path:?}");
    assert_eq!((inode.meta.uid, inode.meta.gid), (real.uid(), real.gid()));
    let modified = inode.meta.times.modified;
    // mke2fs stores neither nanoseconds nor more than 32 bits of seconds
    assert_eq!(modified.secs as i32, real.mtime() as i32, "{path:?}");
    assert_eq!(modified.nanos, 0);
    let kind = real.file_type();
    match inode.kind {
        FileType::Directory => assert!(kind.is_dir()),
        FileType::File => {
            assert_eq!(u64::from(inode.nlink), real.nlink());
            assert_eq!(inode.size, real.len());
            let mut content = vec![1; usize::try_from(inode.size).unwrap()];
            image.read_at(ino, 0, &mut content).unwrap();
            let expected = fs::read(path).unwrap();
            assert!(content == expected, "{path:?}");
            for (at, len) in [(1, 7), (20_500, 9000), (69_999_000, 3000)] {
                let mut part = vec![1; len];
                let read = image.read_at(ino, at as u64, &mut part).unwrap();
                let expected = expected.get(at..).unwrap_or_default();
                assert!(part[..read] == expected[..len.min(expected.len())]);
            }
            let mut end = 0;
            let visit = &mut |extent: sinterfs_model::Extent| {
                assert_eq!(extent.offset, end);
                end += extent.len;
                ControlFlow::Continue(())
            };
            image.extents(ino, 0, visit).unwrap();
            assert_eq!(end, inode.size);
        }
        FileType::Symlink => {
            let target = fs::read_link(path).unwrap();
            let read = image.read_link(ino).unwrap();
            assert_eq!(target.to_str().unwrap().as_bytes(), read);
        }
        FileType::CharDevice | FileType::BlockDevice => {
            assert_eq!(inode.rdev, Rdev::from_dev_t(real.rdev()));
        }
        FileType::Fifo => assert!(kind.is_fifo()),
        FileType::Socket => panic!("{path:?}: a socket"),
    }
}

#[test]
fn file_systems_of_mke2fs_are_their_source() {
    let work = tempfile::tempdir().unwrap();
    let tree = work.path().join("tree");
    make_tree(&tree);
    let cases: [(&[&str], &str); 6] = [
        (&["-t", "ext2", "-b", "1024", "-I", "128"], "ext2"),
        (&["-t", "ext2", "-b", "4096", "-L", "a label"], "ext2"),
        (&["-t", "ext3", "-b", "1024", "-O", "^dir_index"], "ext3"),
        (&["-t", "ext4", "-b", "1024"], "ext4"),
        (
            &["-t", "ext4", "-b", "4096", "-O", "64bit,metadata_csum"],
            "ext4",
        ),
        (
            &["-t", "ext4", "-b", "2048", "-O", "^filetype,bigalloc"],
            "ext4",
        ),
    ];
    for (options, version) in cases {
        let image = work.path().join("image");
        let Some(bytes) = mkfs(options, &tree, &image, "24M") else {
            return;
        };
        let image = open(&bytes).unwrap_or_else(|error| panic!("{options:?}: {error}"));
        assert_eq!(image.info().version, version, "{options:?}");
        let root = image.info().root;
        compare(&image, root, &tree);
        let text = image.lookup(root, b"text").unwrap().unwrap();
        let expected = vec![(b"user.one".to_vec(), b"1".to_vec())];
        let has_xattrs = Command::new("getfattr").arg("--version").output().is_ok();
        if has_xattrs {
            assert_eq!(image.xattrs(text).unwrap(), expected);
        }
        let source = Arc::new(MemorySource(bytes));
        let report = check(source, &ReadOptions::default(), &Quiet).unwrap();
        assert!(report.findings.is_sound(), "{:?}", report.findings);
    }
}

/// Reads all of an image that may be damaged.
fn read_everything(bytes: Vec<u8>) {
    let source = Arc::new(MemorySource(bytes));
    let report = check(Arc::clone(&source) as _, &ReadOptions::default(), &Quiet);
    drop(report);
    let Ok(image) = Ext::open(source, &ReadOptions::default()) else {
        return;
    };
    for number in 1..60 {
        let mut content = vec![0; 10_000];
        drop(image.read_at(Ino(number), 0, &mut content));
        drop(image.read_link(Ino(number)));
    }
}

#[test]
fn damaged_file_systems_end_in_errors() {
    let work = tempfile::tempdir().unwrap();
    let tree = work.path().join("tree");
    fs::create_dir_all(tree.join("dir")).unwrap();
    fs::write(tree.join("dir/noise"), noise(3, 300_000)).unwrap();
    fs::write(tree.join("text"), "text").unwrap();
    std::os::unix::fs::symlink("t/".repeat(100), tree.join("dir/long")).unwrap();
    for version in ["ext2", "ext4"] {
        let options = [
            "-t",
            version,
            "-b",
            "1024",
            "-N",
            "64",
            "-O",
            "^has_journal",
        ];
        let image = work.path().join("image");
        let Some(bytes) = mkfs(&options, &tree, &image, "600k") else {
            return;
        };
        let opened = open(&bytes).unwrap();
        assert!(opened.lookup(Ino(2), b"text").unwrap().is_some());
        let mut random = Random(23);
        for _ in 0..3000 {
            let mut bytes = bytes.clone();
            for _ in 0..=random.below(4) {
                // superblock, descriptors, inodes and directories are at the front
                let at = 1024 + random.below(60_000);
                bytes[at] = random.number() as u8;
            }
            read_everything(bytes);
        }
        let mut journal = bytes.clone();
        journal[1024 + 0x60] |= 4;
        assert_eq!(open(&journal).unwrap_err().kind(), Kind::Unsupported);
        let mut cut = bytes;
        cut.truncate(3000);
        assert_eq!(open(&cut).unwrap_err().kind(), Kind::Corrupt);
    }
}
