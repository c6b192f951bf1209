//! EROFS images with what has to be asked for (`-E`), read by what we did not write: the kernel and
//! fsck.erofs.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;

use sinterfs_testkit::noise;
use support::erofs::{check, compare_extracted};
use support::{kernel_mounts, run, scratch, try_build, vectors};

fn build(tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    support::build("erofs", tree, image, flags)
}

/// Makes text that gains from every codec, other text for other seeds.
fn text(seed: u64, len: usize) -> Vec<u8> {
    let words = noise(seed, len / 6 + 1);
    let word = |byte: &u8| format!("{:05x} ", u32::from(*byte) * 7919);
    words
        .iter()
        .flat_map(|byte| word(byte).into_bytes())
        .take(len)
        .collect()
}

/// Makes files that have parts in common: at all distances from blocks, of all lengths, of text and
/// of what no codec makes shorter, within files and among them, in large and in small ones.
fn make_alike(tree: &Path) {
    fs::create_dir(tree).unwrap();
    let write = |name: &str, parts: &[&[u8]]| fs::write(tree.join(name), parts.concat()).unwrap();
    let (a, b, dull) = (text(1, 3 << 20), text(2, 300_000), noise(3, 400_000));
    write("a", &[&a]);
    write("b in a", &[&a[..1_000_001], &b, &a[1_000_001..]]);
    write("shifted", &[&b[..77], &a]);
    write(
        "edited",
        &[
            &a[..500_000],
            b"!",
            &a[500_001..501_000],
            b"!",
            &a[501_001..],
        ],
    );
    write("twice", &[&a[70_000..5 << 18], &dull, &a[70_000..5 << 18]]);
    write("dull", &[&dull]);
    write("dull shifted", &[&dull[..4099], &b[..5000], &dull[4096..]]);
    write("dull in blocks", &[&b[..8192], &dull, &dull[..40_960]]);
    write("zeros", &[&vec![0; 9 << 20], &a[..100_000]]);
    write("zeros again", &[&vec![0; 5 << 20], &a[4096..104_096]]);
    // over the end of what is cut at a time
    let long = [&a[..], &b, &a, &dull, &a[9999..]].concat();
    write("long", &[&long]);
    write("long shifted", &[b"x", &long]);
    for n in 0..60 {
        let (from, len) = (n * 31_337 % 900_000, n * n * 40 % 150_000);
        write(&format!("part {n}"), &[&a[from..from + len]]);
        let own = n.to_string().into_bytes();
        write(&format!("end {n}"), &[&own, &b[n * 500..][..5000 + n * 7]]);
        write(&format!("begin {n}"), &[&b[..5000 + n * 997], &own]);
    }
}

#[test]
fn files_share_equal_ranges() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image, extracted) = (path("tree"), path("image.erofs"), path("extracted"));
    make_alike(&source);
    for (kernel, compression, size) in [
        ("6.1", "lz4", "4k"),
        ("6.1", "lz4hc:level=9", "16k"),
        ("6.1", "lz4hc:level=12", "64k"),
        ("6.1", "lzma:level=1", "4k"),
        ("6.1", "lzma:level=2", "64k"),
        ("6.6", "deflate:level=3", "8k"),
        ("6.6", "deflate:level=6", "1m"),
        ("6.10", "zstd:level=1", "4k"),
        ("6.12", "zstd:level=5", "64k"),
        ("6.15", "lz4", "4k"),
        ("6.15", "lzma:level=2", "64k"),
        ("6.15", "deflate:level=6", "32k"),
        ("6.17", "zstd:level=3", "128k"),
        ("6.17", "zstd:level=3", "1m"),
    ] {
        let flags = ["-C", compression, "-b", size, "--target-kernel", kernel];
        let whole = build(&source, &image, &flags).len();
        let deduped = build(&source, &image, &[&flags[..], &["-Ededupe"]].concat()).len();
        assert!(deduped < whole * 2 / 3, "{flags:?}: {deduped} {whole}");
        check(&shared, &source, &image, work.path(), &[]);
        compare_extracted(&shared, &source, &image, &extracted);
    }
}

/// Makes files of all lengths, of which more or less is left behind their last whole cluster.
fn make_ends(tree: &Path) {
    fs::create_dir(tree).unwrap();
    let near = [
        4031,
        4032,
        4033,
        4095,
        4096,
        4097,
        8192,
        65_537,
        150_001,
        1 << 20,
        1_100_000,
    ];
    for len in (0..400).map(|n| n * n % 20_011).chain(near) {
        let (text, dull) = (text(len as u64, len), noise(len as u64, len));
        fs::write(tree.join(format!("text {len}")), &text).unwrap();
        fs::write(tree.join(format!("dull {len}")), &dull).unwrap();
        let mixed = [&dull[..len / 3], &text[len / 3..]].concat();
        fs::write(tree.join(format!("mixed {len}")), mixed).unwrap();
    }
}

#[test]
fn ends_are_behind_inodes() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image, extracted) = (path("tree"), path("image.erofs"), path("extracted"));
    make_ends(&source);
    for (kernel, compression, size) in [
        ("5.17", "lz4", "4k"),
        ("5.17", "lz4hc:level=9", "64k"),
        ("6.1", "lzma:level=2", "4k"),
        ("6.6", "deflate:level=6", "16k"),
        ("6.12", "zstd:level=3", "64k"),
    ] {
        let flags = ["-C", compression, "-b", size, "--target-kernel", kernel];
        let build = |option| build(&source, &image, &[&flags[..], &[option]].concat());
        let without = build("-E^ztailpacking,^fragments").len();
        let with = build("-Eztailpacking");
        // 400 texts, of which each gains half a block or so
        assert!(
            with.len() + (400 << 10) < without,
            "{} {without}",
            with.len()
        );
        check(&shared, &source, &image, work.path(), &[]);
        compare_extracted(&shared, &source, &image, &extracted);
        let more = ["-Eztailpacking", "-j1"];
        let alone = support::build("erofs", &source, &image, &[&flags[..], &more].concat());
        assert!(with == alone, "{flags:?}");
    }
    // content that may not be in the image fills its blocks
    let device = path("device");
    let flags = [
        "-Clz4",
        "-Eztailpacking",
        "--target-kernel=5.17",
        "--blob-device",
    ];
    build(
        &source,
        &image,
        &[&flags[..], &[device.to_str().unwrap()]].concat(),
    );
    run([
        Path::new("check"),
        Path::new("--deep"),
        &image,
        Path::new("--device"),
        &device,
    ]);
}

#[test]
fn ends_that_a_fragment_has_are_not_stored_again() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image, extracted) = (path("tree"), path("image.erofs"), path("extracted"));
    fs::create_dir(&source).unwrap();
    // what no codec makes shorter, so that the image's length shows how often it is stored
    let end = noise(1, 14_000);
    for n in 0..40 {
        let own = noise(100 + n as u64, n * 97 % 2000);
        fs::write(
            source.join(format!("end {n}")),
            [&own, &end[n * 3..]].concat(),
        )
        .unwrap();
        fs::write(source.join(format!("part {n}")), &end[n * 100..]).unwrap();
        // behind whole units, and too short to be worth it
        let long = [&vec![0; 2 << 20], &own[..], &end[4000..]].concat();
        fs::write(source.join(format!("long {n}")), long).unwrap();
        fs::write(
            source.join(format!("short {n}")),
            [&own, &end[13_000..]].concat(),
        )
        .unwrap();
    }
    for (kernel, compression, size, most) in [
        ("6.1", "lz4", "4k", 700_000),
        ("6.6", "deflate:level=1", "4k", 700_000),
        ("6.12", "zstd:level=1", "4k", 700_000),
        // whole files only
        ("6.15", "lz4", "128k", 900_000),
    ] {
        let flags = ["-C", compression, "-b", size, "--target-kernel", kernel];
        let bytes = build(&source, &image, &flags);
        assert!(bytes.len() < most, "{flags:?}: {}", bytes.len());
        check(&shared, &source, &image, work.path(), &[]);
        compare_extracted(&shared, &source, &image, &extracted);
        for more in [&["-j1"][..], &["-j5", "--memory=150m"]] {
            let other = build(&source, &image, &[&flags[..], more].concat());
            assert!(other == bytes, "{flags:?} {more:?}");
        }
    }
}

/// The options of `-E`, each as it is by default, asked for, and not wanted.
const WORDS: [&[&str]; 4] = [
    &["", "dedupe"],
    &["", "ztailpacking", "^ztailpacking"],
    &["", "fragments", "^fragments"],
    &["", "all-fragments"],
];

/// Lists values of `-E` so that each two words of different options are together in one, as far as
/// they may be.
fn pairs() -> Vec<String> {
    let refused = |words: &[&str]| {
        let has = |word| words.contains(&word);
        has("all-fragments") && (has("ztailpacking") || has("^fragments"))
    };
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for words in WORDS {
        let longer = |list: &Vec<&'static str>| {
            let with = |word: &&'static str| [&list[..], &[*word]].concat();
            words.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.retain(|words| !refused(words));
    let (mut seen, mut chosen) = (std::collections::BTreeSet::new(), Vec::new());
    // those first that have most words, so that few are needed
    all.sort_by_key(|words| words.iter().filter(|word| word.is_empty()).count());
    for words in all {
        let mut is_new = false;
        for (a, one) in words.iter().enumerate() {
            for (b, other) in words.iter().enumerate().skip(a + 1) {
                is_new |= seen.insert((a, *one, b, *other));
            }
        }
        let said: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if is_new && !said.is_empty() {
            chosen.push(said.join(","));
        }
    }
    chosen
}

#[test]
fn options_go_together() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image, extracted) = (path("tree"), path("image.erofs"), path("extracted"));
    make_alike(&source);
    make_ends(&source.join("ends"));
    let codecs = [
        ("6.1", "lz4", "4k"),
        ("6.6", "deflate:level=1", "16k"),
        ("6.12", "zstd:level=1", "64k"),
        ("6.1", "lz4hc:level=3", "4k"),
        ("6.15", "zstd:level=1", "64k"),
    ];
    let mut tried = 0;
    for (extended, n) in pairs().iter().zip(0..) {
        let (kernel, compression, size) = codecs[n % codecs.len()];
        if kernel == "6.15" && extended.split(',').any(|word| word == "ztailpacking") {
            // refused there, see below
            continue;
        }
        tried += 1;
        let flags = [
            "-C",
            compression,
            "-b",
            size,
            "--target-kernel",
            kernel,
            "-E",
            extended,
        ];
        let bytes = build(&source, &image, &[&flags[..], &["-j1"]].concat());
        let other = build(&source, &image, &[&flags[..], &["-j9"]].concat());
        assert!(bytes == other, "{flags:?}");
        check(&shared, &source, &image, work.path(), &[]);
        compare_extracted(&shared, &source, &image, &extracted);
    }
    assert!(tried > 8, "{tried}");
}

/// Returns the size of the packed inode.
fn packed_bytes(image: &Path) -> usize {
    let told = run([Path::new("info"), image]).stdout;
    let told = String::from_utf8(told).unwrap();
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("packed inode bytes:"));
    line.map_or(0, |bytes| bytes.trim().parse().unwrap())
}

#[test]
fn the_packed_inode_holds_equal_files_once() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image, extracted) = (path("tree"), path("image.erofs"), path("extracted"));
    fs::create_dir(&source).unwrap();
    let long = text(1, 5_000_000);
    fs::write(source.join("long"), &long).unwrap();
    fs::write(source.join("dull"), noise(2, 3_000_001)).unwrap();
    fs::write(source.join("short"), text(3, 700)).unwrap();
    for n in 0..8 {
        let other = [&long[..300_000 + n * 1000], &text(10 + n as u64, 9000)].concat();
        fs::write(source.join(format!("alike {n}")), other).unwrap();
    }
    for (kernel, compression, size) in [("6.1", "lz4hc:level=4", "4k"), ("6.15", "zstd", "128k")] {
        let flags = ["-C", compression, "-b", size, "--target-kernel", kernel];
        build(
            &source,
            &image,
            &[&flags[..], &["-Eall-fragments"]].concat(),
        );
        assert!(
            packed_bytes(&image) > 10_000_000,
            "{}",
            packed_bytes(&image)
        );
        check(&shared, &source, &image, work.path(), &[]);
        compare_extracted(&shared, &source, &image, &extracted);
    }
    let flags = ["-Clz4hc:level=4", "-b4k", "--target-kernel=6.1"];
    let shared_clusters = build(&source, &image, &flags).len();
    let rests = packed_bytes(&image);
    assert!((700..200_000).contains(&rests), "{rests}");
    check(&shared, &source, &image, work.path(), &[]);
    compare_extracted(&shared, &source, &image, &extracted);
    let apart = ["-E^fragments,^ztailpacking"];
    let apart = build(&source, &image, &[&flags[..], &apart].concat()).len();
    assert!(
        shared_clusters + 7 * 40_000 < apart,
        "{shared_clusters} {apart}"
    );
}

#[test]
fn the_number_of_threads_and_memory_change_nothing() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    make_alike(&source);
    for (flags, least) in [
        (
            &["-Clz4hc:level=5", "-b4k", "--target-kernel=6.1"][..],
            "180m",
        ),
        (&["-Czstd:level=3", "--target-kernel=6.12"], "180m"),
        (&["-Czstd:level=3"], "180m"),
    ] {
        let flags = [flags, &["-Ededupe"]].concat();
        let one = build(&source, &image, &[&flags[..], &["-j1"]].concat());
        for more in [&["-j2"][..], &["-j9"], &["-j3", "--memory", least]] {
            let other = build(&source, &image, &[&flags[..], more].concat());
            assert!(one == other, "{flags:?} {more:?}");
        }
    }
}

#[test]
fn refuses_impossible_options() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    fs::create_dir(&source).unwrap();
    for (flags, word) in [
        (&["-Ededupe", "--target-kernel=5.15"][..], "6.1 and newer"),
        (&["-Ededupe", "-Cnone"], "only compressed files"),
        (
            &["-Eztailpacking", "--target-kernel=5.15"],
            "5.17 and newer",
        ),
        (&["-Eztailpacking"], "begin at any byte"),
        (&["-Eztailpacking", "-Cnone"], "tails are always inline"),
        (
            &["-Eztailpacking,all-fragments", "--target-kernel=6.1"],
            "no file has an inline tail",
        ),
        (
            &["-Eall-fragments", "--target-kernel=5.17"],
            "6.1 and newer",
        ),
        (&["-Eall-fragments", "-Cnone"], "only compressed files"),
        (&["-Eall-fragments,^fragments"], "^fragments"),
        (&["-Efragments", "--target-kernel=5.17"], "6.1 and newer"),
        (&["-Efragments", "-Cnone"], "only compressed files"),
        (&["-Edup"], "extended option `dup`"),
        (&["-E", "dedupe,"], "extended option ``"),
    ] {
        let output = try_build("erofs", &source, &image, flags);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && words.contains(word),
            "{flags:?}: {words}"
        );
        assert!(!image.exists());
    }
    let output = try_build("squashfs", &source, &image, &["-Ededupe"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains("--extended does not apply to squashfs"),
        "{words}"
    );
}
