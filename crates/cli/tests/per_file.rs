//! What holds for images of every format that cuts each file for itself: the bytes do not depend on
//! threads or on what they are written to, and the kernel finds each of many names.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use support::{KernelMount, build, kernel_mounts, run, scratch, sinter};

#[test]
fn the_number_of_threads_and_a_pipe_change_nothing() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("image"));
    for dir in 0..40 {
        let dir = source.join(format!("d{}/e{dir}", dir % 7));
        fs::create_dir_all(&dir).unwrap();
        for n in 0..60usize {
            let text = format!("line {n} of a text\n").repeat(n * n % 500);
            fs::write(dir.join(format!("f{n}")), text).unwrap();
        }
    }
    let asked: [(&str, &[&str]); 10] = [
        ("squashfs", &["-Cgzip", "--tailends"]),
        ("squashfs", &["-Cxz:bcj=x86", "--tailends"]),
        ("squashfs", &["-Czstd", "--tailends"]),
        ("erofs", &["-Cnone"]),
        ("erofs", &["-Cnone", "--chunk-size=4k"]),
        ("erofs", &["-Clz4"]),
        ("erofs", &["-Czstd"]),
        ("erofs", &["-Clz4hc", "--target-kernel=5.15"]),
        ("erofs", &["-Clzma:level=3", "--target-kernel=6.1"]),
        ("erofs", &["-Czstd", "--target-kernel=6.10"]),
    ];
    for (format, flags) in asked {
        let flags = [flags, &["-b16k"]].concat();
        let images = ["-j1", "-j2", "-j7"]
            .map(|jobs| build(format, &source, &image, &[&flags[..], &[jobs]].concat()));
        assert!(images[0] == images[1] && images[0] == images[2]);
        let mut command = sinter();
        command.args(["build", "-q", "-f", format, "-o", "-"]);
        let piped = command.args(flags).arg(&source).output().unwrap();
        assert!(piped.stdout == images[0], "a pipe");
    }
}

#[test]
fn the_name_decides_the_format_and_each_of_many_files_is_found() {
    for (format, count) in [("squashfs", 100_000), ("erofs", 20_000)] {
        if kernel_mounts(format) {
            finds_each_of(format, count);
        }
    }
}

fn finds_each_of(format: &str, count: u32) {
    let work = scratch();
    let source = work.path().join("tree");
    let image = work.path().join(format!("image.{format}"));
    let large = source.join("large");
    fs::create_dir_all(&large).unwrap();
    let name = |n: u32| format!("{:08x}-{n}", n.wrapping_mul(2_654_435_761));
    for n in 0..count {
        let path = large.join(name(n));
        match n % 1000 {
            0 => fs::create_dir(path).unwrap(),
            1 => symlink("..", path).unwrap(),
            _ => fs::write(path, "").unwrap(),
        }
    }
    let [verb, quiet, output] = ["build", "-ql1", "-o"].map(Path::new);
    run([verb, quiet, &source, output, &image]);
    let mounted = KernelMount::new(format, &image, &work.path().join("mnt"));
    let large = mounted.0.join("large");
    let mut found: Vec<_> = fs::read_dir(&large)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut expected: Vec<String> = (0..count).map(name).collect();
    expected.sort();
    assert_eq!(found, expected);
    for n in (0..count).step_by(97) {
        let found = fs::symlink_metadata(large.join(name(n))).unwrap();
        assert_eq!(found.is_dir(), n % 1000 == 0, "{n}");
    }
    assert!(fs::symlink_metadata(large.join("00000000")).is_err());
    let directories = u64::from(count / 1000);
    assert_eq!(fs::metadata(&large).unwrap().nlink(), 2 + directories);
}
