//! File systems of mkfs.fat with files of mtools: what 7-Zip unpacks is what is read; damaged ones.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_fat::check::check;
use sinterfs_fat::read::{Fat, ReadOptions, is_image};
use sinterfs_model::{Cursor, ExtentSource, FileType, Image, Ino, Kind, Limits, Quiet, Result};
use sinterfs_testkit::{Random, noise, read_file, skip};

fn open(bytes: &[u8]) -> Result<Fat> {
    let options = ReadOptions {
        limits: Limits {
            metadata: 64 << 20,
            ..Limits::default()
        },
        ..ReadOptions::default()
    };
    Fat::open(Arc::new(MemorySource(bytes.to_vec())), &options)
}

/// Returns the content of each file by its path; directories have none.
fn contents(image: &Fat) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut left = vec![(String::new(), image.info().root)];
    while let Some((path, dir)) = left.pop() {
        // a damaged directory has nothing that is found
        let _ = image.read_dir(dir, Cursor::START, &mut |entry| {
            let name = String::from_utf8_lossy(entry.name).into_owned();
            let path = if path.is_empty() {
                name
            } else {
                format!("{path}/{name}")
            };
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

fn content(image: &Fat, ino: Ino) -> Result<Vec<u8>> {
    let inode = image.inode(ino)?;
    let mut content = vec![0; inode.size.min(16 << 20) as usize];
    let len = image.read_at(ino, 0, &mut content)?;
    assert_eq!(len, content.len());
    let (mut end, mut pieces) = (0, Vec::new());
    image.extents(ino, 0, &mut |extent| {
        assert_eq!(extent.offset, end);
        end += extent.len;
        pieces.push(extent);
        ControlFlow::Continue(())
    })?;
    assert_eq!(end, inode.size);
    Ok(content)
}

fn tree(root: &Path) {
    fs::create_dir_all(root.join("a long name of a directory/inside")).unwrap();
    fs::create_dir(root.join("MANY")).unwrap();
    for number in 0..300 {
        let name = format!("MANY/file number {number}.txt");
        fs::write(root.join(name), format!("{number}\n").repeat(number)).unwrap();
    }
    fs::write(root.join("README.TXT"), "short").unwrap();
    fs::write(root.join("lower.txt"), "lower").unwrap();
    fs::write(root.join("ünïcödé ☃.txt"), noise(1, 100_000)).unwrap();
    fs::write(root.join("empty"), "").unwrap();
    fs::write(
        root.join("a long name of a directory/inside/x"),
        noise(2, 70_001),
    )
    .unwrap();
}

/// Returns the number of the file or directory with a name in the root.
fn in_root(image: &Fat, name: &str) -> Ino {
    let found = image.lookup(image.info().root, name.as_bytes());
    found.unwrap().unwrap()
}

/// Returns where the content of a file begins.
fn first_byte(image: &Fat, file: Ino) -> u64 {
    let mut first = None;
    image
        .extents(file, 0, &mut |extent| {
            first = Some(extent.source);
            ControlFlow::Break(())
        })
        .unwrap();
    let Some(ExtentSource::Block { block, .. }) = first else {
        panic!("content is stored");
    };
    block
}

/// Returns where the entry of a cluster is in the table of a FAT16 of mkfs.fat with one table and
/// sectors and clusters of 512 bytes; the cluster is that of a byte of the image.
fn table_entry(bytes: &[u8], at: u64) -> (usize, u16) {
    let field = |at: usize| u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (reserved, table_len, root_len) = (field(14) * 512, field(22) * 512, field(17) * 32);
    let cluster = (at - (reserved + table_len + root_len)) / 512 + 2;
    ((reserved + cluster * 2) as usize, cluster as u16)
}

/// Returns where the boot sector, the table and what is behind the tables begin.
fn parts(bytes: &[u8]) -> [usize; 3] {
    let field = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (sector, tables) = (field(11), usize::from(bytes[16]));
    let table_len = if field(22) == 0 { field(36) } else { field(22) };
    [0, field(14), field(14) + tables * table_len].map(|sectors| sectors * sector)
}

/// Makes a file system of a tree; `None` without its tools.
fn made(work: &Path, size: &str, options: &[&str]) -> Option<Vec<u8>> {
    let image = work.join("image");
    let _ = fs::remove_file(&image);
    let script = format!(
        "PATH=$PATH:/usr/sbin; truncate -s {size} image && mkfs.fat -n LABEL -i 12345678 {} image \
         >said && mcopy -s -p -m -i image tree/* ::",
        options.join(" ")
    );
    let made = Command::new("sh")
        .current_dir(work)
        .env("MTOOLS_SKIP_CHECK", "1")
        .env("LC_ALL", "C.UTF-8")
        .args(["-ec", &script])
        .output();
    let made = made.ok().filter(|made| made.status.code() != Some(127));
    let Some(made) = made else {
        skip("no mkfs.fat (dosfstools), no mcopy (mtools) or no shell");
        return None;
    };
    assert!(made.status.success(), "{made:?}");
    Some(read_file(&image))
}

/// The three kinds, and clusters of several sizes.
const KINDS: [(&str, &str, &[&str]); 4] = [
    ("12", "2M", &["-F12", "-s1"]),
    ("12", "4M", &["-F12", "-s4", "-S1024"]),
    ("16", "4M", &["-F16", "-s1", "-f1"]),
    ("32", "40M", &["-F32", "-s1", "-R64"]),
];

#[test]
fn files_are_those_that_7zip_unpacks() {
    let work = tempfile::tempdir().unwrap();
    let path = |name: &str| work.path().join(name);
    tree(&path("tree"));
    for (version, size, options) in KINDS {
        let Some(bytes) = made(work.path(), size, options) else {
            return;
        };
        assert!(is_image(&MemorySource(bytes.clone()), 0).unwrap());
        let image = open(&bytes).unwrap();
        assert_eq!(image.info().version, version, "{options:?}");
        assert_eq!(
            (image.label(), image.serial()),
            ("LABEL".to_owned(), 0x1234_5678)
        );
        let report = check(
            Arc::new(MemorySource(bytes.clone())),
            &ReadOptions::default(),
            &Quiet,
        );
        assert_eq!(
            report.unwrap().findings.into_messages().0,
            Vec::<String>::new()
        );
        let found = contents(&image);
        let mut expected = BTreeMap::new();
        let of_source = |name: &str| Some(fs::read(path("tree").join(name)).unwrap());
        for name in [
            "README.TXT",
            "lower.txt",
            "ünïcödé ☃.txt",
            "empty",
            "MANY/file number 7.txt",
            "MANY/file number 299.txt",
            "a long name of a directory/inside/x",
        ] {
            expected.insert(name.to_owned(), of_source(name));
        }
        for (name, content) in &expected {
            assert!(found.get(name) == Some(content), "{name} {options:?}");
        }
        assert_eq!(found.len(), 300 + 3 + 4 + 1);
        // times of modification, in whole seconds of even numbers
        let seven = image
            .lookup(image.info().root, b"README.TXT")
            .unwrap()
            .unwrap();
        assert!(image.inode(seven).unwrap().meta.times.modified.secs > 1_700_000_000);
        let out = path("out");
        let _ = fs::remove_dir_all(&out);
        let unpacked = Command::new("7zz")
            .arg("x")
            .arg(path("image"))
            .arg(format!("-o{}", out.display()))
            .output();
        let Ok(unpacked) = unpacked else {
            skip("no 7zz (7zip)");
            continue;
        };
        assert!(unpacked.status.success(), "{unpacked:?}");
        for (name, content) in &found {
            let theirs = out.join(name);
            match content {
                Some(content) => assert!(&read_file(&theirs) == content, "{name}"),
                None => assert!(theirs.is_dir(), "{name}"),
            }
        }
    }
}

#[test]
fn damage_ends_in_errors() {
    let work = tempfile::tempdir().unwrap();
    tree(&work.path().join("tree"));
    for (_, size, options) in KINDS {
        let Some(bytes) = made(work.path(), size, options) else {
            return;
        };
        for (at, new) in [
            (11, 7),
            (13, 3),
            (14, 0),
            (16, 9),
            (21, 3),
            (510, 0),
            (0, 0),
        ] {
            let mut bad = bytes.clone();
            bad[at] = new;
            assert_eq!(open(&bad).unwrap_err().kind(), Kind::Invalid, "{at}");
        }
        assert_eq!(open(&bytes[..4096]).unwrap_err().kind(), Kind::Corrupt);
        assert!(open(&bytes[..100]).is_err());
        let mut random = Random(5);
        let starts = parts(&bytes);
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        for _ in 0..100 {
            let mut bad = bytes[..=used].to_vec();
            for _ in 0..=random.below(6) {
                let (start, most) = (starts[random.below(3)], 512 << random.below(6));
                bad[start + random.below(most)] = random.number() as u8;
            }
            let Ok(image) = open(&bad) else { continue };
            contents(&image);
            let _ = check(Arc::new(MemorySource(bad)), &ReadOptions::default(), &Quiet);
        }
    }
}

#[test]
fn chains_that_lead_back_are_damage_of_their_files() {
    let work = tempfile::tempdir().unwrap();
    tree(&work.path().join("tree"));
    let (_, size, options) = KINDS[2];
    let Some(bytes) = made(work.path(), size, options) else {
        return;
    };
    let image = open(&bytes).unwrap();
    let file = in_root(&image, "ünïcödé ☃.txt");
    let (at, cluster) = table_entry(&bytes, first_byte(&image, file));
    for (next, what) in [
        (cluster, "in two chains"),
        (0, "free"),
        (0xfff7, "leads to"),
        (0xffff, "clusters, where the size needs"),
    ] {
        let mut bad = bytes.clone();
        bad[at..at + 2].copy_from_slice(&next.to_le_bytes());
        let image = open(&bad).unwrap();
        let error = image.read_at(file, 0, &mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt);
        assert!(error.what().contains(what), "{error}");
        // all other files are there
        assert_eq!(
            contents(&image).len(),
            contents(&open(&bytes).unwrap()).len() - 1
        );
        let report = check(Arc::new(MemorySource(bad)), &ReadOptions::default(), &Quiet).unwrap();
        assert_eq!(report.findings.into_messages().0.len(), 1);
    }
}

/// Directories have at most 2 MiB; a file of that size is still no directory.
#[test]
fn a_file_of_2_mib_ends_where_its_size_says() {
    let work = tempfile::tempdir().unwrap();
    let tree = work.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let stored = noise(3, 2 << 20);
    fs::write(tree.join("LARGE"), &stored).unwrap();
    let Some(bytes) = made(work.path(), "4M", KINDS[2].2) else {
        return;
    };
    let image = open(&bytes).unwrap();
    let file = in_root(&image, "LARGE");
    assert!(content(&image, file).unwrap() == stored);
    let (at, _) = table_entry(&bytes, first_byte(&image, file) + (1 << 20));
    let mut bad = bytes;
    bad[at..at + 2].copy_from_slice(&[0xff; 2]);
    let image = open(&bad).unwrap();
    let error = image.read_at(file, 0, &mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
}

#[test]
fn a_damaged_directory_is_an_error_where_it_is_read() {
    let work = tempfile::tempdir().unwrap();
    tree(&work.path().join("tree"));
    let Some(bytes) = made(work.path(), KINDS[2].1, KINDS[2].2) else {
        return;
    };
    // the last cluster of those that are used becomes that of a directory
    let listed = contents(&open(&bytes).unwrap());
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 512 * 512;
    let (_, last) = table_entry(&bytes, used as u64);
    let entry = bytes
        .windows(11)
        .position(|name| name == b"MANY       ")
        .unwrap();
    let mut bad = bytes[..used].to_vec();
    bad[entry + 26..entry + 28].copy_from_slice(&last.to_le_bytes());
    let (after, _) = table_entry(&bytes, used as u64);
    bad[after..after + 2].copy_from_slice(&[0xff; 2]);
    let image = open(&bad).unwrap();
    let many = in_root(&image, "MANY");
    let error = image
        .read_dir(many, Cursor::START, &mut |_| ControlFlow::Continue(()))
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    assert_eq!(error.place().unwrap().offset, Some(used as u64), "{error}");
    assert!(contents(&image).len() >= listed.len() - 302);
    let report = check(Arc::new(MemorySource(bad)), &ReadOptions::default(), &Quiet).unwrap();
    let problems = report.findings.problems();
    assert!(
        problems
            .iter()
            .any(|problem| problem.place() == error.place()),
        "{problems:?}"
    );
    // without the root there is nothing, and a limit has its place, too
    let error = open(&bytes[..used / 512 / 512 * 512]).unwrap_err();
    assert!(error.place().is_some(), "{error}");
    let options = ReadOptions {
        limits: Limits {
            metadata: 40_000,
            ..Limits::default()
        },
        ..ReadOptions::default()
    };
    let error = Fat::open(Arc::new(MemorySource(bytes)), &options).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    assert!(error.place().is_some(), "{error}");
}

/// The seeds of the fuzz target, which are of mkfs.fat and mtools: cut off behind what is used, and
/// that of FAT32 with a smaller table.
#[test]
fn small_images_of_each_kind_are_read() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/image");
    for kind in ["12", "16", "32"] {
        let image = open(&read_file(&seeds.join(format!("x{kind}.fat")))).unwrap();
        assert_eq!(image.info().version, kind);
        let numbers: String = (1..=300).map(|number| format!("{number}\n")).collect();
        let expected = [
            ("SHORT.TXT", Some("short\n")),
            ("a long name of a directory", None),
            ("a long name of a directory/inside", None),
            (
                "a long name of a directory/inside/ünïcödé ☃.txt",
                Some(&*numbers),
            ),
            ("empty", Some("")),
            ("lower.txt", Some("lower\n")),
        ];
        let expected = expected.map(|(path, content)| {
            (
                path.to_owned(),
                content.map(|content| content.as_bytes().to_vec()),
            )
        });
        assert!(contents(&image) == expected.into(), "{kind}");
    }
}
