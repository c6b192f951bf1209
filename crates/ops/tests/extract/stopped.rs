//! Work that ends early leaves no partial file.

use sinterfs_model::{Kind, Quiet};
use sinterfs_ops::{ExtractOptions, extract};
use sinterfs_testkit::{Builder, Piece, meta, noise, sample, skip};

use crate::support::Notes;
use crate::{relative, target};

#[test]
fn stopping_leaves_no_partial_file() {
    let image = sample(0);
    let (_guard, target) = target();
    let notes = Notes::default();
    notes.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let stopped = extract(&image, &target, &ExtractOptions::default(), &notes).unwrap_err();
    assert_eq!(stopped.kind(), Kind::Cancelled);
    assert!(image.touched().is_empty());
}

/// A file system of one mebibyte in memory.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn new() -> rustix::io::Result<Self> {
        let dir = tempfile::tempdir().unwrap();
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("tiny", dir.path(), "tmpfs", flags, c"size=1m")?;
        Ok(Self(dir))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let flags = rustix::mount::UnmountFlags::DETACH;
        rustix::mount::unmount(self.0.path(), flags).unwrap();
    }
}

#[test]
fn a_full_disk_ends_the_work() {
    let Ok(tiny) = Tiny::new() else {
        return skip("a small file system needs root");
    };
    let mut b = Builder::new(meta(0o755, 0, 0), 1 << 20);
    let tall = [
        Piece::Data(noise(1, 20 << 20)),
        Piece::Data(noise(2, 20 << 20)),
    ];
    b.file(
        Builder::ROOT,
        b"small",
        meta(0o644, 0, 0),
        &[Piece::Data(vec![1; 9])],
    );
    b.file(Builder::ROOT, b"tall", meta(0o644, 0, 0), &tall);
    b.file(
        Builder::ROOT,
        b"wide",
        meta(0o644, 0, 0),
        &[Piece::Data(noise(3, 3 << 20))],
    );
    let image = b.finish(0);
    for threads in [1, 4] {
        let target = tiny.0.path().join(threads.to_string());
        let options = ExtractOptions {
            threads,
            ..Default::default()
        };
        let error = extract(&image, &target, &options, &Quiet).unwrap_err();
        assert!(error.to_string().contains("No space left"), "{error}");
        assert_eq!(relative(&target), ["small"]);
    }
}
