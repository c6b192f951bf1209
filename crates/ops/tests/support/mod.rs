//! Compares a directory with an image, field by field, and gathers what an observer gets.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]
#![allow(dead_code, reason = "no test file uses all of it")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use sinterfs_model::{Error, FileType, Image, Ino, Observer, Stage, Tally};
use sinterfs_ops::{Visit, WalkStep, walk};

/// An observer that keeps what it gets.
#[derive(Debug, Default)]
pub struct Notes {
    pub warnings: Mutex<Vec<String>>,
    pub expected: Mutex<Vec<(Stage, Tally)>>,
    pub done: Mutex<Tally>,
    pub stop: AtomicBool,
}

impl Notes {
    pub fn warnings(&self) -> Vec<String> {
        let mut all = self.warnings.lock().unwrap().clone();
        all.sort();
        all
    }
}

impl Observer for Notes {
    fn expect(&self, stage: Stage, total: Tally) {
        self.expected.lock().unwrap().push((stage, total));
    }
    fn advance(&self, _: Stage, done: Tally) {
        let mut sum = self.done.lock().unwrap();
        sum.items += done.items;
        sum.bytes += done.bytes;
    }
    fn warn(&self, warning: &Error) {
        self.warnings.lock().unwrap().push(warning.to_string());
    }
    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Reads all of a file of an image.
pub fn content(image: &dyn Image, ino: Ino) -> Vec<u8> {
    let mut data = vec![0; image.inode(ino).unwrap().size as usize];
    assert_eq!(image.read_at(ino, 0, &mut data).unwrap(), data.len());
    data
}

/// Lists all paths below a directory on disk.
pub fn paths_on_disk(root: &Path) -> BTreeSet<PathBuf> {
    let mut todo = vec![root.to_owned()];
    let mut found = BTreeSet::new();
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            }
            found.insert(entry.path().strip_prefix(root).unwrap().to_owned());
        }
    }
    found
}

/// Lists all paths of an image with their inodes.
pub fn paths_in_image(image: &dyn Image) -> BTreeMap<PathBuf, Ino> {
    let mut found = BTreeMap::new();
    walk(image, image.info().root, &mut |visit| {
        if let Visit::Enter(entry) = visit {
            found.insert(PathBuf::from(OsStr::from_bytes(entry.path)), entry.ino);
        }
        Ok(WalkStep::On)
    })
    .unwrap();
    found
}

/// Asserts that one path on disk is what the image says, in all that `lstat` and reading return.
pub fn assert_same(image: &dyn Image, ino: Ino, path: &Path) {
    let inode = image.inode(ino).unwrap();
    let stat = fs::symlink_metadata(path).unwrap();
    let what = path.display();
    let mode = if inode.kind == FileType::Symlink {
        0o777
    } else {
        u32::from(inode.meta.mode)
    };
    assert_eq!(stat.mode(), inode.kind.bits() | mode, "mode of {what}");
    // Ordinary users can give nothing away.
    if is_root() {
        assert_eq!(
            (stat.uid(), stat.gid()),
            (inode.meta.uid, inode.meta.gid),
            "owner of {what}"
        );
    }
    let modified = inode.meta.times.modified;
    assert_eq!(
        (stat.mtime(), stat.mtime_nsec()),
        (modified.secs, i64::from(modified.nanos)),
        "mtime of {what}"
    );
    match inode.kind {
        FileType::File => {
            assert!(
                fs::read(path).unwrap() == content(image, ino),
                "content of {what}"
            );
            assert_eq!(stat.nlink(), u64::from(inode.nlink), "links of {what}");
        }
        FileType::Symlink => {
            let target = fs::read_link(path).unwrap().into_os_string().into_vec();
            assert_eq!(target, image.read_link(ino).unwrap(), "target of {what}");
        }
        FileType::CharDevice | FileType::BlockDevice => {
            assert_eq!(stat.rdev(), inode.rdev.to_dev_t(), "rdev of {what}");
        }
        FileType::Directory | FileType::Fifo | FileType::Socket => {}
    }
}

/// Asserts that a directory holds exactly what an image holds.
pub fn assert_all_same(image: &dyn Image, root: &Path) {
    let expected = paths_in_image(image);
    let found = paths_on_disk(root);
    assert_eq!(expected.keys().cloned().collect::<BTreeSet<_>>(), found);
    assert_same(image, image.info().root, root);
    let mut groups: HashMap<Ino, u64> = HashMap::new();
    for (path, &ino) in &expected {
        assert_same(image, ino, &root.join(path));
        let number = fs::symlink_metadata(root.join(path)).unwrap().ino();
        assert_eq!(
            *groups.entry(ino).or_insert(number),
            number,
            "{} is a hard link",
            path.display()
        );
    }
}
