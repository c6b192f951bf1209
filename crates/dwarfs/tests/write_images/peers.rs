//! Upstream's own tools, where `SINTER_PEER_DWARFS` names the directory that has them.
//!
//! They are in no package registry, so this is the one peer whose absence is no failure anywhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use sinterfs_model::{FileType, Rdev, Time};

use crate::listing::{Entry, HASHED, Listing};

/// Upstream's tools.
pub struct Peers {
    dir: PathBuf,
}

impl Peers {
    /// Finds the tools; says so if there are none.
    pub fn find() -> Option<Self> {
        let dir = std::env::var_os("SINTER_PEER_DWARFS").map(PathBuf::from);
        let found = dir.filter(|dir| dir.join("dwarfsck").exists());
        if found.is_none() {
            println!("NOT RUN: SINTER_PEER_DWARFS names no directory with dwarfsck");
        }
        found.map(|dir| Self { dir })
    }

    fn run(&self, tool: &str, image: &Path, args: &[&str]) -> Vec<u8> {
        let mut command = Command::new(self.dir.join(tool));
        command.arg("-i").arg(image).args(args);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {text}");
        assert!(
            !text.contains("WARN") && !text.contains("ERROR"),
            "{command:?}: {text}"
        );
        output.stdout
    }

    /// Has dwarfsck check hashes and the consistency of the metadata.
    pub fn check(&self, image: &Path) {
        self.run("dwarfsck", image, &["--check-integrity", "--quiet"]);
        let details =
            "version,history,metadata_summary,metadata_details,frozen_analysis,section_details";
        let details = self.run("dwarfsck", image, &["--detail", details]);
        assert!(String::from_utf8_lossy(&details).contains("DwarFS version 2.5"));
    }

    /// Returns the sizes of files by their paths, which have no spaces.
    pub fn sizes(&self, image: &Path) -> BTreeMap<String, u64> {
        let list = self.run("dwarfsck", image, &["--list", "--verbose"]);
        let list = String::from_utf8(list).unwrap();
        let files = list.lines().filter(|line| line.starts_with("----"));
        files
            .map(|line| {
                // mode, owner/group, size, date, time, path
                let words: Vec<&str> = line.split_whitespace().collect();
                (words[5].to_owned(), words[2].parse().unwrap())
            })
            .collect()
    }

    /// Lists an image by what dwarfsextract makes of it.
    pub fn list(&self, image: &Path, hashed: bool) -> Listing {
        let options = if hashed {
            "mtree:all,sha256"
        } else {
            "mtree:all,!cksum,!md5,!rmd160,!sha1,!sha256,!sha384,!sha512"
        };
        let args = ["-f", "mtree", "--format-options", options];
        let mtree = self.run("dwarfsextract", image, &args);
        parse(&String::from_utf8(mtree).unwrap())
    }
}

fn parse(mtree: &str) -> Listing {
    let mut listing = Listing::new();
    let mut first: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut inodes = Vec::new();
    for line in mtree.lines().filter(|line| line.starts_with('.')) {
        let mut words = line.split(' ');
        let path = unescape(words.next().unwrap());
        let path = path.strip_prefix(b"./").unwrap_or(&[]).to_vec();
        let values: BTreeMap<&str, &str> = words.filter_map(|word| word.split_once('=')).collect();
        let inode = values["inode"].to_owned();
        let least = first.entry(inode.clone()).or_insert_with(|| path.clone());
        *least = path.clone().min(least.clone());
        inodes.push((path.clone(), inode));
        listing.insert(path, entry(&values));
    }
    for (path, inode) in inodes {
        if let Some(entry) = listing.get_mut(&path) {
            entry.first = first[&inode].clone();
        }
    }
    listing
}

fn entry(values: &BTreeMap<&str, &str>) -> Entry {
    let kind = match values["type"] {
        "dir" => FileType::Directory,
        "file" => FileType::File,
        "link" => FileType::Symlink,
        "char" => FileType::CharDevice,
        "block" => FileType::BlockDevice,
        "fifo" => FileType::Fifo,
        "socket" => FileType::Socket,
        other => panic!("type {other}"),
    };
    let number = |key: &str| {
        values
            .get(key)
            .map_or(0, |text| text.parse::<u64>().unwrap())
    };
    let (secs, nanos) = values["time"].split_once('.').unwrap();
    let size = if kind == FileType::File {
        number("size")
    } else {
        0
    };
    let rdev = values.get("device").map_or(Rdev::default(), |text| {
        let mut numbers = text.split(',').skip(1).map(|text| text.parse().unwrap());
        Rdev {
            major: numbers.next().unwrap(),
            minor: numbers.next().unwrap(),
        }
    });
    Entry {
        kind,
        mode: u16::from_str_radix(values["mode"], 8).unwrap(),
        uid: number("uid") as u32,
        gid: number("gid") as u32,
        modified: Time {
            secs: secs.parse().unwrap(),
            nanos: nanos.parse().unwrap(),
        },
        size,
        hash: values
            .get("sha256digest")
            .filter(|_| size <= HASHED)
            .map(|text| (*text).to_owned()),
        target: values.get("link").map_or(Vec::new(), |text| unescape(text)),
        rdev,
        first: Vec::new(),
        nlink: if kind == FileType::File {
            number("nlink").max(1) as u32
        } else {
            1
        },
    }
}

/// Undoes mtree's octal escapes.
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'\\' {
            let (digits, tail) = tail.split_at(3);
            out.push(u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 8).unwrap());
            rest = tail;
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    out
}
