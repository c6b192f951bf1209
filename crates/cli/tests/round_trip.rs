//! Build, then mount and extract, and compare with the source by the vectors' own program: nothing
//! may differ but what DwarFS can't keep (xattrs, hard links of symlinks and special files).

mod support;

use std::path::Path;

use support::{Mounted, compare, is_root, make_tree, run, scratch, vectors};

/// What DwarFS can't keep.
const LOST: &[&str] = &["--no-xattrs", "--drop", "link,nlink:lp"];

fn check(shared: &Path, source: &Path, work: &Path, flags: &[&str], compared: &[&str]) {
    let image = work.join("image.dwarfs");
    let mut args = vec!["build", "--quiet", "--force"];
    args.extend(flags);
    let output = support::sinter()
        .args(args)
        .arg(source)
        .arg("-o")
        .arg(&image)
        .output()
        .expect("sinter starts");
    assert!(
        output.status.success(),
        "{flags:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let compared = [LOST, compared].concat();

    let mounted = Mounted::new(&image, &work.join("mnt"), &[]);
    compare(shared, &compared, source, &mounted.0);
    drop(mounted);

    let extracted = work.join("extracted");
    run([Path::new("extract"), &image, Path::new("-o"), &extracted]);
    compare(shared, &compared, source, &extracted);
    std::fs::remove_dir_all(&extracted).expect("the tree is removed");
    run([Path::new("check"), Path::new("--deep"), &image]);
}

#[test]
fn the_vectors_tree_with_every_level() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let source = work.path().join("tree");
    make_tree(&shared, &source, &["--size", "small", "--pre1970"]);
    for level in 0..=9 {
        let level = format!("-l{level}");
        check(
            &shared,
            &source,
            work.path(),
            &[&level, "--time-resolution", "1ns"],
            &[],
        );
    }
}

#[test]
fn the_vectors_tree_with_odd_settings() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let source = work.path().join("tree");
    make_tree(&shared, &source, &["--size", "small", "--shape", "b"]);
    let cases: &[(&[&str], &[&str])] = &[
        (&["-b", "1k", "-C", "zstd:level=3"], &["--mtime-seconds"]),
        (
            &["-b", "4k", "-C", "brotli:quality=5", "-B", "100", "-j", "3"],
            &["--mtime-seconds"],
        ),
        (
            &[
                "-C",
                "lzma:level=6:binary=x86",
                "--metadata-compression",
                "lz4hc:level=9",
            ],
            &["--mtime-seconds"],
        ),
        (
            &["--time-resolution", "2s", "--order", "revpath"],
            &["--mtime-unit", "2000000000"],
        ),
        (
            &[
                "--time-resolution",
                "100ms",
                "--no-history",
                "--no-section-index",
            ],
            &["--mtime-unit", "100000000"],
        ),
        (
            &["--keep-all-times", "--time-resolution", "1us"],
            &["--mtime-unit", "1000"],
        ),
    ];
    for (flags, compared) in cases {
        check(&shared, &source, work.path(), flags, compared);
    }
}

#[test]
fn the_full_tree_with_a_huge_sparse_file() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let source = work.path().join("tree");
    make_tree(&shared, &source, &["--huge"]);
    check(
        &shared,
        &source,
        work.path(),
        &["-l5", "--time-resolution", "1ns"],
        &[],
    );
}

#[test]
fn extended_attributes_are_told_counted_and_refused_if_strict() {
    let work = scratch();
    let source = work.path().join("tree");
    std::fs::create_dir(&source).expect("a directory");
    for name in ["a", "b", "plain"] {
        std::fs::write(source.join(name), name).expect("a file");
    }
    std::fs::hard_link(source.join("a"), source.join("again")).expect("a hard link");
    for name in ["a", "b"] {
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(source.join(name), "user.x", b"value", flags).is_err() {
            support::skip("the temporary directory has no extended attributes");
            return;
        }
    }
    let image = work.path().join("image.dwarfs");
    let build = |flag: &str| {
        let mut command = support::sinter();
        command.args(["build", "--time-resolution", "1ns", flag]);
        command
            .arg(&source)
            .arg("-o")
            .arg(&image)
            .output()
            .expect("sinter starts")
    };
    let strict = build("--strict");
    assert_eq!(strict.status.code(), Some(4), "{strict:?}");
    assert!(!image.exists());
    let told = build("-l1");
    assert!(told.status.success(), "{told:?}");
    let words = String::from_utf8_lossy(&told.stderr);
    assert!(
        words.contains("2 files with extended attributes"),
        "{words}"
    );
}

#[test]
fn the_system_s_own_files() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    for source in ["/etc", "/usr/bin"] {
        check(
            &shared,
            Path::new(source),
            work.path(),
            &["-l1", "-x"],
            // files of a running system may have names outside of the directory
            &["--mtime-seconds", "--drop", "nlink"],
        );
    }
}
