//! SquashFS images that we write, read by what we did not write: the kernel, unsquashfs and
//! rdsquashfs. Compared with the source by the vectors' own program, nothing may differ but what
//! the format can't keep: parts of seconds and POSIX ACLs.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{
    KernelMount, compare, is_root, kernel_mounts, make_tree, run, scratch, sinter, skip, try_run,
    vectors,
};

/// What SquashFS can't keep.
const LOST: &[&str] = &["--mtime-seconds", "--skip-xattr", "system.posix_acl"];

const COMPRESSIONS: [&str; 9] = [
    "gzip:level=1",
    "gzip:level=12",
    "lzo",
    "lz4",
    "lz4hc",
    "xz",
    "xz:level=1:dict=8k:bcj=x86,powerpc,ia64,arm,armthumb,arm64,sparc,riscv",
    "zstd:level=22",
    "lzma",
];

fn try_build(tree: &Path, image: &Path, flags: &[&str]) -> Output {
    support::try_build("squashfs", tree, image, flags)
}

fn build(tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    support::build("squashfs", tree, image, flags)
}

/// Finds a tool wherever there is one: in PATH, and in the directories that `SINTER_PEER_SQUASHFS`
/// names.
fn tools(name: &str) -> Vec<PathBuf> {
    let more = std::env::var_os("SINTER_PEER_SQUASHFS").unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(std::env::split_paths(&more));
    let mut found: Vec<PathBuf> = dirs.map(|dir| dir.join(name)).collect();
    found.retain(|tool| tool.is_file());
    found.dedup();
    if found.is_empty() {
        skip(&format!("no {name}"));
    }
    found
}

fn unpack(tool: &Path, image: &Path, to: &Path) {
    let mut command = Command::new(tool);
    command
        .args(["-quiet", "-no-progress", "-d"])
        .arg(to)
        .arg(image);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", tool.display());
}

fn check(shared: &Path, source: &Path, image: &Path, work: &Path, more: &[&str]) {
    let compared = [LOST, more].concat();
    let mounted = KernelMount::new("squashfs", image, &work.join("mnt"));
    compare(shared, &compared, source, &mounted.0);
    run([Path::new("check"), Path::new("--deep"), image]);
}

#[test]
fn every_compression_is_read_by_all_readers() {
    let (Some(shared), true) = (vectors(), kernel_mounts("squashfs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small"]);
    let (source, image) = (path("tree"), path("image.squashfs"));
    for (index, compression) in COMPRESSIONS.into_iter().enumerate() {
        let size = ["-b4k", "-b128k", "-b1m"][index % 3];
        // the filters of one image are more than blocks of this size need
        let size = if compression.contains("dict=") {
            "-b64k"
        } else {
            size
        };
        build(&source, &image, &["-C", compression, size]);
        // no kernel has lzma
        if compression != "lzma" {
            check(&shared, &source, &image, work.path(), &[]);
        }
        let extracted = path("extracted");
        run([Path::new("extract"), &image, Path::new("-o"), &extracted]);
        compare(&shared, LOST, &source, &extracted);
        fs::remove_dir_all(&extracted).unwrap();
        for unsquashfs in tools("unsquashfs") {
            unpack(&unsquashfs, &image, &path("unpacked"));
            compare(&shared, LOST, &source, &path("unpacked"));
            fs::remove_dir_all(path("unpacked")).unwrap();
        }
    }
}

#[test]
fn every_pair_of_switches_mounts() {
    let (Some(shared), true) = (vectors(), kernel_mounts("squashfs")) else {
        return;
    };
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.sfs"));
    make_tree(&shared, &source, &["--size", "small", "--shape", "b"]);
    let switches = [
        "--tailends",
        "--no-fragments",
        "--no-duplicates",
        "--no-exports",
        "--no-xattrs",
        "--no-sparse",
        "--no-compress=inodes,ids",
        "--no-compress=data,fragments,xattrs",
        "--order=path",
        "--all-root",
    ];
    for (index, one) in switches.iter().enumerate() {
        for two in &switches[index + 1..] {
            let name = |switch: &str| switch.split('=').next().unwrap_or_default().to_owned();
            let pair = [*one, *two];
            if name(one) == name(two) || pair == ["--tailends", "--no-fragments"] {
                continue;
            }
            build(&source, &image, &[*one, *two, "-b16k", "-Czstd:level=1"]);
            let mut compared = Vec::new();
            if pair.contains(&"--all-root") {
                compared.push("--no-ids");
            }
            if pair.contains(&"--no-xattrs") {
                compared.push("--no-xattrs");
            }
            check(&shared, &source, &image, work.path(), &compared);
        }
    }
    build(&source, &image, &["--no-pad", "-C", "lz4"]);
    let used = u64::from_le_bytes(fs::read(&image).unwrap()[40..48].try_into().unwrap());
    assert_eq!(fs::metadata(&image).unwrap().len(), used);
}

#[test]
fn the_full_tree_and_a_huge_sparse_file() {
    let (Some(shared), true) = (vectors(), kernel_mounts("squashfs")) else {
        return;
    };
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.snap"));
    make_tree(&shared, &source, &["--huge"]);
    build(&source, &image, &["-l1", "--tailends"]);
    check(&shared, &source, &image, work.path(), &[]);
    let mounted = KernelMount::new("squashfs", &image, &work.path().join("mnt"));
    let sparse = |dir: &Path| {
        let files = walk(dir)
            .into_iter()
            .map(|path| fs::metadata(path).unwrap());
        files.map(|found| found.size()).max().unwrap()
    };
    assert!(sparse(&mounted.0) >= 5 << 30);
    assert!(fs::metadata(&image).unwrap().len() < 100 << 20);
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut files = Vec::new();
    for entry in entries {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files.extend(walk(&entry.path()));
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files
}

#[test]
fn sqfsdiff_finds_no_difference_to_mksquashfs() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small"]);
    build(&path("tree"), &path("ours"), &["-C", "gzip", "-b128k"]);
    compare_with_mksquashfs(&path("tree"), &path("ours"), &path("theirs"), []);
}

/// Lets sqfsdiff compare our image of a tree with one that mksquashfs makes.
fn compare_with_mksquashfs<'a>(
    tree: &Path,
    ours: &Path,
    theirs: &Path,
    flags: impl IntoIterator<Item = &'a str>,
) {
    let (Some(mksquashfs), Some(sqfsdiff)) = (tools("mksquashfs").pop(), tools("sqfsdiff").pop())
    else {
        return;
    };
    let mut command = Command::new(mksquashfs);
    command.args([tree, theirs]).args(flags);
    let output = command.args(["-quiet", "-no-progress"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut command = Command::new(sqfsdiff);
    command.arg("--old").arg(theirs);
    command.arg("--new").arg(ours);
    let output = command.output().unwrap();
    // status 1 means differences
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    // older versions of mksquashfs store a small file of zeros, for which a basic inode will do
    let said = String::from_utf8_lossy(&output.stdout);
    let told = said
        .lines()
        .filter(|l| !l.ends_with("has an extended type"));
    assert_eq!(told.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn as_many_owners_as_there_can_be_and_one_more() {
    if !kernel_mounts("squashfs") {
        return;
    }
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.sqfs"));
    fs::create_dir(&source).unwrap();
    std::os::unix::fs::chown(&source, Some(0), Some(0)).unwrap();
    // 0 of the directory, and 1 to 65534
    for n in 0..32_767u32 {
        let path = source.join(n.to_string());
        fs::write(&path, "").unwrap();
        std::os::unix::fs::chown(&path, Some(2 * n + 1), Some(2 * n + 2)).unwrap();
    }
    build(&source, &image, &["-C", "lz4"]);
    let mounted = KernelMount::new("squashfs", &image, &work.path().join("mnt"));
    for n in (0..32_767u32).step_by(501).chain([32_766]) {
        let found = fs::metadata(mounted.0.join(n.to_string())).unwrap();
        assert_eq!((found.uid(), found.gid()), (2 * n + 1, 2 * n + 2));
    }
    drop(mounted);
    fs::remove_file(&image).unwrap();
    fs::write(source.join("one more"), "").unwrap();
    std::os::unix::fs::chown(source.join("one more"), Some(70_000), None).unwrap();
    let output = try_build(&source, &image, &["-q"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        words.contains("more than 65535 different owners"),
        "{output:?}"
    );
    assert!(!image.exists());
    // mksquashfs writes it, and counts none
    let Some(mksquashfs) = tools("mksquashfs").pop() else {
        return;
    };
    let mut command = Command::new(mksquashfs);
    command
        .args([&source, &image])
        .args(["-quiet", "-no-progress"]);
    let made = command.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    if fs::read(&image).unwrap()[26..28] != [0, 0] {
        skip("this mksquashfs refuses so many owners");
        return;
    }
    run([Path::new("check"), &image]);
    let extracted = work.path().join("extracted");
    run([Path::new("extract"), &image, Path::new("-o"), &extracted]);
    for name in ["0", "501", "32766", "one more"] {
        let ids = |dir: &Path| {
            let found = fs::metadata(dir.join(name)).unwrap();
            (found.uid(), found.gid())
        };
        assert_eq!(ids(&extracted), ids(&source), "{name}");
    }
}

#[test]
fn an_index_that_leads_astray_is_found_by_check() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.sqfs"));
    fs::create_dir(&source).unwrap();
    for n in 0..2000 {
        fs::write(source.join(format!("name-{n:04}")), "").unwrap();
    }
    let bytes = build(&source, &image, &["--no-compress=all"]);
    run([Path::new("check"), &image]);
    let table = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (start, end) = (table(64), table(72));
    let inodes = &bytes[start..end];
    let names: Vec<usize> = (0..inodes.len() - 9)
        .filter(|&at| inodes[at..].starts_with(b"name-"))
        .collect();
    assert!(names.len() > 2, "names in the index");
    for name in names {
        // the name smaller than all before it, and the offset in the listing a little further
        for (change, to) in [(name + 5, b'/'), (name - 12, inodes[name - 12] ^ 2)] {
            let mut damaged = bytes.clone();
            damaged[start + change] = to;
            fs::write(&image, damaged).unwrap();
            let output = try_run([Path::new("check"), &image]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{change}: {output:?}");
            let is_told = said.contains("index") || said.contains("not found by its name");
            assert!(is_told, "{said}");
        }
    }
}

#[test]
fn a_file_of_too_many_blocks_is_refused() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.sqfs"));
    fs::create_dir(&source).unwrap();
    let file = fs::File::create(source.join("endless")).unwrap();
    if file.set_len(i64::MAX as u64 - 4095).is_err() {
        return skip("this file system has no files of 8 EiB");
    }
    let output = try_build(&source, &image, &["-q"]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("endless") && said.contains("blocks of"),
        "{said}"
    );
}

#[test]
fn the_root_and_all_ids_change_as_by_mksquashfs() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small"]);
    let flags = [
        "-root-mode=1731",
        "-root-uid=7",
        "-root-gid=8",
        "-root-time=1000000001",
        "-uid-gid-offset=100000",
        "-noI",
        "-noId",
        "-noX",
        "-noF",
        "-noD",
    ];
    let output = try_build(&path("tree"), &path("no"), &["--id-offset=100000"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let refused = "4294967294: 4294967294 plus 100000 exceeds the largest owner or group id";
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert!(said.contains(refused) && !path("no").exists(), "{said}");
    fs::remove_dir_all(path("tree/owners")).unwrap();
    let ours = flags.map(|flag| format!("-{flag}"));
    let ours: Vec<&str> = ours.iter().map(String::as_str).chain(["-b128k"]).collect();
    let image = build(&path("tree"), &path("ours"), &ours);
    let other = &ours[..5];
    let named = [
        other,
        &["--no-compress=inodes,ids", "--no-compression", "-b128k"],
    ]
    .concat();
    assert!(image == build(&path("tree"), &path("named"), &named));
    let listed = run([
        Path::new("extract"),
        &path("ours"),
        Path::new("-o"),
        &path("extracted"),
    ]);
    assert!(listed.status.success());
    let root = fs::metadata(path("extracted")).unwrap();
    let found = (root.mode() & 0o7777, root.uid(), root.gid(), root.mtime());
    assert_eq!(found, (0o1731, 100_007, 100_008, 1_000_000_001));
    for file in walk(&path("tree")) {
        let extracted = path("extracted").join(file.strip_prefix(path("tree")).unwrap());
        let [old, new] = [&file, &extracted].map(|path| fs::metadata(path).unwrap());
        let ids = (old.uid() + 100_000, old.gid() + 100_000);
        assert_eq!((new.uid(), new.gid()), ids, "{}", file.display());
    }
    // older versions of mksquashfs cannot add to ids
    for (image, offset) in [("ours", true), ("unmoved", false)] {
        let is_asked = |flag: &&str| offset || !flag.contains("offset");
        let theirs = flags.iter().copied().filter(|flag| is_asked(flag));
        let theirs = theirs.flat_map(|flag| flag.split('='));
        if offset && !knows_offsets() {
            continue;
        }
        let ours: Vec<&str> = ours.iter().copied().filter(is_asked).collect();
        build(&path("tree"), &path(image), &ours);
        compare_with_mksquashfs(&path("tree"), &path(image), &path("theirs"), theirs);
        fs::remove_file(path("theirs")).unwrap();
    }
}

/// Returns whether the newest mksquashfs there is can add a number to owners.
fn knows_offsets() -> bool {
    tools("mksquashfs").pop().is_some_and(|mksquashfs| {
        let output = Command::new(mksquashfs).arg("-help-all").output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&words).contains("-uid-gid-offset")
    })
}

#[test]
fn reports_losses_and_useless_options() {
    let work = scratch();
    let source = work.path().join("tree");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("file"), "text").unwrap();
    let refused: [(&str, &[&str], &str); 9] = [
        ("squashfs", &["--time-resolution=1s"], "--time-resolution"),
        ("squashfs", &["--pack-metadata=all"], "--pack-metadata"),
        (
            "squashfs",
            &["--metadata-compression=lz4"],
            "--metadata-compression",
        ),
        ("squashfs", &["-B1"], "--lookback"),
        ("squashfs", &["-Ctext::zstd"], "CATEGORY::CODEC"),
        ("squashfs", &["-b2m"], "block size"),
        ("squashfs", &["-Cbrotli"], "SquashFS has no"),
        ("dwarfs", &["--no-fragments"], "--no-fragments"),
        ("dwarfs", &["--no-exports"], "--no-exports"),
    ];
    for (format, flags, words) in refused {
        let mut command = sinter();
        command
            .args(["build", "-f", format])
            .args(flags)
            .arg(&source);
        let output = command
            .arg("-o")
            .arg(work.path().join("no"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(words), "{flags:?}: {said}");
    }
    let strict = try_build(&source, &work.path().join("no"), &["--strict"]);
    assert_eq!(strict.status.code(), Some(4), "{strict:?}");
    let said = String::from_utf8_lossy(&strict.stderr);
    assert!(said.contains("fractions of a second of "), "{said}");
    let whole = try_build(
        &source,
        &work.path().join("yes"),
        &["--strict", "--set-time=1700000000"],
    );
    assert!(whole.status.success(), "{whole:?}");
    let names: Vec<_> = fs::read_dir(work.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(!names.contains(&OsStr::new("no").to_owned()), "{names:?}");
}

#[test]
fn an_image_behind_a_header_mounts_at_its_offset() {
    let (Some(shared), true) = (vectors(), kernel_mounts("squashfs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small"]);
    fs::write(path("header"), vec![b'#'; 4096 * 3]).unwrap();
    let header = format!("--header={}", path("header").display());
    let alone = build(&path("tree"), &path("alone"), &["-l1"]);
    let image = build(&path("tree"), &path("image"), &["-l1", &header]);
    let (front, rest) = image.split_at(4096 * 3);
    assert!(front.iter().all(|&byte| byte == b'#'));
    assert!(rest == alone, "what stands before an image changes it");
    fs::create_dir(path("mnt")).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "squashfs", "-o", "loop,ro,offset=12288"]);
    let mount = mount.args([path("image"), path("mnt")]).status();
    assert!(mount.unwrap().success());
    let compared = std::panic::catch_unwind(|| compare(&shared, LOST, &path("tree"), &path("mnt")));
    let umount = Command::new("umount").arg(path("mnt")).status();
    assert!(umount.unwrap().success() && compared.is_ok());
    let extracted = path("extracted");
    run([
        Path::new("extract"),
        &path("image"),
        Path::new("-o"),
        &extracted,
    ]);
    compare(&shared, LOST, &path("tree"), &extracted);
}

#[test]
fn compressed_content_is_still_tried() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.squashfs"));
    fs::create_dir(&source).unwrap();
    for index in 0..100 {
        let text = format!("{index}, and what follows is no gzip. ").repeat(90);
        let bytes = [b"\x1f\x8b\x08", text.as_bytes()].concat();
        fs::write(source.join(format!("{index}.gz")), bytes).unwrap();
    }
    let tried = build(&source, &image, &["--no-pad"]).len();
    // as asked for, it is stored without trying
    let stored = build(&source, &image, &["--no-pad", "--categorize"]).len();
    assert!(tried < 50_000 && stored > 290_000, "{tried} {stored}");
}

#[test]
fn an_entry_that_leads_nowhere_is_damage() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/file"), "text").unwrap();
    let bytes = build(&path("tree"), &path("image"), &["--no-compress=all"]);
    let listing = u64::from_le_bytes(bytes[72..80].try_into().unwrap()) as usize + 2;
    // the header's inodes stand behind the table; the type in the entry is not that of a file
    let kind = listing + 12 + 4;
    let lies: [(usize, u8, &[&str]); 4] = [
        (listing + 4 + 3, 1, &["ls", "extract", "convert"]),
        (kind, 1, &["extract"]),
        (kind, 3, &["extract"]),
        (kind, 4, &["extract"]),
    ];
    for (at, value, verbs) in lies {
        let mut damaged = bytes.clone();
        damaged[at] = value;
        fs::write(path("image"), damaged).unwrap();
        for &verb in verbs {
            let mut command = sinter();
            command.arg(verb).arg(path("image"));
            match verb {
                "ls" => command.arg("-lR"),
                _ => command.arg("-o").arg(path(&format!("{verb}-{at}-{value}"))),
            };
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            // extraction goes on after what it cannot read
            let code = output.status.code();
            assert!(matches!(code, Some(1 | 3)), "{verb}: {output:?}");
            assert!(said.contains("corrupt image"), "{verb}: {said}");
        }
    }
}
