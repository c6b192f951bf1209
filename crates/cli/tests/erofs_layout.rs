//! How EROFS images are laid out that we write: content in chunks, or on a device of its
//! own, names of attributes by prefixes; read by the kernel and fsck.erofs.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use sinterfs_testkit::noise;
use support::erofs::{check, fsck, needs};
use support::{
    KernelMount, build, compare, kernel_mounts, run, scratch, sinter, try_build, vectors,
};

/// Bits of features: of chunks, and of what is for Linux 6.15.
const CHUNKS: u32 = 4;
const WIDE: u32 = 0x81;
const KIB: usize = 1 << 10;

/// Makes files that share parts, with holes at the beginning, within, and at the end.
fn make_parts(tree: &Path) {
    fs::create_dir(tree).unwrap();
    let whole = noise(1, 900 * KIB + 77);
    fs::write(tree.join("whole"), &whole).unwrap();
    fs::write(tree.join("same"), &whole).unwrap();
    // the first chunks of another file, and a changed one among them
    fs::write(tree.join("shorter"), &whole[..512 * KIB]).unwrap();
    fs::write(tree.join("begin"), &whole[..300 * KIB + 5]).unwrap();
    let mut changed = whole.clone();
    changed[400 * KIB] ^= 1;
    fs::write(tree.join("changed"), &changed).unwrap();
    let mut swapped = whole[256 * KIB..512 * KIB].to_vec();
    swapped.extend_from_slice(&whole[..256 * KIB]);
    fs::write(tree.join("swapped"), &swapped).unwrap();
    for (name, len, parts) in [
        ("behind", 4 << 20, &[(3 << 20, 70_000)][..]),
        ("before", 5_000_000, &[(0, 130_000)]),
        (
            "between",
            (9 << 20) + 5,
            &[(1 << 20, 300_001), (8 << 20, 100), (9 << 20, 5)],
        ),
        ("none", 7_000_001, &[]),
    ] {
        let file = File::create(tree.join(name)).unwrap();
        file.set_len(len).unwrap();
        for &(at, len) in parts {
            file.write_all_at(&whole[..len], at).unwrap();
        }
    }
    fs::write(tree.join("zeros"), vec![0; 300 * KIB]).unwrap();
    for len in [0, 1, 4032, 4033, 4095, 4096, 4097, 65_535, 65_536, 65_537] {
        fs::write(tree.join(format!("len-{len}")), noise(len as u64, len)).unwrap();
    }
}

/// Extracts with fsck.erofs and compares.
fn judge(shared: &Path, source: &Path, image: &Path, work: &Path) {
    let Some(fsck) = fsck() else { return };
    let extracted = work.join("extracted");
    let mut command = std::process::Command::new(fsck);
    command.arg(format!("--extract={}", extracted.display()));
    let output = command.arg(image).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    compare(shared, &["--no-xattrs"], source, &extracted);
    fs::remove_dir_all(&extracted).unwrap();
}

#[test]
fn chunks_are_stored_once_and_holes_not_at_all() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image) = (path("tree"), path("image.erofs"));
    make_parts(&source);
    for (flags, features, most) in [
        // holes alone: what is equal in part is stored as often as it comes
        (&["-Cnone", "--target-kernel=5.15"][..], CHUNKS, 5000),
        (&["-l0", "-b4k", "--target-kernel=6.12"], CHUNKS, 4500),
        (&["-Cnone", "--target-kernel=6.1", "--no-sparse"], 0, 40_000),
        (
            &["-l0", "--chunk-size=64k", "--target-kernel=5.15"],
            CHUNKS,
            2000,
        ),
        (
            &["-l0", "--chunk-size=4k", "--target-kernel=5.15"],
            CHUNKS,
            1700,
        ),
        (
            &["-Cnone", "--chunk-size=128k", "--target-kernel=6.6"],
            CHUNKS,
            2500,
        ),
        (&["-Cnone", "--chunk-size=4m"], CHUNKS | WIDE, 18_000),
        (&["-Cnone", "--chunk-size=16k"], CHUNKS | WIDE, 1800),
    ] {
        let bytes = build("erofs", &source, &image, flags);
        assert_eq!(needs(&bytes).0, features, "{flags:?}");
        assert!(bytes.len() < most * KIB, "{flags:?}: {}", bytes.len());
        let one = build("erofs", &source, &image, &[flags, &["-j1"]].concat());
        assert!(bytes == one, "{flags:?}");
        check(&shared, &source, &image, work.path(), &[]);
        judge(&shared, &source, &image, work.path());
    }
}

#[test]
fn a_hole_of_a_tebibyte_stays_one() {
    if !kernel_mounts("erofs") {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image) = (path("tree"), path("image.erofs"));
    fs::create_dir(&source).unwrap();
    File::create(source.join("file"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    build("erofs", &source, &image, &["-l0", "--target-kernel=5.15"]);
    assert!(fs::metadata(&image).unwrap().len() <= 16 << 10);
    let mounted = KernelMount::new("erofs", &image, &path("mnt"));
    let file = File::open(mounted.0.join("file")).unwrap();
    let mut last = [1; 8];
    file.read_exact_at(&mut last, (1 << 40) - 8).unwrap();
    assert_eq!(last, [0; 8]);
    let data = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(0));
    assert_eq!(data, Err(rustix::io::Errno::NXIO));
}

#[test]
fn refuses_impossible_chunk_sizes() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.erofs"));
    fs::create_dir(&source).unwrap();
    for (flags, word) in [
        (&["--chunk-size=64k"][..], "chunks are stored uncompressed"),
        (&["-Cnone", "--chunk-size=5000"], "a power of two"),
        (&["-Cnone", "--chunk-size=8m"], "a power of two"),
        (
            &["-Cnone", "--chunk-size=4k", "--target-kernel=5.10"],
            "only 5.15 and newer",
        ),
        (&["-f", "squashfs", "--chunk-size=4k"], "does not apply"),
    ] {
        let format = if flags[0] == "-f" { flags[1] } else { "erofs" };
        let flags = flags.strip_prefix(&["-f", "squashfs"]).unwrap_or(flags);
        let output = try_build(format, &source, &image, flags);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && words.contains(word),
            "{flags:?}: {words}"
        );
        assert!(!image.exists());
    }
}

/// A file as a block device.
struct Loop(String);

impl Loop {
    fn new(file: &Path) -> Self {
        let mut command = std::process::Command::new("losetup");
        let output = command.args(["-f", "--show", "-r"]).arg(file).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        Self(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let mut command = std::process::Command::new("losetup");
        let status = command.args(["-d", &self.0]).status();
        assert!(status.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Compares what a reader extracts.
fn extracted(shared: &Path, source: &Path, to: &Path, command: &mut std::process::Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    compare(shared, &["--no-xattrs"], source, to);
    fs::remove_dir_all(to).unwrap();
}

#[test]
fn content_may_be_on_a_device_of_its_own() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image, blob) = (path("tree"), path("image.erofs"), path("content.blob"));
    make_parts(&source);
    make_attributes(&source.join("attributes"));
    // where a file ends with a hole fsck.erofs 1.9.4 extracts a shorter one
    for name in ["before", "none", "zeros", "behind"] {
        fs::remove_file(source.join(name)).unwrap();
    }
    let named = format!("--blob-device={}", blob.display());
    for flags in [
        &["-Cnone", "--target-kernel=6.1"][..],
        &["-Cnone", "--no-sparse"],
        &["-Cnone", "--chunk-size=4k"],
        &["-Czstd"],
        &["-Clz4", "-b4k", "--target-kernel=6.1"],
        &["-Clz4hc", "-b64k", "--target-kernel=6.6"],
        &["-Clz4", "-b16k", "--target-kernel=6.6", "-Ededupe"],
    ] {
        let both = |jobs: &str| {
            let image = build("erofs", &source, &image, &[flags, &[&named, jobs]].concat());
            (image, fs::read(&blob).unwrap())
        };
        let (bytes, content) = both("-j7");
        assert!((bytes.clone(), content.clone()) == both("-j1"), "{flags:?}");
        assert!(bytes.len() < 300 << 10 && needs(&bytes).0 & 8 != 0);
        {
            let device = Loop::new(&blob);
            let more = format!("device={}", device.0);
            let mounted = KernelMount::with("erofs", &image, &path("mnt"), &more);
            compare(&shared, &[], &source, &mounted.0);
        }
        // both in one file, without a device
        let one = path("one");
        fs::create_dir_all(&one).unwrap();
        fs::write(one.join("i.erofs"), [bytes, content].concat()).unwrap();
        check(&shared, &source, &one.join("i.erofs"), work.path(), &[]);
        let to = path("extracted");
        for more in [&[][..], &[OsStr::new("--device"), blob.as_os_str()]] {
            let mut command = sinter();
            command.args([
                "extract".as_ref(),
                image.as_os_str(),
                "-o".as_ref(),
                to.as_os_str(),
            ]);
            extracted(&shared, &source, &to, command.args(more));
        }
        // it does not look for shared addresses on devices
        if let (Some(fsck), true) = (fsck(), flags[0] == "-Cnone") {
            let mut command = std::process::Command::new(fsck);
            command.arg(format!("--device={}", blob.display()));
            command
                .arg(format!("--extract={}", to.display()))
                .arg(&image);
            extracted(&shared, &source, &to, &mut command);
        }
    }
}

#[test]
fn no_device_is_left_of_a_build_that_fails() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image, blob) = (path("tree"), path("image.erofs"), path("content.blob"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("file"), noise(1, 100_000)).unwrap();
    let refused = |flags: &[&str], word: &str| {
        let output = try_build("erofs", &source, &image, flags);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && words.contains(word),
            "{flags:?}: {words}"
        );
    };
    let named = format!("--blob-device={}", blob.display());
    let same = format!("--blob-device={}", path("./image.erofs").display());
    let long = format!("--blob-device={}", path(&"n".repeat(65)).display());
    refused(&[&named, "--target-kernel=5.15"], "only 5.16 and newer");
    refused(&[&same], "would be one file");
    refused(&[&long], "1 to 64 bytes");
    let value = vec![0; 65_536];
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(source.join("file"), "user.long", &value, flags).is_ok() {
        refused(&[&named, "--strict"], "--strict");
    }
    let there: Vec<_> = fs::read_dir(work.path()).unwrap().collect();
    assert_eq!(there.len(), 1, "{there:?}");
    fs::write(&blob, "theirs").unwrap();
    let mut command = sinter();
    command
        .args(["build", "-f", "erofs", &named, "-o"])
        .args([&image, &source]);
    assert!(!command.output().unwrap().status.success());
    assert_eq!(fs::read(&blob).unwrap(), b"theirs");
    assert!(!image.exists());
}

/// Makes files whose attributes have names that begin alike. Every tmpfs keeps those of root.
fn make_attributes(tree: &Path) {
    fs::create_dir(tree).unwrap();
    for n in 0..600 {
        let path = tree.join(format!("file-{n}"));
        fs::write(&path, format!("content {n}\n").repeat(n % 40)).unwrap();
        let set = |name: &str, value: &str| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(&path, name, value.as_bytes(), flags).unwrap();
        };
        set(
            &format!("trusted.company.project.n{}", n % 7),
            &format!("{n}"),
        );
        set("security.label", &format!("of type {}", n % 300));
        if n % 3 == 0 {
            set("trusted.company.rare", &format!("value of {n}"));
        }
        if n % 5 == 0 {
            set("trusted.shared", "by many");
        }
    }
}

#[test]
fn names_of_attributes_are_short_and_absent_ones_are_absent() {
    const PREFIXES: u32 = 0x40;
    const FRAGMENTS: u32 = 0x20;
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (source, image) = (path("tree"), path("image.erofs"));
    make_attributes(&source);
    let own = "--xattr-prefix=trusted.company.";
    for (flags, features) in [
        (&["-Cnone", "--target-kernel=6.1"][..], 0),
        (&["-Cnone", "--target-kernel=6.6"], PREFIXES),
        (
            &["-Clz4", "-b4k", "--target-kernel=6.6"],
            PREFIXES | FRAGMENTS,
        ),
        (
            &["-Clz4", "-b64k", "--target-kernel=6.12"],
            PREFIXES | FRAGMENTS,
        ),
        (&["-Czstd"], PREFIXES | FRAGMENTS),
        (&["-Czstd", "--target-kernel=6.17"], PREFIXES | FRAGMENTS),
        (&["-Cnone", "--target-kernel=6.18"], PREFIXES),
        (
            &["-Czstd", own, "--xattr-prefix=security.label"],
            PREFIXES | FRAGMENTS,
        ),
    ] {
        let bytes = build("erofs", &source, &image, flags);
        assert_eq!(
            needs(&bytes).0 & (PREFIXES | FRAGMENTS),
            features,
            "{flags:?}"
        );
        check(&shared, &source, &image, work.path(), &[]);
        let mounted = KernelMount::new("erofs", &image, &path("mnt"));
        let has = |n: usize, name: &str| {
            let file = mounted.0.join(format!("file-{n}"));
            rustix::fs::getxattr(file, name, &mut [0; 64][..]).is_ok()
        };
        for n in 0..600 {
            assert!(has(n, "security.label") && !has(n, "security.labe"));
            assert_eq!(has(n, "trusted.company.rare"), n % 3 == 0);
            for kind in 0..8 {
                let name = format!("trusted.company.project.n{kind}");
                assert_eq!(has(n, &name), n % 7 == kind);
            }
            assert!(!has(n, "trusted.company.") && !has(n, "user.company.rare"));
        }
    }
    build("erofs", &source, &image, &["-Cnone", "--target-kernel=6.6"]);
    let told = run([Path::new("info"), &image]);
    let told = String::from_utf8(told.stdout).unwrap();
    // chosen: whole names and what ends with a dot
    for prefix in ["trusted.company.project.", "security.label"] {
        assert!(told.contains(prefix), "{told}");
    }
    let one = |image: &Path, flags: &[&str]| build("erofs", &source, image, flags).len();
    let long = one(&image, &["-Cnone", "--target-kernel=6.1"]);
    assert!(one(&image, &["-Cnone", "--target-kernel=6.6"]) < long - 8000);
    for (flags, word) in [
        (
            &["-Clz4", own, "--target-kernel=6.1"][..],
            "only 6.4 and newer",
        ),
        (&["--xattr-prefix=btrfs."], "a long prefix begins with"),
    ] {
        let output = try_build("erofs", &source, &image, flags);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && words.contains(word), "{words}");
    }
}
