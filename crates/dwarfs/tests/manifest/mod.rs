//! Manifests of trees: one line per path, as `vectors/manifest.py` makes them; here of an image.
//!
//! A manifest is a map from path to fields. `Compare` holds the options that say which fields an
//! image is able to show.

#![allow(dead_code, reason = "each test binary uses another part of this")]
#![allow(clippy::unwrap_used, reason = "only tests use this")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sinterfs_model::{Cursor, ExtentSource, FileType, Image, Ino, Result};

use crate::support::read_file;

/// The fields of one path.
pub type Fields = serde_json::Map<String, Value>;

/// The paths of a tree.
pub type Manifest = BTreeMap<String, Fields>;

/// Reads a manifest file.
pub fn load(path: &Path) -> Manifest {
    let text = String::from_utf8(read_file(path)).unwrap();
    text.lines()
        .map(|line| {
            let fields: Fields = serde_json::from_str(line).unwrap();
            (fields["path"].as_str().unwrap().to_owned(), fields)
        })
        .collect()
}

/// Which fields count in a comparison.
#[derive(Debug, Default)]
pub struct Compare {
    /// Field, types for which it is left out.
    drop: Vec<(String, String)>,
    /// Types of paths that are left out.
    skip_types: String,
    mtime_unit: i64,
}

impl Compare {
    /// Takes the options in the index of the vectors.
    pub fn parse(options: &[&str]) -> Self {
        let mut compare = Self {
            mtime_unit: 1,
            ..Self::default()
        };
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match *option {
                "--no-xattrs" => compare.add_drop("xattrs"),
                "--drop" => compare.add_drop(options.next().unwrap()),
                "--mtime-seconds" => compare.mtime_unit = 1_000_000_000,
                "--mtime-unit" => compare.mtime_unit = options.next().unwrap().parse().unwrap(),
                "--skip-type" => compare.skip_types = (*options.next().unwrap()).to_owned(),
                other => panic!("unknown option {other}"),
            }
        }
        compare
    }

    fn add_drop(&mut self, what: &str) {
        let (fields, types) = what.split_once(':').unwrap_or((what, "fdlcbps"));
        for field in fields.split(',') {
            self.drop.push((field.to_owned(), types.to_owned()));
        }
    }

    /// Leaves out what does not count.
    fn apply(&self, manifest: &Manifest) -> Manifest {
        let mut result = Manifest::new();
        for (path, fields) in manifest {
            let kind = fields["type"].as_str().unwrap();
            if self.skip_types.contains(kind) {
                continue;
            }
            let mut fields = fields.clone();
            let mtime = fields["mtime"].as_i64().unwrap();
            fields["mtime"] = json!(mtime.div_euclid(self.mtime_unit) * self.mtime_unit);
            if fields
                .get("xattrs")
                .is_some_and(|xattrs| xattrs == &json!({}))
            {
                fields.remove("xattrs");
            }
            fields.retain(|field, _| {
                !self
                    .drop
                    .iter()
                    .any(|(name, types)| name == field && types.contains(kind))
            });
            result.insert(path.clone(), fields);
        }
        result
    }

    /// Lists what differs.
    pub fn differences(&self, expected: &Manifest, found: &Manifest) -> Vec<String> {
        let (expected, found) = (self.apply(expected), self.apply(found));
        let mut differences = Vec::new();
        for path in expected
            .keys()
            .chain(found.keys().filter(|path| !expected.contains_key(*path)))
        {
            match (expected.get(path), found.get(path)) {
                (Some(expected), Some(found)) => {
                    let fields = expected
                        .keys()
                        .chain(found.keys().filter(|field| !expected.contains_key(*field)));
                    for field in fields {
                        let (a, b) = (expected.get(field), found.get(field));
                        if a != b {
                            differences.push(format!("{path}: {field}: {a:?} -> {b:?}"));
                        }
                    }
                }
                (Some(_), None) => differences.push(format!("{path}: missing")),
                _ => differences.push(format!("{path}: should not be there")),
            }
        }
        differences
    }
}

/// Makes the manifest of an image by walking it and reading everything.
pub fn of_image(image: &dyn Image) -> Manifest {
    let mut paths = Vec::new();
    collect(image, image.info().root, b".", &mut paths);
    paths.sort();
    let mut groups: BTreeMap<Ino, Vec<&[u8]>> = BTreeMap::new();
    for (path, ino) in &paths {
        groups.entry(*ino).or_default().push(path);
    }
    let mut manifest = Manifest::new();
    for (path, ino) in &paths {
        let group = &groups[ino];
        let fields = fields(image, *ino, path, group);
        manifest.insert(escape(path), fields);
    }
    manifest
}

fn collect(image: &dyn Image, dir: Ino, path: &[u8], paths: &mut Vec<(Vec<u8>, Ino)>) {
    paths.push((path.to_vec(), dir));
    let mut directories = Vec::new();
    image
        .read_dir(dir, Cursor::START, &mut |entry| {
            let path = match path {
                b"." => entry.name.to_vec(),
                _ => [path, b"/", entry.name].concat(),
            };
            assert_eq!(image.lookup(dir, entry.name).unwrap(), Some(entry.ino));
            if entry.kind == FileType::Directory {
                assert_eq!(image.parent(entry.ino).unwrap(), dir);
                directories.push((path, entry.ino));
            } else {
                paths.push((path, entry.ino));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    let nlink = image.inode(dir).unwrap().nlink;
    assert_eq!(nlink as usize, directories.len() + 2);
    for (path, ino) in directories {
        collect(image, ino, &path, paths);
    }
}

fn fields(image: &dyn Image, ino: Ino, path: &[u8], group: &[&[u8]]) -> Fields {
    let inode = image.inode(ino).unwrap();
    let kind = match inode.kind.letter() {
        '-' => 'f',
        letter => letter,
    };
    let mtime = inode.meta.times.modified;
    let mtime = mtime.secs * 1_000_000_000 + i64::from(mtime.nanos);
    let mut fields = Fields::new();
    let mut put = |field: &str, value: Value| fields.insert(field.to_owned(), value);
    put("path", json!(escape(path)));
    put("type", json!(kind.to_string()));
    put("mode", json!(format!("{:04o}", inode.meta.mode)));
    put("uid", json!(inode.meta.uid));
    put("gid", json!(inode.meta.gid));
    put("mtime", json!(mtime));
    if kind != 'd' {
        put("nlink", json!(inode.nlink));
        if inode.nlink > 1 && group.len() > 1 {
            put("link", json!(escape(group[0])));
        }
    }
    match kind {
        'f' => {
            put("size", json!(inode.size));
            let hash = content_hash(image, ino, inode.size);
            put(
                "hash",
                json!(hash.unwrap_or_else(|error| error.to_string())),
            );
        }
        'l' => {
            let target = image.read_link(ino).unwrap();
            assert_eq!(inode.size, target.len() as u64);
            put("target", json!(escape(&target)));
        }
        'c' | 'b' => {
            put(
                "rdev",
                json!(format!("{}:{}", inode.rdev.major, inode.rdev.minor)),
            );
        }
        _ => {}
    }
    let xattrs = image.xattrs(ino).unwrap();
    assert!(xattrs.is_empty(), "xattrs are not compared");
    put("xattrs", json!({}));
    fields
}

/// Makes a path or target printable: a byte that is not UTF-8 is `\xNN`, a backslash is doubled.
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Hashes the blocks of 4 KiB that are not all zero, each with its offset before it.
pub fn content_hash(image: &dyn Image, ino: Ino, size: u64) -> Result<String> {
    const BLOCK: u64 = 4096;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut end = 0;
    image
        .extents(ino, 0, &mut |extent| {
            assert_eq!(extent.offset, end, "extents leave a gap");
            assert!(extent.len > 0);
            end = extent.offset + extent.len;
            if extent.source != ExtentSource::Hole {
                let start = extent.offset / BLOCK * BLOCK;
                let stop = end.next_multiple_of(BLOCK).min(size);
                match ranges.last_mut().filter(|last| last.1 >= start) {
                    Some(last) => last.1 = stop,
                    None => ranges.push((start, stop)),
                }
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(end, size, "extents do not cover the file");
    let mut hash = Sha256::new();
    let mut buf = vec![0; 1 << 20];
    for (start, stop) in ranges {
        let mut at = start;
        while at < stop {
            let want = (stop - at).min(buf.len() as u64) as usize;
            assert_eq!(image.read_at(ino, at, &mut buf[..want])?, want);
            for block in buf[..want].chunks(BLOCK as usize) {
                if block.iter().any(|byte| *byte != 0) {
                    hash.update(at.to_le_bytes());
                    hash.update(block);
                }
                at += block.len() as u64;
            }
        }
    }
    assert_eq!(image.read_at(ino, size, &mut buf).unwrap(), 0);
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
