//! Every example, run: what the front page of the crate promises is what happens.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::print_stdout, reason = "examples print")]

use std::path::Path;

use sinterfs_testkit::skip;

#[path = "../examples/build.rs"]
mod build;
#[path = "../examples/cat.rs"]
mod cat;
#[path = "../examples/convert.rs"]
mod convert;
#[path = "../examples/list.rs"]
mod list;
#[path = "../examples/mount.rs"]
mod mount;

/// Makes a small tree.
fn tree(dir: &Path) {
    std::fs::create_dir_all(dir.join("etc/empty")).unwrap();
    std::fs::write(dir.join("etc/os-release"), "NAME=Example\n").unwrap();
    std::fs::write(dir.join("etc/left-out.tmp"), "scratch").unwrap();
    std::fs::write(dir.join("large"), vec![b'x'; 3 << 20]).unwrap();
    std::os::unix::fs::symlink("etc/os-release", dir.join("release")).unwrap();
}

#[test]
fn images_are_built_listed_read_and_converted() {
    let dir = tempfile::tempdir().unwrap();
    let (source, first) = (dir.path().join("source"), dir.path().join("a.dwarfs"));
    tree(&source);
    let report = build::run(&source, &first).unwrap();
    assert_eq!((report.format, report.pipeline.tree.files), ("dwarfs", 2));
    for (name, format) in [("b.squashfs", "squashfs"), ("c.erofs", "erofs")] {
        let built = build::run(&source, &dir.path().join(name)).unwrap();
        assert_eq!(built.format, format);
    }
    let converted = dir.path().join("d.erofs");
    assert_eq!(convert::run(&first, &converted).unwrap().format, "erofs");
    for name in ["a.dwarfs", "b.squashfs", "c.erofs", "d.erofs"] {
        let image = dir.path().join(name);
        let mut listing = Vec::new();
        list::run(&image, &mut listing).unwrap();
        let listing = String::from_utf8(listing).unwrap();
        let paths: Vec<_> = listing
            .lines()
            .map(|line| line.split_ascii_whitespace().skip(2).collect::<Vec<_>>())
            .map(|words| words.join(" "))
            .collect();
        let expected = [
            "etc",
            "etc/empty",
            "etc/os-release",
            "large",
            "release -> etc/os-release",
        ];
        assert_eq!(paths, expected, "{name}");
        let mut content = Vec::new();
        let path = Path::new("/release");
        assert_eq!(cat::run(&image, path, &mut content).unwrap(), 13, "{name}");
        assert_eq!(content, b"NAME=Example\n", "{name}");
    }
}

#[test]
fn an_image_is_mounted() {
    let dir = tempfile::tempdir().unwrap();
    let (source, image) = (dir.path().join("source"), dir.path().join("a.squashfs"));
    tree(&source);
    build::run(&source, &image).unwrap();
    let target = dir.path().join("mount");
    std::fs::create_dir(&target).unwrap();
    if !Path::new("/dev/fuse").exists() {
        return skip("no /dev/fuse");
    }
    let mut mounted = mount::run(&image, &target).unwrap();
    let content = std::fs::read(target.join("etc/os-release")).unwrap();
    assert_eq!(content, b"NAME=Example\n");
    mounted.session.as_mut().unwrap().unmount().unwrap();
}
