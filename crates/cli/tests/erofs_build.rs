//! EROFS images that we write, read by what we did not write: the kernel and fsck.erofs. Compared
//! with the source by the vectors' own program, nothing may differ.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use sinterfs_testkit::noise;
use support::erofs::{check, compare_extracted, needs};
use support::{compare, kernel_mounts, make_tree, run, scratch, sinter, try_run, vectors};

fn try_build(tree: &Path, image: &Path, flags: &[&str]) -> Output {
    support::try_build("erofs", tree, image, flags)
}

fn build(tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    support::build("erofs", tree, image, flags)
}

/// Adds what the vectors' trees do not have: a directory of many blocks, holes and ends of all
/// lengths, long targets, attributes that several have, times far away.
fn add_odd_files(tree: &Path) {
    let odd = tree.join("odd");
    fs::create_dir_all(odd.join("many")).unwrap();
    for n in 0..20_000 {
        let text = if n % 3 == 0 {
            String::new()
        } else {
            format!("file {n}")
        };
        fs::write(odd.join(format!("many/name-{n:05}")), text).unwrap();
    }
    for len in [4000, 4031, 4032, 4033, 4067, 4068] {
        symlink("t".repeat(len), odd.join(format!("link-{len}"))).unwrap();
        let text: Vec<u8> = (0..len + 8192).map(|n| (n * n % 251) as u8).collect();
        fs::write(odd.join(format!("file-{len}")), text).unwrap();
    }
    let sparse = File::create(odd.join("sparse")).unwrap();
    sparse.set_len(3 << 20).unwrap();
    sparse.write_all_at(&[b'x'; 300_001], 1 << 20).unwrap();
    sparse.write_all_at(b"the end", 4 << 20).unwrap();
    let hole = File::create(odd.join("hole")).unwrap();
    hole.set_len(5_000_000).unwrap();
    fs::write(odd.join("owned"), vec![7; 1 << 20]).unwrap();
    fs::copy(odd.join("owned"), odd.join("owned twice")).unwrap();
    chown(odd.join("owned twice"), Some(100_000), Some(70_000)).unwrap();
}

#[test]
fn every_compression_is_read_by_all_readers() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small", "--pre1970"]);
    add_odd_files(&path("tree"));
    let (source, image) = (path("tree"), path("image.erofs"));
    let flags: [&[&str]; 11] = [
        &["-C", "lzma:level=2", "-b128k"],
        &["-C", "lz4hc:level=3", "-b64k", "--target-kernel=6.1"],
        &["-C", "deflate:level=6", "-b128k"],
        &["-C", "none"],
        &["-C", "none", "-b4k", "--target-kernel=5.4"],
        &["-C", "none", "-b1m", "--target-kernel=6.12"],
        &["-C", "lz4", "-b1m"],
        &["-C", "lz4hc", "-b4k"],
        &["-C", "zstd:level=1", "-b4k", "--target-kernel=6.17"],
        &["-C", "zstd:level=9", "-b128k", "--no-sparse"],
        &["-C", "zstd", "-b1m", "--no-duplicates"],
    ];
    for flags in flags {
        build(&source, &image, flags);
        check(&shared, &source, &image, work.path(), &[]);
    }
    let extracted = path("extracted");
    run([Path::new("extract"), &image, Path::new("-o"), &extracted]);
    compare(&shared, &[], &source, &extracted);
    build(&source, &image, &["-l2", "--no-xattrs", "--all-root"]);
    let less = ["--no-xattrs", "--no-ids"];
    check(&shared, &source, &image, work.path(), &less);
}

/// Makes files whose lengths are around those of blocks, clusters and units, of every kind of
/// content.
fn make_edges(tree: &Path) {
    fs::create_dir(tree).unwrap();
    let text = |len: usize| -> Vec<u8> {
        let words = noise(len as u64, len / 7 + 1);
        let line = |byte: u8| format!("{:06x} ", u32::from(byte) * 7919);
        words
            .iter()
            .flat_map(|byte| line(*byte).into_bytes())
            .take(len)
            .collect()
    };
    const MIB: usize = 1 << 20;
    let (near_block, near_unit) = ([4095, 4096, 4097, 8193, 65_537], [MIB - 1, MIB, MIB + 1]);
    for len in near_block
        .into_iter()
        .chain(near_unit)
        .chain([0, 1, 5 * MIB + 4097])
    {
        fs::write(tree.join(format!("text-{len}")), text(len)).unwrap();
        fs::write(tree.join(format!("noise-{len}")), noise(7, len)).unwrap();
    }
    fs::write(tree.join("zeros"), vec![0; 3 * MIB + 5]).unwrap();
    let mixed: Vec<u8> = (1..60_usize)
        .flat_map(|n| match n % 3 {
            0 => vec![0; n * 1000],
            1 => text(n * 997),
            _ => noise(n as u64, n * 1009),
        })
        .collect();
    fs::write(tree.join("mixed"), &mixed).unwrap();
    // DEFLATE begins with what it stores, LZ4 with a token of zero
    fs::write(tree.join("late"), [noise(3, 70_000), text(60_000)].concat()).unwrap();
    for n in 0..200 {
        fs::write(tree.join(format!("small-{n}")), text(n * 37 % 5000)).unwrap();
    }
    let sparse = File::create(tree.join("sparse")).unwrap();
    sparse.set_len(9 << 20).unwrap();
    sparse.write_all_at(&mixed, 5_000_000).unwrap();
}

#[test]
fn images_for_each_kernel_use_only_its_features() {
    const PADDING: u32 = 1;
    const CONFIGS: u32 = 2;
    const INLINE: u32 = 0x10;
    const FRAGMENTS: u32 = 0x20;
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image, extracted) = (path("tree"), path("image.erofs"), path("extracted"));
    make_edges(&source);
    let (since_5_15, since_5_17) = (PADDING | CONFIGS, PADDING | CONFIGS | INLINE);
    let since_6_1 = since_5_15 | FRAGMENTS;
    for (kernel, compression, size, features, algorithms) in [
        ("5.4", "lz4", "4k", PADDING, 0),
        ("5.10", "lz4hc:level=4", "4k", PADDING, 0),
        ("5.15", "lz4hc:level=4", "4k", PADDING, 0),
        ("5.15", "lz4:level=-4", "16k", since_5_15, 1),
        ("5.15", "lz4hc:level=12", "64k", since_5_15, 1),
        ("5.15", "lz4", "1m", since_5_15, 1),
        ("5.17", "lz4", "4k", PADDING | INLINE, 0),
        ("5.17", "lz4hc:level=9", "64k", since_5_17, 1),
        ("5.17", "lzma:level=2", "16k", since_5_17, 2),
        ("6.1", "lz4", "4k", PADDING | FRAGMENTS, 0),
        ("6.1", "lz4hc:level=9", "64k", since_6_1, 1),
        ("6.1", "lzma:level=2", "4k", since_6_1, 2),
        ("6.1", "lzma:level=5", "64k", since_6_1, 2),
        ("6.6", "lzma:level=3", "1m", since_6_1, 2),
        ("6.6", "deflate:level=6", "4k", since_6_1, 4),
        ("6.6", "deflate:level=9", "64k", since_6_1, 4),
        ("6.10", "deflate:level=1", "1m", since_6_1, 4),
        ("6.10", "zstd:level=3", "4k", since_6_1, 8),
        ("6.12", "zstd:level=9", "64k", since_6_1, 8),
        ("6.12", "zstd:level=1", "1m", since_6_1, 8),
    ] {
        let flags = ["-C", compression, "-b", size, "--target-kernel", kernel];
        let bytes = build(&source, &image, &flags);
        let (found, known) = needs(&bytes);
        // where ends of files are together, it depends on their lengths whether one is behind an
        // inode
        let open = if features & FRAGMENTS > 0 { INLINE } else { 0 };
        assert_eq!((found & !open, known), (features, algorithms), "{flags:?}");
        check(&shared, &source, &image, work.path(), &[]);
        compare_extracted(&shared, &source, &image, &extracted);
    }
}

#[test]
fn the_full_tree_and_a_huge_sparse_file() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    make_tree(&shared, &source, &["--huge"]);
    for flags in [
        &["-C", "none"][..],
        &["-C", "zstd:level=1"],
        &["-C", "lz4", "-b64k", "--target-kernel=5.15"],
        &["-C", "lz4", "-b64k", "--target-kernel=6.1"],
    ] {
        build(&source, &image, flags);
        check(&shared, &source, &image, work.path(), &[]);
        assert!(fs::metadata(&image).unwrap().len() < 200 << 20);
    }
}

#[test]
fn equal_files_are_stored_once() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    fs::create_dir(&source).unwrap();
    let content = noise(1, 1_000_000);
    for n in 0..5 {
        fs::write(source.join(n.to_string()), &content).unwrap();
    }
    for (compression, kernel) in [("none", "6.15"), ("zstd:level=1", "6.15"), ("lz4", "5.10")] {
        let flags = ["-C", compression, "--target-kernel", kernel];
        let once = build(&source, &image, &flags).len();
        assert!((1_000_000..1_050_000).contains(&once), "{once}");
        let often = build(
            &source,
            &image,
            &[&flags[..], &["--no-duplicates"]].concat(),
        );
        assert!(often.len() > 5_000_000);
    }
}

#[test]
fn images_have_the_requested_features() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("file"), "content").unwrap();
    let uuid = "01234567-89ab-cdef-0123-456789abcdef";
    let info = |flags: &[&str]| {
        let mut command = sinter();
        command.args(["build", "-q", "--force"]).args(flags);
        command.env("SOURCE_DATE_EPOCH", "1700000000");
        let output = command.arg(&source).arg("-o").arg(&image).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let output = run([Path::new("info"), &image]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let told = info(&["--uuid", uuid, "--label", "my volume"]);
    for part in [uuid, "my volume", "48bit", "zstd", "sb_csum"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let told = |info: &str, kernel: &str| {
        let line = info.lines().find(|line| line.starts_with("oldest Linux"));
        line.is_some_and(|line| line.ends_with(&format!(" {kernel}")))
    };
    let old = info(&["-C", "none", "--target-kernel", "5.4"]);
    assert!(!old.contains("48bit") && !old.contains("zstd"), "{old}");
    assert!(told(&old, "5.4") && told(&info(&[]), "6.15"));
    for (kernel, oldest) in [
        ("5.10", "5.4"),
        ("6.1", "6.1"),
        ("6.6", "6.6"),
        ("6.12", "6.10"),
    ] {
        let info = info(&["--target-kernel", kernel]);
        assert!(told(&info, oldest), "{kernel}: {info}");
    }
    let other = info(&[]);
    assert!(other.contains("-8") && other != info(&["--label", "x"]));
}

#[test]
fn refuses_unsupported_options() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    fs::create_dir(&source).unwrap();
    for (flags, word) in [
        (&["-C", "xz"][..], "no `xz`"),
        (
            &["-C", "lzma", "--target-kernel=5.15"],
            "only 5.16 and newer",
        ),
        (
            &["-C", "deflate", "--target-kernel=6.1"],
            "only 6.6 and newer",
        ),
        (
            &["-C", "zstd", "--target-kernel=6.6"],
            "only 6.10 and newer",
        ),
        (&["-b64k", "--target-kernel=5.10"], "5.13 and newer"),
        (&["--target-kernel=6.14"], "the choices are"),
        (&["-b", "2m"], "4 KiB to 1 MiB"),
        (&["--tailends"], "does not apply to erofs"),
        (&["--no-exports"], "does not apply to erofs"),
        (&["--uuid", "x"], "is not a UUID"),
        (&["--label", "seventeen letters"], "at most 16 bytes"),
    ] {
        let output = try_build(&source, &image, flags);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && words.contains(word),
            "{flags:?}: {words}"
        );
        assert!(!image.exists());
    }
    for format in ["dwarfs", "squashfs"] {
        let target = work.path().join("other");
        let args = ["build", "-f", format, "--label", "x", "-o"].map(PathBuf::from);
        let output = try_run(args.iter().chain([&target, &source]));
        assert!(!output.status.success(), "{format}");
    }
    let output = try_run([
        Path::new("build"),
        &source,
        Path::new("-o"),
        &work.path().join("i.zip"),
    ]);
    assert!(!output.status.success());
}
