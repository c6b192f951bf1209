//! Every composefs image of the shared vectors, with a store of objects made from the tree that it
//! is of: extracted and mounted it must show what the tree's manifest says; without the store,
//! content is refused.

mod support;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use support::{Mounted, compare, is_root, make_tree, run, scratch, try_run, vectors};

/// The trees of the images, as `make-tree.py` makes them.
const TREES: [(&str, &[&str]); 3] = [
    ("small", &["--size", "small"]),
    ("pre", &["--size", "small", "--pre1970"]),
    ("huge", &["--size", "small", "--huge"]),
];

struct Vector {
    image: PathBuf,
    /// The image as `composefs-info dump` shows it.
    dump: Vec<u8>,
    tree: String,
    manifest: PathBuf,
    options: Vec<String>,
}

fn unpack(file: &Path) -> Vec<u8> {
    let Output { status, stdout, .. } = Command::new("gzip")
        .arg("-dc")
        .arg(file)
        .output()
        .expect("gzip");
    assert!(status.success(), "{}", file.display());
    stdout
}

fn composefs_vectors(vectors: &Path, work: &Path) -> Vec<Vector> {
    let index = std::fs::read_to_string(vectors.join("images/INDEX.jsonl")).expect("an index");
    let rows = index
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut found = Vec::new();
    for row in rows.filter(|row| row["format"] == "composefs") {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let file = |value: &Value| vectors.join("images").join(text(value));
        let image = work.join(text(&row["name"])).with_extension("img");
        std::fs::write(&image, unpack(&file(&row["file"]))).expect("the image is written");
        let options = row["compare"].as_array().expect("options").iter();
        found.push(Vector {
            image,
            dump: unpack(&file(&row["extra"][0])),
            tree: text(&row["tree"]),
            manifest: vectors.join(text(&row["manifest"])),
            options: options.map(text).collect(),
        });
    }
    assert!(found.len() >= 7, "only {} images", found.len());
    found
}

/// Reads a word of a dump: `\xNN`, `\\`, and the letters of C.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = word;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let (&letter, after) = rest.split_first().expect("an escape");
        rest = after;
        bytes.push(match letter {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'x' => {
                let (digits, after) = rest.split_at(2);
                rest = after;
                let digits = std::str::from_utf8(digits).expect("digits");
                u8::from_str_radix(digits, 16).expect("a byte")
            }
            other => other,
        });
    }
    bytes
}

/// Fills a store with the content of all files that a dump says are objects.
fn fill_store(dump: &[u8], tree: &Path, store: &Path) -> usize {
    let mut count = 0;
    for line in dump.split(|byte| *byte == b'\n') {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let [path, _, mode, _, _, _, _, _, payload, ..] = words[..] else {
            continue;
        };
        if !mode.starts_with(b"100") || payload == b"-" {
            continue;
        }
        let path = unescape(path);
        let from = tree.join(OsStr::from_bytes(&path[1..]));
        let to = store.join(OsStr::from_bytes(&unescape(payload)));
        if !to.exists() {
            std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
            // cp keeps holes
            let status = Command::new("cp").arg(from).arg(&to).status().expect("cp");
            assert!(status.success());
            count += 1;
        }
    }
    count
}

/// Returns the type of the mount on a directory.
fn kind(dir: &Path) -> Option<String> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").expect("a table");
    let point = format!(" {} ", dir.to_str().expect("UTF-8"));
    let line = table.lines().rfind(|line| line.contains(&point))?;
    let words = line.split_once(" - ").expect("a separator").1;
    words.split(' ').next().map(str::to_owned)
}

#[test]
fn trees_with_a_store_equal_the_manifests() {
    let Some(shared) = vectors() else { return };
    if !is_root() {
        return;
    }
    let ways = if support::kernel_overlays() {
        &["--fuse", "--kernel"][..]
    } else {
        &["--fuse"]
    };
    let work = scratch();
    let trees: HashMap<&str, PathBuf> = TREES
        .iter()
        .map(|(name, options)| {
            let dir = work.path().join(name);
            make_tree(&shared, &dir, options);
            (*name, dir)
        })
        .collect();
    for vector in composefs_vectors(&shared, work.path()) {
        let store = work.path().join("store");
        let filled = fill_store(&vector.dump, &trees[vector.tree.as_str()], &store);
        assert!(filled > 100, "{filled} objects");
        let options: Vec<&str> = vector.options.iter().map(String::as_str).collect();

        let to = work.path().join("extracted");
        let words = ["extract", "--objects"].map(OsStr::new);
        let paths = [
            store.as_os_str(),
            vector.image.as_os_str(),
            OsStr::new("-o"),
        ];
        run(words.into_iter().chain(paths).chain([to.as_os_str()]));
        compare(&shared, &options, &vector.manifest, &to);
        std::fs::remove_dir_all(&to).expect("the tree is removed");

        let store_path = store.to_str().expect("UTF-8");
        for way in ways.iter().copied() {
            let words = ["--objects", store_path, way];
            let mounted = Mounted::new(&vector.image, &work.path().join("mnt"), &words);
            if way == "--kernel" {
                assert_eq!(kind(&mounted.0).as_deref(), Some("overlay"));
            }
            compare(&shared, &options, &vector.manifest, &mounted.0);
        }
        std::fs::remove_dir_all(&store).expect("the store is removed");
    }
}

#[test]
fn content_without_a_store_is_refused() {
    let Some(shared) = vectors() else { return };
    let work = scratch();
    for vector in composefs_vectors(&shared, work.path()) {
        let output = try_run([
            OsStr::new("cat"),
            vector.image.as_os_str(),
            OsStr::new("text/book.txt"),
        ]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(words.contains("object store"), "{words}");
        // an object of another length is no content of the file
        let store = work.path().join("store");
        let empty = work.path().join("empty");
        std::fs::write(&empty, b"").expect("a file");
        for line in vector.dump.split(|byte| *byte == b'\n') {
            let payload = line.split(|byte| *byte == b' ').nth(8).unwrap_or(b"-");
            if payload != b"-" && line.starts_with(b"/text/book.txt ") {
                let to = store.join(OsStr::from_bytes(payload));
                std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
                std::fs::copy(&empty, to).expect("an object");
            }
        }
        let output = try_run([
            OsStr::new("cat"),
            OsStr::new("--objects"),
            store.as_os_str(),
            vector.image.as_os_str(),
            OsStr::new("text/book.txt"),
        ]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(words.contains("0 bytes"), "{words}");
    }
}
