//! Hostile images write nothing outside the target.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use sinterfs_model::{FileType, Quiet, Rdev};
use sinterfs_ops::{ExtractOptions, Overwrite, extract};
use sinterfs_testkit::{Builder, Piece, meta};

use crate::support::Notes;
use crate::{relative, target};

#[test]
fn hostile_names_stay_out() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let content = [Piece::Data(b"evil".to_vec())];
    let dir = b.dir(Builder::ROOT, b"dir", meta(0o755, 0, 0));
    for name in [
        &b".."[..],
        b".",
        b"",
        b"a/b",
        b"../up",
        b"/abs",
        b"nul\0",
        &[b'x'; 300],
    ] {
        b.file(dir, name, meta(0o644, 0, 0), &content);
    }
    let up = b.dir(dir, b"../updir", meta(0o755, 0, 0));
    b.file(up, b"inside", meta(0o644, 0, 0), &content);
    let up = b.dir(dir, b"..", meta(0o755, 0, 0));
    b.file(up, b"inside", meta(0o644, 0, 0), &content);
    b.file(dir, b"good", meta(0o644, 0, 0), &content);
    let image = b.finish(0);
    let (guard, target) = target();
    let notes = Notes::default();
    let report = extract(&image, &target, &ExtractOptions::default(), &notes).unwrap();
    assert_eq!(relative(guard.path()), ["out", "out/dir", "out/dir/good"]);
    assert_eq!(report.failed, 10, "{:?}", notes.warnings());
}

#[test]
fn symlinks_lead_no_write_out() {
    let (guard, target) = target();
    let outside = guard.path().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("victim"), "old").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o701)).unwrap();

    // The image: a symlink and a directory of one name, so that a file is to go through it.
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let text = outside.as_os_str().as_encoded_bytes();
    b.symlink(Builder::ROOT, b"twice", meta(0o777, 0, 0), text);
    let twice = b.dir(Builder::ROOT, b"twice", meta(0o755, 0, 0));
    b.file(
        twice,
        b"victim",
        meta(0o644, 0, 0),
        &[Piece::Data(b"evil".to_vec())],
    );
    // The target: symlinks where directories and files are to be.
    let docs = b.dir(Builder::ROOT, b"docs", meta(0o755, 0, 0));
    b.file(
        docs,
        b"victim",
        meta(0o644, 0, 0),
        &[Piece::Data(b"evil".to_vec())],
    );
    b.file(
        Builder::ROOT,
        b"file",
        meta(0o644, 0, 0),
        &[Piece::Data(b"evil".to_vec())],
    );
    b.special(
        Builder::ROOT,
        b"fifo",
        meta(0o666, 0, 0),
        FileType::Fifo,
        Rdev::default(),
    );
    let image = b.finish(0);

    for overwrite in [Overwrite::Replace, Overwrite::Keep] {
        let _ = fs::remove_dir_all(&target);
        fs::create_dir(&target).unwrap();
        symlink(&outside, target.join("docs")).unwrap();
        symlink(outside.join("victim"), target.join("file")).unwrap();
        symlink(outside.join("new"), target.join("fifo")).unwrap();
        let options = ExtractOptions {
            overwrite,
            ..Default::default()
        };
        extract(&image, &target, &options, &Quiet).unwrap();
        assert_eq!(fs::read(outside.join("victim")).unwrap(), b"old");
        assert_eq!(relative(&outside), ["deep", "victim"]);
        let mode = fs::metadata(&outside).unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o701, "{overwrite:?}");
        let replaced = !target.join("file").is_symlink();
        assert_eq!(replaced, overwrite == Overwrite::Replace);
        assert_eq!(
            target.join("docs").is_symlink(),
            overwrite == Overwrite::Keep
        );
    }
}
