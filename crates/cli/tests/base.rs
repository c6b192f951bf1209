//! `sinter build --base`: what the base has is not compressed again, and what comes out is what was
//! packed, whatever became of the files in between.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sinterfs_testkit::noise;
use support::{compare, is_root, make_tree, peer, run, scratch, sinter, vectors};

/// Builds an image, with JSON about it.
fn try_on(flags: &[&str], tree: &Path, image: &Path, base: Option<&Path>) -> Output {
    let mut command = sinter();
    command.args([
        "build",
        "--json",
        "--force",
        "-l4",
        "--time-resolution",
        "1ns",
    ]);
    if !flags.contains(&"-b") {
        command.args(["-b", "256k"]);
    }
    command.args(flags).arg(tree).arg("-o").arg(image);
    command.args(base.map(|_| "--base")).args(base);
    command.output().unwrap()
}

fn on(flags: &[&str], tree: &Path, image: &Path, base: Option<&Path>) -> serde_json::Value {
    let output = try_on(flags, tree, image, base);
    assert!(output.status.success(), "{flags:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Bytes that zstd makes no shorter than half.
fn text(len: usize, seed: u64) -> Vec<u8> {
    noise(seed, len)
        .into_iter()
        .map(|byte| b'a' + (byte & 15))
        .collect()
}

/// Makes a tree of some blocks: large and small files, equal ones, holes, sound.
fn tree(dir: &Path) {
    fs::create_dir_all(dir.join("many")).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(dir.join(name), bytes).unwrap();
    write("large", &text(900_000, 1));
    write("noise", &noise(2, 300_000));
    write("twin", &text(900_000, 1));
    write("empty", b"");
    for index in 0..300_u64 {
        // too short to have anchors, or to be worth a look
        write(
            &format!("many/{index}"),
            &text(10 + 7 * index as usize, index + 10),
        );
    }
    write("sound.wav", &wav(120_000));
    let sparse = File::create(dir.join("sparse")).unwrap();
    sparse.set_len(9 << 20).unwrap();
    sparse.write_all_at(&text(70_000, 3), 4 << 20).unwrap();
}

/// Makes a WAV file of so many samples.
fn wav(samples: u32) -> Vec<u8> {
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + samples * 2).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data");
    bytes.extend((samples * 2).to_le_bytes());
    let wave = |at: u32| ((f64::from(at) / 20.0).sin() * 9000.0) as i16;
    bytes.extend((0..samples).flat_map(|at| wave(at).to_le_bytes()));
    bytes
}

/// Extracts an image with our program and with upstream's, and compares both with what was packed.
fn comes_back(image: &Path, tree: &Path, work: &Path) {
    let Some(shared) = vectors() else {
        return;
    };
    run(["check", "--deep", image.to_str().unwrap()]);
    let to = work.join("out");
    let paths = [
        "extract",
        "-o",
        to.to_str().unwrap(),
        image.to_str().unwrap(),
    ];
    run(paths);
    // of symlinks and special files DwarFS keeps no hard links
    compare(&shared, &["--drop", "link,nlink:lpcbs"], tree, &to);
    fs::remove_dir_all(&to).unwrap();
    if let Some(tool) = peer("dwarfsextract") {
        fs::create_dir(&to).unwrap();
        let mut command = Command::new(tool);
        let output = command
            .arg("-i")
            .arg(image)
            .arg("-o")
            .arg(&to)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        // (a socket becomes a file with them)
        let is_file = |path: &PathBuf| path.symlink_metadata().unwrap().is_file();
        for path in walk(tree).into_iter().filter(is_file) {
            let name = path.strip_prefix(tree).unwrap();
            let same = fs::read(to.join(name)).unwrap() == fs::read(&path).unwrap();
            assert!(same, "{name:?} of {image:?}");
        }
        fs::remove_dir_all(&to).unwrap();
    }
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                open.push(path.clone());
            }
            all.push(path);
        }
    }
    all.sort();
    all
}

/// The blocks of an image as the dump shows them: codec, sizes and hash, not their number or place.
fn blocks(image: &Path) -> Vec<String> {
    let dump = run([Path::new("info"), Path::new("--dump"), image]).stdout;
    let dump = String::from_utf8(dump).unwrap();
    let of_block = |line: &str| Some(line.split_once(" BLOCK ")?.1.to_owned());
    dump.lines().filter_map(of_block).collect()
}

fn count(json: &serde_json::Value, name: &str) -> u64 {
    json[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name}: {json}"))
}

#[test]
fn unchanged_files_need_no_new_block() {
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    tree(&at("tree"));
    let first = on(&[], &at("tree"), &at("old"), None);
    let again = on(&[], &at("tree"), &at("new"), Some(&at("old")));
    assert_eq!(count(&again, "reused_blocks"), count(&first, "blocks"));
    assert_eq!(count(&again, "blocks"), count(&first, "blocks"));
    assert_eq!(count(&again, "unused_bytes"), 0);
    assert_eq!(blocks(&at("new")), blocks(&at("old")));
    comes_back(&at("new"), &at("tree"), work.path());
    // the output may be the base itself
    on(&[], &at("tree"), &at("old"), Some(&at("old")));
    assert_eq!(fs::read(at("old")).unwrap(), fs::read(at("new")).unwrap());
}

#[test]
fn stores_only_changes() {
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    let dir = at("tree");
    tree(&dir);
    let first = on(&[], &dir, &at("old"), None);
    fs::rename(dir.join("many"), dir.join("renamed")).unwrap();
    let mut large = text(900_000, 1);
    large.splice(400_000..400_100, *b"something else");
    fs::write(dir.join("large"), large).unwrap();
    fs::write(dir.join("fresh"), text(50_000, 77)).unwrap();
    fs::remove_file(dir.join("noise")).unwrap();
    fs::remove_file(dir.join("renamed/299")).unwrap();
    let sparse = File::options()
        .write(true)
        .open(dir.join("sparse"))
        .unwrap();
    sparse.set_len(10 << 20).unwrap();
    fs::write(dir.join("cut.wav"), &wav(120_000)[..100_001]).unwrap();
    let mut images = Vec::new();
    for flags in [["-j1"].as_slice(), &["-j3"], &["-j2", "--memory=80m"]] {
        let again = on(flags, &dir, &at("new"), Some(&at("old")));
        let new = count(&again, "raw_bytes") - count(&again, "reused_bytes");
        assert!((50_000..60_000).contains(&new), "{new} new bytes: {again}");
        assert!(count(&again, "reused_blocks") < count(&first, "blocks"));
        assert!(count(&again, "unused_bytes") > 0);
        images.push(fs::read(at("new")).unwrap());
    }
    assert!(images.windows(2).all(|pair| pair[0] == pair[1]));
    comes_back(&at("new"), &dir, work.path());
    // on it another, with other blocks and codecs, and the first base is not needed
    fs::remove_file(at("old")).unwrap();
    fs::write(dir.join("more"), text(3_000_000, 5)).unwrap();
    for flags in [
        ["-b", "1m", "-C", "lzma2:level=2"],
        ["-b", "64k", "-C", "none"],
    ] {
        on(&flags, &dir, &at("newer"), Some(&at("new")));
        comes_back(&at("newer"), &dir, work.path());
        fs::rename(at("newer"), at("new")).unwrap();
    }
}

/// Unpacks an image that is stored compressed.
fn unpacked(file: &Path, work: &Path) -> PathBuf {
    if file.extension().is_none_or(|extension| extension != "gz") {
        return file.to_owned();
    }
    let output = Command::new("gzip").arg("-dc").arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let image = work.join("unpacked");
    fs::write(&image, output.stdout).unwrap();
    image
}

#[test]
fn every_image_of_upstream_is_a_base() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    make_tree(&shared, &at("tree"), &["--size", "small"]);
    let index = fs::read_to_string(shared.join("images/INDEX.jsonl")).unwrap();
    let mut seen = 0;
    for line in index.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let file = row["file"].as_str().unwrap();
        if row["format"] != "dwarfs" || row["extra"] != serde_json::json!([]) {
            continue;
        }
        let base = unpacked(&shared.join("images").join(file), work.path());
        let json = on(&[], &at("tree"), &at("new"), Some(&base));
        let reused = count(&json, "reused_blocks");
        assert!(reused > 0 || row["tree"] != "small", "{row}: {json}");
        comes_back(&at("new"), &at("tree"), work.path());
        seen += 1;
    }
    assert!(seen > 5, "{seen} images");
}

#[test]
fn refuses_unsuitable_bases() {
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    let dir = at("tree");
    tree(&dir);
    on(&[], &dir, &at("old"), None);
    run([
        "build",
        "-q",
        "-f",
        "squashfs",
        dir.to_str().unwrap(),
        "-o",
        at("sq").to_str().unwrap(),
    ]);
    let whole = fs::read(at("old")).unwrap();
    let refused = |flags: &[&str], base: &str, why: &str| {
        let output = try_on(flags, &dir, &at("new"), Some(&at(base)));
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && words.contains(why),
            "{why}: {words}"
        );
        assert!(!at("new").exists());
    };
    refused(&[], "sq", "squashfs");
    refused(&["-f", "erofs"], "old", "--base");
    refused(&["--no-duplicates"], "old", "--no-duplicates");
    refused(&["--hot", "/dev/null"], "old", "--hot");
    refused(&[], "nowhere", "nowhere");
    // damage is found wherever it is, and the base is named
    for place in [100, 200_000, whole.len() / 2] {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(at("damaged"), damaged).unwrap();
        refused(&[], "damaged", "damaged");
    }
    fs::write(at("cut"), &whole[..whole.len() * 2 / 3]).unwrap();
    refused(&[], "cut", "cut");
}
