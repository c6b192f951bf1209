//! Mutated images, in a loop: whatever is changed, cut, repeated or swapped in an image, opening it
//! and reading all of it ends in an error or in data, never in a panic, a hang or a flood of
//! memory.
//!
//! Runs for a few seconds as a test; SINTER_FUZZ_SECONDS makes it longer (`cargo xtask fuzz`). The
//! seed is printed and can be given again with SINTER_FUZZ_SEED. In three of four cases checksums
//! of metadata are made right again, so that what lies behind them is reached.
//!
//! The fuzz targets of `fuzz/` run here, too: with their seeds, and with changed ones. And damaged
//! SquashFS and EROFS images are read as others read them.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::print_stdout, reason = "the seed, for whoever repeats a run")]

#[path = "../../../fuzz/bodies/archive.rs"]
mod archive;
#[path = "../../../fuzz/bodies/digest.rs"]
mod digest;
mod harness;
#[path = "../../../fuzz/bodies/image.rs"]
mod image;
#[path = "harness/judge.rs"]
mod judge;
#[path = "../../../fuzz/bodies/metadata.rs"]
mod metadata;
#[path = "../../../fuzz/bodies/options.rs"]
mod options;
#[path = "../../../fuzz/bodies/parity.rs"]
mod parity;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use harness::{read_everything, reseal};
use judge::{Compared, Judge};
use sinterfs::Quiet;
use sinterfs::build::{BuildRequest, Destination, FormatOptions, build};
use sinterfs_testkit::Random;

#[test]
fn no_mutation_harms_the_reader() {
    let seconds = std::env::var("SINTER_FUZZ_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(8);
    let seed = std::env::var("SINTER_FUZZ_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| {
            std::time::UNIX_EPOCH
                .elapsed()
                .map_or(1, |since| since.as_nanos() as u64)
        });
    println!("seed {seed}");
    let mut random = Random(seed);
    let images = images();
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut runs, mut opened) = (0u64, 0u64);
    while Instant::now() < end {
        let mut image = images[random.below(images.len())].clone();
        mutate(&mut image, &mut random);
        if random.below(4) > 0 {
            reseal(&mut image);
        }
        let case = random.0;
        let start = cpu_time();
        opened += u64::from(read_everything(image).is_ok());
        let took = cpu_time().saturating_sub(start);
        assert!(
            took < Duration::from_secs(10),
            "seed {seed}, state {case}: took {took:?}"
        );
        runs += 1;
    }
    println!("{runs} mutations, {opened} of them opened");
    assert!(
        runs > 20,
        "only {runs} mutations: too slow to mean anything"
    );
}

/// What a fuzz target does with an input.
type Run = fn(&[u8]);

const TARGETS: [(&str, Run); 6] = [
    ("archive", archive::run),
    ("digest", digest::run),
    ("image", image::run),
    ("metadata", metadata::run),
    ("options", options::run),
    ("parity", parity::run),
];

/// Returns the seeds of a fuzz target, and what was found with it before.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut paths = Vec::new();
    for kind in ["seeds", "findings"] {
        // a target may have no findings yet
        let dir = fs::read_dir(fuzz.join(kind).join(target));
        paths.extend(dir.into_iter().flatten().map(|entry| entry.unwrap().path()));
    }
    assert!(!paths.is_empty(), "no seeds of {target}");
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Runs what each fuzz target runs over its seeds and over what was found with it before.
#[test]
fn seeds_and_former_findings_pass() {
    for (target, run) in TARGETS {
        for (number, input) in inputs(target).iter().enumerate() {
            println!("{target} {number}");
            run(input);
        }
    }
}

/// Runs each fuzz target with seeds that are changed at random, without coverage: for one second,
/// or so many as SINTER_FUZZ_TARGETS says.
#[test]
fn changed_seeds_of_every_target_pass() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = setting("SINTER_FUZZ_TARGETS").unwrap_or(1);
    let seed = setting("SINTER_FUZZ_SEED").unwrap_or_else(|| {
        let since = std::time::UNIX_EPOCH.elapsed();
        since.map_or(1, |since| since.as_nanos() as u64)
    });
    println!("seed {seed}");
    let mut random = Random(seed);
    for (target, run) in TARGETS {
        let seeds = inputs(target);
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut runs = 0_u64;
        while Instant::now() < end {
            let mut input = seeds[random.below(seeds.len())].clone();
            for _ in 0..=random.below(6) {
                change(&mut input, &seeds, &mut random);
            }
            let start = cpu_time();
            let done = std::panic::catch_unwind(|| run(&input));
            let took = cpu_time().saturating_sub(start);
            if done.is_err() || took > Duration::from_secs(5) {
                let path = std::env::temp_dir().join(format!("sinter-fuzz-{target}-{seed}"));
                fs::write(&path, &input).unwrap();
                panic!("{target}: {} fails, or takes {took:?}", path.display());
            }
            runs += 1;
        }
        println!("{target}: {runs} runs");
        assert!(runs > 5, "{target}: only {runs} runs");
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak
        .and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap();
    println!("at most {} MiB of memory", peak >> 10);
    assert!(peak < 512 << 10, "{} MiB of memory", peak >> 10);
}

/// Reads damaged SquashFS images beside unsquashfs: the same in each run, those of another
/// SINTER_FUZZ_SEED are others. With SINTER_FUZZ_JUDGED=COUNT, so many, and EROFS images beside the
/// kernel, which may not survive all of them.
#[test]
fn damaged_images_are_read_as_others_read_them() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let count: Option<u64> = setting("SINTER_FUZZ_JUDGED");
    let is_wanted = |judge: &Judge| count.is_some() || *judge == Judge::Unsquashfs;
    let images: Vec<Vec<u8>> = images()
        .into_iter()
        .filter(|image| Judge::of(image).is_some_and(|judge| is_wanted(&judge)))
        .collect();
    for judge in [Judge::Unsquashfs, Judge::KernelErofs] {
        let mut of_judge = images
            .iter()
            .filter(|image| Judge::of(image) == Some(judge));
        if is_wanted(&judge) && !of_judge.any(|image| judge.is_there(image)) {
            sinterfs_testkit::skip(&format!(
                "{judge:?} does not show images, or not without root"
            ));
            return;
        }
    }
    let mut random = Random(setting("SINTER_FUZZ_SEED").unwrap_or(1));
    let mut compared = [Compared::default(), Compared::default()];
    let count = count.unwrap_or(150);
    for _ in 0..count {
        let image = damaged(&images, &mut random);
        if let Some(judge) = Judge::of(&image).filter(is_wanted) {
            judge.compare(&image, &mut compared[judge as usize]);
        }
    }
    println!("of {count} damaged images read by both: {compared:?}");
    let both = compared.iter().map(|of_judge| of_judge.images).sum::<u64>();
    assert!(both > count / 20, "too few to mean anything");
}

/// Returns an image with damage in its metadata before it was encoded, or anywhere.
fn damaged(images: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    if random.below(2) == 0 {
        let changes = 1 + random.below(4);
        let mut input: Vec<u8> = (0..=changes * 8).map(|_| random.number() as u8).collect();
        // 0 is an image of DwarFS
        input[0] = 1 + random.below(3) as u8;
        return metadata::mutant(&input).unwrap();
    }
    let mut image = images[random.below(images.len())].clone();
    mutate(&mut image, random);
    reseal(&mut image);
    image
}

/// Changes an input in one place, or takes a piece of another seed into it.
fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(40)).min(input.len());
    match random.below(7) {
        0 => input.insert(at, random.number() as u8),
        1 => drop(input.drain(at..end)),
        2 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len() + 1);
            let to = (from + random.below(60)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
        3 => {
            let piece = input[at..end].to_vec();
            input.splice(at..at, piece);
        }
        kind => {
            if let Some(byte) = input.get_mut(at) {
                match kind {
                    4 => *byte = random.number() as u8,
                    5 => *byte ^= 1 << random.below(8),
                    _ => *byte = byte.wrapping_add(random.below(5) as u8).wrapping_sub(2),
                }
            }
        }
    }
}

/// Returns the processor time of this thread, which does not depend on what else the machine does.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos = stat.split(' ').next().unwrap().parse().unwrap();
    Duration::from_nanos(nanos)
}

/// Images of a small tree with every codec and with what else changes the layout, the seeds of the
/// fuzz target, and the vectors.
fn images() -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let path = dir.path().join("image");
    let made = |request: &BuildRequest| {
        build(request, &Quiet).unwrap();
        fs::read(&path).unwrap()
    };
    let dwarfs = [
        ("none", "none"),
        ("zstd:level=3", "zstd:level=3"),
        ("lzma:level=1", "lzma:level=1"),
        ("lz4", "lz4hc"),
        ("brotli:quality=3", "brotli:quality=3"),
    ];
    let dwarfs = dwarfs.map(|(codec, metadata)| made(&request(&tree, &path, codec, metadata)));
    let others = [
        ("squashfs", "gzip", 1 << 12),
        ("squashfs", "zstd", 1 << 12),
        ("erofs", "lz4hc", 1 << 14),
        ("erofs", "none", 1 << 12),
        ("cramfs", "gzip", 1 << 12),
        ("wim", "xpress", 1 << 15),
        ("wim", "lzx", 1 << 15),
        ("wim", "lzms:solid", 1 << 15),
    ];
    let others = others.map(|(format, codec, block)| {
        made(&BuildRequest {
            format: Some(FormatOptions::named(format).unwrap()),
            compression: (format != "cramfs").then(|| codec.to_owned()),
            block_size: Some(block),
            ..request(&tree, &path, codec, "none")
        })
    });
    let made = dwarfs.into_iter().chain(others);
    let disc = udf_disc(&tree, &path);
    made.chain(inputs("image"))
        .chain(vectors())
        .chain(disc)
        .collect()
}

/// Makes a disc with a UDF tree; `None` without its tool.
fn udf_disc(tree: &Path, path: &Path) -> Option<Vec<u8>> {
    let made = std::process::Command::new("/usr/bin/genisoimage")
        .args(["-quiet", "-udf", "-o"])
        .args([path, tree])
        .output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        sinterfs_testkit::skip("no genisoimage for a disc with UDF");
        return None;
    };
    drop(made);
    fs::read(path).ok()
}

fn vectors() -> Vec<Vec<u8>> {
    let Some(vectors) = sinterfs_testkit::shared("vectors") else {
        return Vec::new();
    };
    let names = [
        "images/dwarfs/pack-all.img",
        "images/dwarfs/pack-none.img",
        "images/dwarfs/categorize.img",
        "images/cramfs/holes.img",
        "images/cramfs/big-endian.img",
        "images/iso9660/zisofs-v1-xorriso.img.gz",
        "images/iso9660/zisofs-v2-susp-z2.img.gz",
        "images/cromfs/default.img",
        "images/cromfs/bsize-for.img",
        "images/wim/lzms-solid.img",
        "images/wim/solid-lzx.img",
        "images/cloop/ext2-64k.img",
        "images/composefs/v1.img.gz",
        "images/erofs/ztailpacking.img.gz",
        "images/erofs/fragments.img.gz",
        "images/squashfs/uncompressed-meta.img.gz",
        "images/squashfs/lzo.img.gz",
        "hostile/erofs-unsorted-extents.img",
        "upstream/dwarfs/compat/compat-v0.2.0.dwarfs",
        "upstream/dwarfs/compat/compat-v0.4.1.dwarfs",
    ];
    names
        .map(|name| sinterfs_testkit::read_file(&vectors.join(name)))
        .to_vec()
}

fn make_tree(tree: &Path) {
    fs::create_dir_all(tree.join("a/b")).unwrap();
    for i in 0..20usize {
        let text: String = (0..i * 97)
            .map(|j| char::from(b'a' + (j * j % 23) as u8))
            .collect();
        fs::write(tree.join(format!("a/file{i}")), &text).unwrap();
        fs::write(tree.join(format!("a/b/again{}", i % 3)), &text).unwrap();
    }
    fs::hard_link(tree.join("a/file9"), tree.join("a/b/linked")).unwrap();
    std::os::unix::fs::symlink("../file9", tree.join("a/b/symlink")).unwrap();
    let sparse = fs::File::create(tree.join("sparse")).unwrap();
    sparse.set_len(1 << 20).unwrap();
}

fn request(tree: &Path, image: &Path, codec: &str, metadata: &str) -> BuildRequest {
    let mut options = FormatOptions::named("dwarfs").unwrap();
    options.set("metadata_compression", metadata).unwrap();
    options.set("time_resolution", "1ns").unwrap();
    BuildRequest {
        destination: Destination::File {
            path: image.to_owned(),
            replace: true,
        },
        compression: Some(codec.to_owned()),
        format: Some(options),
        block_size: Some(1 << 12),
        ..BuildRequest::new(tree)
    }
}

/// Changes an image in one to four places.
fn mutate(image: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(image.len());
        let near = |random: &mut Random, len: usize| (at + random.below(64)).min(len);
        match random.below(8) {
            0 => image[at] ^= 1 << random.below(8),
            1 => image[at] = random.number() as u8,
            2 => {
                let extreme = [0, 1, 0x7f, 0x80, 0xff][random.below(5)];
                let end = near(random, image.len());
                image[at..end].fill(extreme);
            }
            3 => image.truncate(at.max(16)),
            4 => {
                let (from, len) = (random.below(image.len()), random.below(200));
                let piece = image[from..(from + len).min(image.len())].to_vec();
                let end = (at + piece.len()).min(image.len());
                image[at..end].copy_from_slice(&piece[..end - at]);
            }
            5 => {
                let end = near(random, image.len());
                image.drain(at..end);
            }
            6 => image.insert(at, random.number() as u8),
            _ => {
                // a small change of a number, where fields lie
                let end = (at + 4).min(image.len());
                if let Ok(bytes) = <[u8; 4]>::try_from(&image[at..end]) {
                    let number = u32::from_le_bytes(bytes)
                        .wrapping_add(random.below(5) as u32)
                        .wrapping_sub(2);
                    image[at..end].copy_from_slice(&number.to_le_bytes());
                }
            }
        }
        if image.len() < 16 {
            image.resize(16, 0);
        }
    }
}
