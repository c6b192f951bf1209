//! EROFS images that we write, read by what we did not write: the kernel and fsck.erofs. Compared with the
//! source by the vectors' own program, nothing may differ.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{
    KernelMount, compare, kernel_mounts, make_tree, run, scratch, sinter, try_run, vectors,
};

fn try_build(tree: &Path, image: &Path, flags: &[&str]) -> Output {
    support::try_build("erofs", tree, image, flags)
}

fn build(tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    support::build("erofs", tree, image, flags)
}

/// Finds fsck.erofs in `SINTER_PEER_EROFS` or in PATH; versions before 1.9 do not know what we write.
#[allow(clippy::print_stderr, reason = "tells what a run leaves out")]
fn fsck() -> Option<PathBuf> {
    let own = std::env::var_os("SINTER_PEER_EROFS").unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = std::env::split_paths(&own).chain(std::env::split_paths(&path));
    let tool = dirs.find_map(|dir| Some(dir.join("fsck.erofs")).filter(|tool| tool.is_file()));
    let said = tool.as_ref().map(|tool| {
        let output = Command::new(tool).arg("-V").output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    });
    if said.is_some_and(|said| said.contains(" 1.9") || said.contains(" 2.")) {
        return tool;
    }
    eprintln!("NOT RUN: no fsck.erofs 1.9 (SINTER_PEER_EROFS)");
    None
}

/// Compares what the kernel, fsck.erofs and we read with the source.
fn check(shared: &Path, source: &Path, image: &Path, work: &Path, more: &[&str]) {
    let mounted = KernelMount::new("erofs", image, &work.join("mnt"));
    compare(shared, more, source, &mounted.0);
    if let Some(fsck) = fsck() {
        let output = Command::new(fsck).arg(image).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    run([Path::new("check"), Path::new("--deep"), image]);
}

/// Adds what the vectors' trees do not have: a directory of many blocks, holes and ends of all lengths,
/// long targets, attributes that several have, times far away.
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
    let flags: [&[&str]; 9] = [
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

#[test]
fn the_full_tree_and_a_huge_sparse_file() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    make_tree(&shared, &source, &["--huge"]);
    for compression in ["none", "zstd:level=1"] {
        build(&source, &image, &["-C", compression]);
        check(&shared, &source, &image, work.path(), &[]);
        assert!(fs::metadata(&image).unwrap().len() < 200 << 20);
    }
}

#[test]
fn equal_files_are_stored_once() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    fs::create_dir(&source).unwrap();
    let mut state = 1_u64;
    let mut content = vec![0; 1_000_000];
    for byte in &mut content {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
    for n in 0..5 {
        fs::write(source.join(n.to_string()), &content).unwrap();
    }
    for compression in ["none", "zstd:level=1"] {
        let once = build(&source, &image, &["-C", compression]).len();
        assert!((1_000_000..1_050_000).contains(&once), "{once}");
        let often = build(&source, &image, &["-C", compression, "--no-duplicates"]);
        assert!(often.len() > 5_000_000);
    }
}

#[test]
fn an_image_tells_what_was_asked() {
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
    let old = info(&["-C", "none", "--target-kernel", "5.4"]);
    assert!(!old.contains("48bit") && !old.contains("zstd"), "{old}");
    let other = info(&[]);
    assert!(other.contains("-8") && other != info(&["--label", "x"]));
}

#[test]
fn what_is_not_written_is_refused() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    fs::create_dir(&source).unwrap();
    for (flags, word) in [
        (&["-C", "lzma"][..], "not written"),
        (&["-C", "xz"], "no `xz`"),
        (&["-C", "zstd", "--target-kernel=6.12"], "are not written"),
        (&["--target-kernel=6.14"], "the choices are"),
        (&["-b", "2m"], "4 KiB to 1 MiB"),
        (&["--tailends"], "means nothing for erofs"),
        (&["--no-exports"], "means nothing for erofs"),
        (&["--uuid", "x"], "is no UUID"),
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
        &work.path().join("i.cfs"),
    ]);
    assert!(!output.status.success());
}
