//! Outputs of two files that belong together, killed at every call that writes or names files: what
//! is read afterwards is the old content, the new content, or an error; and the next run works.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::recorded::record;
use super::{command, files, numbers, sinter, work};
use sinterfs_testkit::noise;

/// Calls at which a command is killed.
const CALLS: [&str; 11] = [
    "rename",
    "renameat2",
    "linkat",
    "link",
    "unlink",
    "fsync",
    "write",
    "pwrite64",
    "openat",
    "mkdir",
    "mkdirat",
];

/// Runs a command that is killed at a call; returns whether it was.
fn killed(dir: &Path, call: &str, n: usize, args: &[&str]) -> bool {
    let mut strace = command("strace", dir);
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e"]);
    strace.arg(format!("trace={call}")).arg("-e");
    strace.arg(format!("inject={call}:signal=KILL:when={n}"));
    strace.arg(env!("CARGO_BIN_EXE_sinter")).args(args);
    let status = strace.output().unwrap().status;
    assert!(!status.success() || status.code() == Some(0));
    !status.success()
}

/// Puts files back as they were.
fn reset(dir: &Path, before: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in files(dir).into_keys() {
        fs::remove_file(path).unwrap();
    }
    for (path, content) in before {
        fs::write(path, content).unwrap();
    }
}

/// Two trees with other content, in which a part is the same.
fn trees(dir: &Path) -> [Vec<u8>; 2] {
    [1, 2].map(|seed| {
        let content = noise(seed, 50_000);
        let tree = dir.join(format!("tree{seed}"));
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("f"), &content).unwrap();
        fs::write(tree.join("same"), noise(9, 50_000)).unwrap();
        content
    })
}

/// Kills a command at every call, checks what is there, and that the command works afterwards.
fn at_every_call(dir: &Path, args: &[&str], mut check: impl FnMut(&str)) {
    let out = dir.join("out");
    let before = files(&out);
    let mut kills = 0;
    for call in CALLS {
        for n in numbers() {
            let what = format!("{args:?}: {call} {n}");
            if !killed(dir, call, n, args) {
                break;
            }
            kills += 1;
            check(&what);
            let again = sinter(dir, args);
            assert!(again.status.success(), "{what}: {again:?}");
            let names = fs::read_dir(&out).unwrap().count();
            assert_eq!(names, 2, "{what}: {:?}", files(&out).keys());
            reset(&out, &before);
        }
        reset(&out, &before);
    }
    assert!(kills > 10, "{args:?}: only {kills} kills");
}

#[test]
fn an_image_and_its_device_stay_together() {
    let Some(work) = work() else { return };
    let dir = work.path();
    let [old, new] = trees(dir);
    fs::create_dir(dir.join("out")).unwrap();
    let build = |tree: &'static str| {
        let args = [
            "build",
            "--force",
            "-q",
            "-f",
            "erofs",
            "-Cnone",
            tree,
            "-o",
            "out/image",
        ];
        [&args[..], &["--blob-device", "out/device"]].concat()
    };
    assert!(sinter(dir, &build("tree1")).status.success());
    at_every_call(dir, &build("tree2"), |what| {
        let read = sinter(dir, &["cat", "out/image", "f"]);
        assert!(read.status.success(), "{what}: {read:?}");
        assert!(
            read.stdout == old || read.stdout == new,
            "{what}: wrong bytes"
        );
        let checked = sinter(dir, &["check", "--deep", "-q", "out/image"]);
        assert!(checked.status.success(), "{what}: {checked:?}");
        let by_name = ["cat", "out/image", "f", "--device", "out/device"];
        let read = sinter(dir, &by_name);
        assert!(
            read.stdout == old || read.stdout == new,
            "{what}: wrong bytes"
        );
    });
}

#[test]
fn a_device_without_identity_is_replaced_when_its_image_is_gone() {
    let Some(work) = work() else { return };
    let dir = work.path();
    let [old, new] = trees(dir);
    let out = dir.join("out");
    fs::create_dir(&out).unwrap();
    let args = [
        "build",
        "--force",
        "-q",
        "-f",
        "erofs",
        "-Cnone",
        "tree1",
        "-o",
        "out/image",
        "--blob-device",
        "out/device",
    ];
    assert!(sinter(dir, &args).status.success());
    // as other programs write them
    for name in ["image", "device"] {
        let mut bytes = fs::read(out.join(name)).unwrap();
        let is_mark = |bytes: &[u8]| bytes == b"SINTERDV";
        let at = bytes.windows(8).position(is_mark).unwrap();
        bytes[at..at + 24].fill(0);
        if name == "image" {
            let sum = checksum(&bytes);
            bytes[1028..1032].copy_from_slice(&sum.to_le_bytes());
        }
        fs::write(out.join(name), bytes).unwrap();
    }
    let mut args = args;
    args[6] = "tree2";
    at_every_call(dir, &args, |what| {
        let read = sinter(dir, &["cat", "out/image", "f"]);
        let is_right = read.stdout == old || read.stdout == new;
        assert!(is_right || !read.status.success(), "{what}: wrong bytes");
    });
}

/// CRC32C of the superblock's block, without its own bytes.
fn checksum(image: &[u8]) -> u32 {
    let mut block = image[1024..4096].to_vec();
    block[4..8].fill(0);
    let mut sum = u32::MAX;
    for byte in block {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    sum
}

#[test]
fn parity_restores_its_own_image_and_no_other() {
    let Some(work) = work() else { return };
    let dir = work.path();
    let [old, new] = trees(dir);
    let out = dir.join("out");
    fs::create_dir(&out).unwrap();
    let build = |tree: &'static str| {
        vec![
            "build",
            "--force",
            "-q",
            tree,
            "-o",
            "out/i.dwarfs",
            "--parity",
            "100",
        ]
    };
    assert!(sinter(dir, &build("tree1")).status.success());
    let [before, image] = [out.join("i.dwarfs"), out.join("i.dwarfs")];
    let first = fs::read(before).unwrap();
    at_every_call(dir, &build("tree2"), |what| {
        let bytes = fs::read(&image).unwrap();
        let content = if bytes == first { &old } else { &new };
        let read = sinter(dir, &["cat", "out/i.dwarfs", "f"]);
        assert!(read.stdout == *content, "{what}: {read:?}");
        let mut damaged = bytes.clone();
        damaged[20_000] ^= 1;
        fs::write(&image, damaged).unwrap();
        let repaired = sinter(dir, &["repair", "-q", "out/i.dwarfs"]);
        let now = fs::read(&image).unwrap();
        assert!(
            !repaired.status.success() || now == bytes,
            "{what}: {repaired:?}"
        );
        let kept = out.join("i.dwarfs.damaged");
        if kept.exists() {
            fs::remove_file(kept).unwrap();
        }
    });
}

#[test]
fn a_composefs_image_and_its_objects_stay_together() {
    let Some(work) = work() else { return };
    let dir = work.path();
    let [old, new] = trees(dir);
    let build = |tree: &'static str, image: &'static str, store: &'static str| {
        let args = [
            "build",
            "--force",
            "-q",
            "-f",
            "composefs",
            tree,
            "-o",
            image,
        ];
        [&args[..], &["--digest-store", store]].concat()
    };
    // all objects of both
    fs::create_dir(dir.join("out")).unwrap();
    for tree in ["tree2", "tree1"] {
        let made = sinter(dir, &build(tree, "image", "all"));
        assert!(made.status.success(), "{made:?}");
    }
    let all = files(&dir.join("all"));
    let is_hidden = |path: &Path| {
        let mut names = path.components();
        names.any(|name| name.as_os_str().as_encoded_bytes().starts_with(b"."))
    };
    assert!(
        sinter(dir, &build("tree1", "out/image", "out/store"))
            .status
            .success()
    );
    at_every_call(dir, &build("tree2", "out/image", "out/store"), |what| {
        let read = sinter(dir, &["cat", "out/image", "f", "--objects", "out/store"]);
        assert!(
            read.stdout == old || read.stdout == new,
            "{what}: wrong bytes: {read:?}"
        );
        let check = [
            "check",
            "--deep",
            "-q",
            "out/image",
            "--objects",
            "out/store",
        ];
        let checked = sinter(dir, &check);
        assert!(checked.status.success(), "{what}: {checked:?}");
        let store = dir.join("out/store");
        for (path, content) in files(&store) {
            let name = path.strip_prefix(&store).unwrap();
            let is_whole = all.get(&dir.join("all").join(name)) == Some(&content);
            assert!(is_whole || is_hidden(name), "{what}: {}", name.display());
        }
    });
}

#[test]
fn a_wim_file_is_the_old_one_or_the_new_one() {
    let Some(work) = work() else { return };
    let dir = work.path();
    let [old, new] = trees(dir);
    let out = dir.join("out");
    fs::create_dir(&out).unwrap();
    // names that are in use for parts; one file is written
    fs::write(out.join("image2.swm"), "other").unwrap();
    let build = |tree: &'static str| {
        [
            "build",
            "--force",
            "-q",
            "-f",
            "wim",
            tree,
            "-o",
            "out/image.swm",
        ]
    };
    assert!(sinter(dir, &build("tree1")).status.success());
    at_every_call(dir, &build("tree2"), |what| {
        let read = sinter(dir, &["cat", "out/image.swm", "f"]);
        assert!(read.stdout == old || read.stdout == new, "{what}: {read:?}");
        let checked = sinter(dir, &["check", "--deep", "-q", "out/image.swm"]);
        assert!(checked.status.success(), "{what}: {checked:?}");
        assert_eq!(
            fs::read(out.join("image2.swm")).unwrap(),
            b"other",
            "{what}"
        );
    });
}

#[test]
fn power_cuts_leave_an_image_with_its_device() {
    let Some(work) = work() else { return };
    let dir = work.path();
    trees(dir);
    let args = |tree: &'static str| {
        let args = ["build", "--force", "-q", "-f", "erofs", tree, "-o", "image"];
        [&args[..], &["--blob-device", "device"]].concat()
    };
    assert!(sinter(dir, &args("tree1")).status.success());
    let read = |name: &str| fs::read(dir.join(name)).unwrap();
    let old = [read("image"), read("device")];
    let recorded = record(dir, &args("tree2"));
    let new = [read("image"), read("device")];
    super::power_cuts::at_every_step(&recorded, |state, is_end| {
        let image = state.get(Path::new("image")).expect("an image");
        let is_new = *image == new[0];
        assert!(is_new || (*image == old[0] && !is_end), "no image is whole");
        let own = if is_new { &new[1] } else { &old[1] };
        let is_kept = |path: &Path| path.to_string_lossy().starts_with(".device.");
        let is_there = state.get(Path::new("device")) == Some(own)
            || state
                .iter()
                .any(|(path, content)| is_kept(path) && content == own);
        assert!(
            is_there,
            "the image has lost its device; new: {is_new}, end: {is_end}"
        );
    });
}
