//! New directories have hidden names until they are complete; those that are too large have files
//! with hidden names instead. Work that ends early leaves no hidden name.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{Error, FileType, Kind, Observer, Quiet, Rdev, Stage, Tally};
use sinterfs_ops::{ExtractOptions, Overwrite, extract};
use sinterfs_testkit::{Builder, Piece, meta, noise};

use crate::support::{Notes, paths_on_disk};
use crate::{relative, target};

/// An observer that is called with the number of entries that are done.
struct Meanwhile<F> {
    notes: Notes,
    call: F,
}

impl<F: Fn(&Notes, u64) + Send + Sync> Observer for Meanwhile<F> {
    fn expect(&self, stage: Stage, total: Tally) {
        self.notes.expect(stage, total);
    }
    fn advance(&self, stage: Stage, done: Tally) {
        self.notes.advance(stage, done);
        if done.items > 0 {
            let count = self.notes.done.lock().unwrap().items;
            (self.call)(&self.notes, count);
        }
    }
    fn warn(&self, warning: &Error) {
        self.notes.warn(warning);
    }
    fn cancelled(&self) -> bool {
        self.notes.cancelled()
    }
}

fn meanwhile<F: Fn(&Notes, u64) + Send + Sync>(call: F) -> Meanwhile<F> {
    Meanwhile {
        notes: Notes::default(),
        call,
    }
}

fn is_hidden(path: &Path) -> bool {
    path.iter()
        .any(|name| name.as_encoded_bytes().starts_with(b".sinter-"))
}

fn one_thread(overwrite: Overwrite) -> ExtractOptions {
    ExtractOptions {
        threads: 1,
        owner: false,
        overwrite,
        ..Default::default()
    }
}

#[test]
fn small_directories_are_seen_complete_and_large_ones_from_the_start() {
    const MANY: usize = 5000;
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let large = b.dir(Builder::ROOT, b"large", meta(0o755, 0, 0));
    let inner = b.dir(large, b"inner", meta(0o755, 0, 0));
    let small = b.dir(Builder::ROOT, b"small", meta(0o555, 7, 0));
    let below = b.dir(small, b"below", meta(0o500, 8, 0));
    let content = [Piece::Data(b"content".to_vec())];
    for (dir, count) in [(large, MANY), (inner, 20), (small, 20), (below, 20)] {
        for number in 0..count {
            let name = number.to_string();
            b.file(dir, name.as_bytes(), meta(0o444, 9, 0), &content);
        }
    }
    let image = b.finish(0);
    let (_guard, target) = target();
    let looks = AtomicU64::new(0);
    let observer = meanwhile(|_, count| {
        if count % 16 > 0 {
            return;
        }
        looks.fetch_add(1, Ordering::Relaxed);
        assert!(target.join("large").is_dir());
        for (dir, entries) in [("small", 21), ("large/inner", 20)] {
            // the files directly in it, with the directory below
            let found = fs::read_dir(target.join(dir)).map_or(entries, Iterator::count);
            assert_eq!(found, entries, "{dir} after {count} files");
        }
        let hidden = relative(&target);
        let hidden: BTreeSet<&str> = hidden
            .iter()
            .filter_map(|path| path.rsplit_once(".sinter-").map(|(above, _)| above))
            .collect();
        assert!(hidden.iter().all(|above| ["", "large/"].contains(above)));
    });
    let options = one_thread(Overwrite::Refuse);
    let report = extract(&image, &target, &options, &observer).unwrap();
    assert_eq!((report.files, report.failed), (MANY as u64 + 60, 0));
    assert!(looks.load(Ordering::Relaxed) > 100);
    assert!(observer.notes.warnings().is_empty());
    assert!(!paths_on_disk(&target).iter().any(|path| is_hidden(path)));
    let found = |path: &str| {
        let found = fs::metadata(target.join(path)).unwrap();
        (found.mode() & 0o7777, found.mtime())
    };
    assert_eq!(found("small"), (0o555, 7));
    assert_eq!(found("small/below"), (0o500, 8));
    for dir in ["small/below", "small"] {
        fs::set_permissions(target.join(dir), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn work_that_is_stopped_leaves_complete_files_and_no_hidden_names() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let mut dir = Builder::ROOT;
    for level in 0..5_u8 {
        dir = b.dir(dir, b"d", meta(0o755, 0, 0));
        for name in [b"a", b"b", b"c"] {
            let content = [Piece::Data(noise(u64::from(level), 9000))];
            b.file(dir, name, meta(0o644, 0, 0), &content);
        }
    }
    let image = b.finish(0);
    for stop in [1, 4, 9, 14] {
        let (_guard, target) = target();
        let observer = meanwhile(|notes, count| {
            notes.stop.store(count >= stop, Ordering::Relaxed);
        });
        let options = one_thread(Overwrite::Refuse);
        let error = extract(&image, &target, &options, &observer).unwrap_err();
        assert_eq!(error.kind(), Kind::Cancelled);
        let paths = paths_on_disk(&target);
        assert!(!paths.iter().any(|path| is_hidden(path)), "{paths:?}");
        let is_file = |path: &&PathBuf| target.join(path).is_file();
        let files: Vec<_> = paths.iter().filter(is_file).collect();
        assert_eq!(files.len() as u64, stop);
        let lens = files.iter().map(|path| fs::metadata(target.join(path)));
        assert!(lens.into_iter().all(|found| found.unwrap().len() == 9000));
        // what was not complete is completed
        let keep = one_thread(Overwrite::Keep);
        let report = extract(&image, &target, &keep, &Quiet).unwrap();
        assert_eq!((report.kept, report.files), (stop, 15 - stop));
        let mode = fs::metadata(target.join("d")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o755);
    }
}

#[test]
fn hard_links_lead_from_one_hidden_directory_to_another() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let root = Builder::ROOT;
    let dirs = [b"a", b"b", b"c"].map(|name| b.dir(root, name, meta(0o711, 0, 0)));
    let mut damaged = None;
    // all names of an inode but one are in other directories
    for (index, dir) in dirs.into_iter().enumerate() {
        let content = [Piece::Data(noise(index as u64, 8192))];
        let file = b.file(dir, b"file", meta(0o644, 0, 0), &content);
        let fifo = b.special(
            dir,
            b"fifo",
            meta(0o600, 0, 0),
            FileType::Fifo,
            Rdev::default(),
        );
        for other in dirs {
            b.link(other, format!("file{index}").as_bytes(), file);
            b.link(other, format!("fifo{index}").as_bytes(), fifo);
        }
        damaged = Some(file);
    }
    let image = b.finish(0);
    for threads in [1, 3] {
        let (_guard, target) = target();
        let options = ExtractOptions {
            threads,
            owner: false,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &Quiet).unwrap();
        assert_eq!((report.links, report.failed), (18, 0));
        for path in ["a/file0", "b/file0", "c/file2", "a/fifo2", "b/fifo1"] {
            assert_eq!(fs::metadata(target.join(path)).unwrap().nlink(), 4);
        }
    }
    // a file that is damaged has no further names, and its directory is there
    let file = damaged.unwrap();
    image.damage(image.ino(file), 0);
    let (_guard, target) = target();
    let report = extract(&image, &target, &one_thread(Overwrite::Refuse), &Quiet).unwrap();
    assert_eq!((report.links, report.failed), (15, 4));
    assert!(target.join("c/file0").is_file() && !target.join("c/file").exists());
    assert!(!paths_on_disk(&target).iter().any(|path| is_hidden(path)));
}

#[test]
fn a_directory_that_another_process_makes_meanwhile_is_not_lost() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let dir = b.dir(Builder::ROOT, b"d", meta(0o555, 0, 0));
    let below = b.dir(dir, b"below", meta(0o555, 0, 0));
    for (dir, name) in [(dir, "one"), (dir, "two"), (below, "three")] {
        let content = [Piece::Data(b"image".to_vec())];
        b.file(dir, name.as_bytes(), meta(0o644, 0, 0), &content);
    }
    let image = b.finish(0);
    for overwrite in [Overwrite::Refuse, Overwrite::Keep, Overwrite::Replace] {
        let (_guard, target) = target();
        // another process
        let observer = meanwhile(|_, count| {
            if count == 1 {
                fs::create_dir_all(target.join("d/below")).unwrap();
                for name in ["d/one", "d/mine"] {
                    fs::write(target.join(name), "other").unwrap();
                }
            }
        });
        let options = one_thread(overwrite);
        let report = extract(&image, &target, &options, &observer).unwrap();
        assert_eq!(
            relative(&target),
            ["d", "d/below", "d/below/three", "d/mine", "d/one", "d/two"]
        );
        let read = |name: &str| fs::read_to_string(target.join("d").join(name)).unwrap();
        let one = match overwrite {
            Overwrite::Replace => "image",
            _ => "other",
        };
        assert_eq!([read("one"), read("mine")], [one, "other"], "{overwrite:?}");
        assert_eq!([read("two"), read("below/three")], ["image"; 2]);
        assert!(!paths_on_disk(&target).iter().any(|path| is_hidden(path)));
        let failed = u64::from(overwrite == Overwrite::Refuse);
        let warnings = observer.notes.warnings();
        assert_eq!((report.failed, warnings.len() as u64), (failed, failed));
    }
}
