//! CRAMFS images that we write, read by what we did not write: fsck.cramfs and, where it has the
//! driver, the kernel. Compared with the source by the vectors' own program, nothing may differ but
//! what the format can't keep: times and hard links.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::archives::words_of;
use support::{compare, is_root, make_tree, run, scratch, skip, vectors};

/// What CRAMFS can't keep.
const LOST: &[&str] = &["--no-mtime", "--no-links"];

fn build(tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    support::build("cramfs", tree, image, flags)
}

/// Finds fsck.cramfs in `SINTER_PEER_CRAMFS` or in PATH.
fn fsck() -> Option<PathBuf> {
    let own = std::env::var_os("SINTER_PEER_CRAMFS").unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = std::env::split_paths(&own).chain(std::env::split_paths(&path));
    let found = dirs.find_map(|dir| Some(dir.join("fsck.cramfs")).filter(|tool| tool.is_file()));
    if found.is_none() {
        skip("no fsck.cramfs (util-linux)");
    }
    found
}

#[test]
fn fsck_extracts_the_source() {
    let (Some(shared), Some(fsck)) = (vectors(), fsck()) else {
        return;
    };
    if !is_root() {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small", "--plain"]);
    fs::write(path("boot"), "boot code").unwrap();
    let boot = format!("boot={}", path("boot").display());
    let cases: [&[&str]; 8] = [
        &[],
        &["-l0"],
        &["-l9"],
        &["-E", "big-endian,edition=7", "--label", "sixteen.bytes.ok"],
        &["-E", "front-padding"],
        &["-E", &boot],
        &["--block-size", "8192"],
        &["--no-duplicates", "--order", "revpath"],
    ];
    for flags in cases {
        let image = path("image");
        build(&path("tree"), &image, &[flags, &["--no-sparse"]].concat());
        run([Path::new("check"), Path::new("--deep"), &image]);
        let to = path("extracted");
        let size = if flags.contains(&"8192") {
            "8192"
        } else {
            "4096"
        };
        let extract = format!("--extract={}", to.display());
        let mut command = Command::new(&fsck);
        command.args(["-b", size, &extract]).arg(&image);
        // it does not know boot code after the superblock, which Linux does
        if !flags.contains(&boot.as_str()) {
            let output = command.output().unwrap();
            assert!(output.status.success(), "{flags:?}: {}", words_of(&output));
            compare(&shared, LOST, &path("tree"), &to);
            fs::remove_dir_all(&to).unwrap();
        }
        run([Path::new("extract"), &image, Path::new("-o"), &to]);
        compare(&shared, LOST, &path("tree"), &to);
        fs::remove_dir_all(&to).unwrap();
    }
}

#[test]
fn holes_are_kept_and_threads_do_not_show() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small", "--plain"]);
    let one = build(&path("tree"), &path("one"), &["-j1"]);
    let four = build(&path("tree"), &path("four"), &["-j4"]);
    assert!(one == four, "an image depends on the number of threads");
    run([Path::new("check"), Path::new("--deep"), &path("one")]);
    let to = path("extracted");
    run([Path::new("extract"), &path("one"), Path::new("-o"), &to]);
    compare(&shared, LOST, &path("tree"), &to);
    if support::kernel_has("cramfs") {
        let mounted = support::KernelMount::new("cramfs", &path("one"), &path("mnt"));
        compare(&shared, LOST, &path("tree"), &mounted.0);
    }
}

#[test]
fn counts_losses() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let tree = path("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("kept"), "kept").unwrap();
    fs::hard_link(tree.join("kept"), tree.join("link")).unwrap();
    fs::write(tree.join("n".repeat(253)), "x").unwrap();
    fs::write(tree.join("m".repeat(252)), "y").unwrap();
    fs::write(tree.join("large"), vec![b'x'; 16 << 20]).unwrap();
    fs::write(tree.join("almost"), vec![b'x'; (16 << 20) - 1]).unwrap();
    let sparse = fs::File::create(tree.join("sparse")).unwrap();
    sparse.set_len(5 << 30).unwrap();
    let output = support::try_build("cramfs", &tree, &path("image"), &[]);
    let told = words_of(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for expected in [
        "sinter: large: not kept",
        "sinter: sparse: not kept",
        "2 files of 16 MiB or more (left out)",
        "1 names longer than 252 bytes (left out, with everything below them)",
        "1 hard links (separate inodes with the same content)",
        "times of modification",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    run([Path::new("check"), Path::new("--deep"), &path("image")]);
    let listed = run([Path::new("ls"), &path("image")]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut names: Vec<&str> = listed.lines().collect();
    names.sort_unstable();
    let long = "m".repeat(252);
    assert_eq!(names, ["almost", "kept", "link", &long]);

    let strict = support::try_build("cramfs", &tree, &path("none"), &["--strict"]);
    assert!(!strict.status.success() && !path("none").exists());
    assert!(
        words_of(&strict).contains("can't keep"),
        "{}",
        words_of(&strict)
    );
}

#[test]
fn a_tree_that_is_too_large_is_refused() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let tree = path("tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..20 {
        let noise = sinterfs_testkit::noise(number, 15 << 20);
        fs::write(tree.join(number.to_string()), noise).unwrap();
    }
    let output = support::try_build("cramfs", &tree, &path("image"), &["-l1"]);
    assert!(!output.status.success() && !path("image").exists());
    assert!(words_of(&output).contains("larger than 256 MiB"));
}
