//! The bytes that we write: digests of images of a fixed tree, for each level, any number of
//! threads.
//!
//! `cargo xtask golden --bless` records them in tests/golden; a change there needs a reason, since
//! whoever relies on reproducible images notices it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use support::{scratch, sinter};

/// Makes a tree whose every byte and time is fixed.
fn fixed_tree(root: &Path) {
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    let mut word = 1u32;
    let mut words = |count: usize| {
        let mut text = String::new();
        for _ in 0..count {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let _ = write!(text, "word{} ", (word >> 16) % 700);
        }
        text
    };
    for i in 0..40 {
        let text = words(300 + i * 37);
        fs::write(root.join(format!("a/file{i}.txt")), &text).unwrap();
        if i % 10 == 0 {
            fs::write(root.join(format!("a/b/copy{i}.txt")), &text).unwrap();
            fs::write(
                root.join(format!("a/b/edited{i}.txt")),
                text.replacen("word1", "WORD", 1),
            )
            .unwrap();
        }
    }
    fs::write(root.join("a/b/c/empty"), "").unwrap();
    fs::hard_link(root.join("a/file3.txt"), root.join("a/b/linked")).unwrap();
    std::os::unix::fs::symlink("../file1.txt", root.join("a/b/symlink")).unwrap();
}

fn build(tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    let output = sinter()
        .arg("build")
        .arg(tree)
        .arg("-o")
        .arg(image)
        .args([
            "--force",
            "--quiet",
            "--set-time",
            "1700000000",
            "--set-owner",
            "0",
            "--set-group",
            "0",
        ])
        .args(["--chmod", "D0755,F0644"])
        .args(flags)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::read(image).unwrap()
}

#[test]
fn images_have_the_recorded_digests_for_any_number_of_threads() {
    compare_golden("images.txt", &levels(&["--no-history", "-b16k"]));
}

#[test]
fn squashfs_images_have_the_recorded_digests_for_any_number_of_threads() {
    compare_golden("squashfs.txt", &levels(&["--format=squashfs", "-b16k"]));
}

#[test]
fn erofs_images_have_the_recorded_digests_for_any_number_of_threads() {
    let mut seen = String::new();
    for kernel in ["6.15", "6.10", "6.6", "6.1", "5.15", "5.4"] {
        let target = format!("--target-kernel={kernel}");
        let size = if kernel == "5.4" { "-b4k" } else { "-b16k" };
        for line in levels(&["--format=erofs", &target, size]).lines() {
            let _ = writeln!(seen, "{kernel} {line}");
        }
    }
    compare_golden("erofs.txt", &seen);
}

#[test]
fn images_of_older_formats_have_the_recorded_digests_for_any_number_of_threads() {
    let mut seen = String::new();
    for format in ["wim", "iso9660", "cramfs"] {
        for line in levels(&[&format!("--format={format}")]).lines() {
            let _ = writeln!(seen, "{format} {line}");
        }
    }
    compare_golden("older.txt", &seen);
}

#[test]
fn compressed_devices_have_the_recorded_digests_for_any_number_of_threads() {
    let work = scratch();
    let (device, image) = (work.path().join("device"), work.path().join("image"));
    fixed_tree(&work.path().join("tree"));
    let flags = ["--format=iso9660", "-l0"];
    build(&work.path().join("tree"), &device, &flags);
    let mut seen = String::new();
    for level in [0, 1, 6, 9, 12] {
        let made = ["-j1", "-j8"].map(|threads| {
            let mut command = sinter();
            command.arg("cloop").arg(&device).arg("-o").arg(&image);
            command.args(["--force", threads, &format!("-l{level}")]);
            assert!(command.output().unwrap().status.success());
            fs::read(&image).unwrap()
        });
        assert!(
            made[0] == made[1],
            "level {level}: the number of threads changes the device"
        );
        let _ = writeln!(seen, "{level} {} {}", made[0].len(), digest(&image));
    }
    compare_golden("cloop.txt", &seen);
}

/// Returns size and digest of an image of each level.
fn levels(flags: &[&str]) -> String {
    let work = scratch();
    let tree = work.path().join("tree");
    fixed_tree(&tree);
    let mut seen = String::new();
    for level in 0..=9 {
        let flag = format!("-l{level}");
        let one = [&[&*flag, "-j1"], flags].concat();
        let one = build(&tree, &work.path().join("one"), &one);
        let eight = [&[&*flag, "-j8"], flags].concat();
        let eight = build(&tree, &work.path().join("eight"), &eight);
        assert!(
            one == eight,
            "level {level}: the number of threads changes the image"
        );
        let _ = writeln!(
            seen,
            "{level} {} {}",
            one.len(),
            digest(&work.path().join("one"))
        );
    }
    seen
}

fn digest(file: &Path) -> String {
    let output = std::process::Command::new("sha256sum")
        .arg(file)
        .output()
        .expect("sha256sum");
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .next()
        .expect("a digest")
        .to_owned()
}

/// Compares text with a recorded file, or records it.
fn compare_golden(name: &str, seen: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden")
        .join(name);
    if std::env::var_os("SINTER_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, seen).unwrap();
    }
    let recorded = fs::read_to_string(&path).expect("recorded with `cargo xtask golden --bless`");
    assert_eq!(seen, recorded, "differs from {}", path.display());
}
