//! Damaged images: what of them can still be mounted, shown, converted and mended.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use sinterfs_testkit::noise;
use support::{Mounted, build, kernel_serves, run, scratch, sinter, try_run};

const PAGE: usize = 4096;
const EIO: i32 = 5;

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Text that every codec makes smaller, different for each number.
fn text(number: u64, len: usize) -> Vec<u8> {
    let seed = noise(number, len / 8);
    let lines = seed.chunks(4).map(|four| format!("{four:02x?}\n"));
    let mut text = lines.collect::<String>().into_bytes();
    text.resize(len, b'.');
    text
}

/// Makes a tree of files of text and noise; returns their contents.
fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::create_dir_all(dir.join("d")).unwrap();
    let mut files = BTreeMap::new();
    for number in 0..12 {
        let content = match number % 3 {
            0 => noise(number, 150_001),
            _ => text(number, 200_003),
        };
        let name = format!("d/f{number:02}");
        fs::write(dir.join(&name), &content).unwrap();
        files.insert(name, content);
    }
    files
}

/// Reads each page of each file alone; returns of how many pages of which files that failed. What
/// can be read is as it was packed.
fn read_pages(at: &Path, files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, usize> {
    let mut lost = BTreeMap::new();
    for (name, content) in files {
        let file = File::open(at.join(name)).unwrap();
        assert_eq!(file.metadata().unwrap().len(), content.len() as u64);
        for (page, expected) in content.chunks(PAGE).enumerate() {
            let mut found = vec![0; expected.len()];
            match file.read_exact_at(&mut found, (page * PAGE) as u64) {
                Ok(()) => assert!(found == expected, "{name}: page {page} has other bytes"),
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(EIO), "{name}: {error}");
                    *lost.entry(name.clone()).or_insert(0) += 1;
                }
            }
        }
        if !lost.contains_key(name) {
            assert!(fs::read(at.join(name)).unwrap() == *content, "{name}");
        }
    }
    lost
}

/// Returns the paths that a log of damage or a report of damaged files names.
fn paths(log: &str) -> BTreeSet<String> {
    let paths = log
        .lines()
        .filter_map(|line| Some(line.split_once(": ")?.0));
    paths.map(str::to_owned).collect()
}

/// Returns the offset of the first section of a type, which the index of a DwarFS image has.
fn section(image: &[u8], kind: u64) -> usize {
    let entry = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let place = |entry: u64| usize::try_from(entry & ((1 << 48) - 1)).unwrap();
    let index = place(entry(image.last_chunk::<8>().unwrap())) + 64;
    let mut entries = image[index..].chunks_exact(8).map(entry);
    place(entries.find(|entry| entry >> 48 == kind).unwrap())
}

const SCHEMA: u64 = 7;
const METADATA: u64 = 8;
const HISTORY: u64 = 10;
const METADATA_COPY: u64 = 0x5804;

#[test]
fn all_that_can_be_decoded_of_a_damaged_image_is_mounted() {
    let work = scratch();
    let files = tree(&work.path().join("tree"));
    let mut ways = vec!["--fuse"];
    ways.extend(kernel_serves().then_some("--kernel"));
    let image = work.path().join("image");
    let path = image.to_str().unwrap();
    let log = work.path().join("log");
    for (format, flags) in [
        ("dwarfs", &["-b", "64k"][..]),
        ("squashfs", &["-b", "64k", "-C", "gzip"]),
    ] {
        let sound = build(format, &work.path().join("tree"), &image, flags);
        let mut bytes = sound.clone();
        // of SquashFS only what is encoded shows damage: content of f01 comes after that of f00
        let at = match format {
            "dwarfs" => sound.len() / 3,
            _ => 152_000,
        };
        bytes[at..at + 64].fill(0xff);
        fs::write(&image, &bytes).unwrap();
        for way in &ways {
            let log_flag = format!("--damage-log={}", log.display());
            let mounted = Mounted::new(
                &image,
                &work.path().join("mnt"),
                &[way, "--salvage", &log_flag],
            );
            let lost = read_pages(&mounted.0, &files);
            // a block, and not all of it is of one file
            assert!((1..=4).contains(&lost.len()), "{format} {way}: {lost:?}");
            let pages: usize = lost.values().sum();
            assert!(
                (1..=17 + lost.len()).contains(&pages),
                "{format} {way}: {lost:?}"
            );
            drop(mounted);
            let lost: BTreeSet<String> = lost.into_keys().collect();
            // the server writes the rest when it ends, after the unmount
            let mut named = fs::read_to_string(&log).unwrap();
            for _ in 0..100 {
                if paths(&named) == lost {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(100));
                named = fs::read_to_string(&log).unwrap();
            }
            assert_eq!(paths(&named), lost, "{format} {way}: {named}");
            assert_eq!(named.lines().count(), lost.len(), "{named}");
            // the same files without a mount
            let checked = try_run(["check", "--deep", "--json", path]);
            let checked: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
            let damaged = checked["damaged"].as_array().unwrap().iter();
            let damaged: BTreeSet<_> = damaged.map(|path| path.as_str().unwrap()).collect();
            assert!(damaged.iter().copied().eq(lost.iter().map(String::as_str)));
        }
    }
}

#[test]
fn an_image_that_lost_its_end_is_mounted_on_request() {
    let work = scratch();
    let files = tree(&work.path().join("tree"));
    let (image, mnt) = (work.path().join("image"), work.path().join("mnt"));
    fs::create_dir(&mnt).unwrap();
    let path = image.to_str().unwrap();
    let sound = build("dwarfs", &work.path().join("tree"), &image, &[]);
    fs::write(&image, &sound[..section(&sound, HISTORY) + 9]).unwrap();
    let refused = try_run(["mount", path, mnt.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let told = run(["mount", "--salvage", path, mnt.to_str().unwrap()]);
    let mounted = Mounted(mnt);
    assert!(words(&told).contains("the rest is not read"), "{told:?}");
    assert!(read_pages(&mounted.0, &files).is_empty());
    drop(mounted);
    // a superblock of EROFS that does not match its checksum
    let mut bytes = build("erofs", &work.path().join("tree"), &image, &[]);
    // the label
    bytes[1024 + 64] ^= 0x40;
    fs::write(&image, &bytes).unwrap();
    let mnt = work.path().join("mnt");
    let refused = try_run(["mount", path, mnt.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let told = run(["mount", "-o", "salvage", path, mnt.to_str().unwrap()]);
    let mounted = Mounted(mnt);
    assert!(words(&told).contains("CRC32C"), "{told:?}");
    assert!(read_pages(&mounted.0, &files).is_empty());
    drop(mounted);
    for (verb, code) in [("info", 1), ("check", 1), ("ls", 3)] {
        let output = try_run([verb, path]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let all = words(&output) + &String::from_utf8_lossy(&output.stdout);
        assert!(all.contains("CRC32C"), "{verb}: {all}");
    }
}

#[test]
fn damage_is_shown_beside_intact_attributes() {
    let work = scratch();
    tree(&work.path().join("tree"));
    let image = work.path().join("image");
    let path = image.to_str().unwrap();
    let sound = build("dwarfs", &work.path().join("tree"), &image, &["-b", "64k"]);
    let info = |code: i32| -> serde_json::Value {
        let output = try_run(["info", "--json", path]);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let report = work.path().join("report.html");
        let report = [
            "info",
            "--force",
            "--report",
            report.to_str().unwrap(),
            path,
        ];
        assert_eq!(try_run(report).status.code(), Some(code));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let whole = info(0);
    assert!(whole["damage"].is_null(), "{whole}");
    let damage = |found: &serde_json::Value, word: &str| {
        let list = found["damage"].to_string();
        assert!(list.contains(word), "{word}: {found}");
    };
    // the header of a block in the middle, the content of the history
    let second = sound
        .windows(6)
        .skip(70_000)
        .position(|six| six == b"DWARFS");
    let mut bytes = sound.clone();
    bytes[70_000 + second.unwrap() + 0x34..][..12].fill(0xee);
    fs::write(&image, &bytes).unwrap();
    let found = info(1);
    damage(&found, "section header at");
    for same in ["inodes", "blocks", "file_bytes", "history", "block_bytes"] {
        assert_eq!(found[same], whole[same], "{same}");
    }
    let checked = try_run(["check", path]);
    assert_eq!(checked.status.code(), Some(1));
    // all other sections were checked
    let count = |output: &Output| -> u64 {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let summary = text.lines().last().unwrap().to_owned();
        summary.split(' ').next().unwrap().parse().unwrap()
    };
    let checked = count(&checked);
    fs::write(&image, &sound).unwrap();
    assert_eq!(checked + 1, count(&run(["check", path])));
    let mut bytes = sound.clone();
    bytes[section(&sound, HISTORY) + 70] ^= 1;
    fs::write(&image, &bytes).unwrap();
    damage(&info(1), "HISTORY");
    // no metadata: the sections are shown
    let mut bytes = sound.clone();
    bytes[section(&sound, METADATA) + 70] ^= 1;
    fs::write(&image, &bytes).unwrap();
    let output = try_run(["info", "--json", path]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    damage(&found, "METADATA_V2");
    assert_eq!(found["sections"], whole["sections"]);
    assert!(words(&output).contains("XXH3"), "{output:?}");
}

/// Builds an image with a copy of its metadata.
fn with_copy(work: &Path) -> (PathBuf, Vec<u8>) {
    tree(&work.join("tree"));
    let image = work.join("image.dwarfs");
    let flags = ["--metadata-copy", "--with-digest"];
    let sound = build("dwarfs", &work.join("tree"), &image, &flags);
    (image, sound)
}

#[test]
fn reports_the_use_of_a_metadata_copy() {
    let work = scratch();
    let (image, sound) = with_copy(work.path());
    let (path, new) = (image.to_str().unwrap(), work.path().join("new"));
    let new = new.to_str().unwrap();
    let mut bytes = sound.clone();
    bytes[section(&sound, SCHEMA) + 70] ^= 1;
    fs::write(&image, &bytes).unwrap();
    let mnt = work.path().join("mnt");
    fs::create_dir(&mnt).unwrap();
    let mnt = mnt.to_str().unwrap();
    for command in [
        &["convert", path, "-f", "squashfs", "--force", "-o", new][..],
        &["merge", path, "-f", "dwarfs", "--force", "-o", new],
        &["recompress", path, "--rebuild", "-l1", "--force", "-o", new],
        &["mount", path, mnt],
    ] {
        let output = run(command);
        assert!(words(&output).contains("its copy is used"), "{output:?}");
    }
    run(["umount", mnt]);
    let output = try_run(["extract", "--tar", path, "-o", new, "--force"]);
    assert!(words(&output).contains("its copy is used"), "{output:?}");
    let info = try_run(["info", path]);
    assert_eq!(info.status.code(), Some(1), "{info:?}");
}

#[test]
fn metadata_is_mended_from_its_copy() {
    let work = scratch();
    let (image, sound) = with_copy(work.path());
    let (path, new) = (image.to_str().unwrap(), work.path().join("new"));
    let new_path = new.to_str().unwrap();
    let (schema, copy) = (section(&sound, SCHEMA), section(&sound, METADATA_COPY));
    let metadata = section(&sound, METADATA);
    let history = section(&sound, HISTORY);
    let damages = [
        schema..schema + 1,
        schema + 7..schema + 8,
        schema + 20..schema + 21,
        metadata + 0x30..metadata + 0x40,
        metadata + 64..metadata + 65,
        schema..history,
    ];
    for damage in damages {
        let mut bytes = sound.clone();
        bytes[damage.clone()]
            .iter_mut()
            .for_each(|byte| *byte ^= 0x5a);
        fs::write(&image, &bytes).unwrap();
        run(["repair", "-q", path, "-o", new_path, "--force"]);
        assert!(fs::read(&new).unwrap() == sound, "{damage:?}");
        assert!(fs::read(&image).unwrap() == bytes, "the image was changed");
    }
    // in place
    let damaged = fs::read(&image).unwrap();
    let output = run(["repair", "--json", path]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["restored"].as_array().unwrap().len(), 2, "{report}");
    assert!(fs::read(&image).unwrap() == sound);
    let kept = work.path().join("image.dwarfs.damaged");
    assert!(fs::read(&kept).unwrap() == damaged);
    fs::remove_file(&kept).unwrap();
    run(["repair", "-q", path]);
    assert!(!kept.exists(), "nothing was damaged");
    // what there is no copy of, and a copy that is damaged, too
    fs::remove_file(&new).unwrap();
    let fails = |places: &[usize], word: &str| {
        let mut bytes = sound.clone();
        places.iter().for_each(|place| bytes[*place] ^= 1);
        fs::write(&image, &bytes).unwrap();
        let output = try_run(["repair", path, "-o", new_path]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(words(&output).contains(word), "{output:?}");
        assert!(!new.exists());
    };
    fails(&[schema + 70, copy + 100], "its copy cannot be used");
    fails(&[schema + 70, 1000], "more is damaged");
    fails(&[copy + 100], "more is damaged");
    // an image without a copy
    build("dwarfs", &work.path().join("tree"), &image, &[]);
    let output = try_run(["repair", "--metadata-copy", path]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let mut command = sinter();
    let output = command.args(["repair", path]).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
}
