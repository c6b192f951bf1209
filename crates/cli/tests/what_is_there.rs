//! What is there already is not lost: file systems on devices, files in the way of others, and what
//! was not complete is not taken for complete. Whom a mount is not for reads nothing of it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sinterfs_testkit::noise;
use support::{is_root, run, scratch, shell, sinter, skip, try_run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sinter");

/// A function of the shell for what must fail, which `set -e` does not look at behind `!`.
const REFUSED: &str = "refused() { if \"$@\"; then echo \"no failure: $*\" >&2; exit 1; fi; }";

/// Runs a script in a directory; fails if one of its commands does.
fn script(work: &tempfile::TempDir, text: &str) {
    shell(work.path(), &format!("{REFUSED}\n{text}"));
}

/// Makes a directory that all users may enter, with a tree `t` and an image `i` of it.
fn place() -> tempfile::TempDir {
    let work = scratch();
    fs::set_permissions(work.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(work.path().join("t")).unwrap();
    fs::write(work.path().join("t/file"), "content").unwrap();
    fs::write(work.path().join("t/other"), noise(1, 300_000)).unwrap();
    shell(work.path(), &format!("{PROGRAM} build -q -l1 t -o i"));
    work
}

#[test]
fn a_block_device_is_replaced_when_asked_and_not_in_use() {
    if !is_root() {
        return;
    }
    let work = place();
    script(
        &work,
        &format!(
            "truncate -s 16M disk
             device=$(losetup --find --show disk)
             trap 'umount m 2>/dev/null || :; losetup --detach $device' EXIT
             PATH=$PATH:/usr/sbin mkfs.ext4 -q $device
             mkdir m
             refused {PROGRAM} build -q t -o $device 2>said
             grep -q -e --force said
             mount $device m
             echo precious >m/file
             refused {PROGRAM} build -q --force t -o $device 2>said
             grep -q busy said
             umount m
             mount $device m
             grep -q precious m/file
             umount m
             {PROGRAM} build -q --force t -o $device
             {PROGRAM} ls $device | grep -q other"
        ),
    );
}

#[test]
fn a_file_stays_if_nothing_can_take_its_place() {
    if !is_root() {
        return;
    }
    let work = place();
    script(
        &work,
        &format!(
            "mkdir special target
             mknod special/x c 1 3
             {PROGRAM} build -q special -o special.dwarfs
             echo precious >target/x
             chown -R 65534 target
             refused setpriv --reuid 65534 --clear-groups \
                 {PROGRAM} extract -q --force special.dwarfs -o target
             grep -q precious target/x
             test $(ls -A target) = x
             {PROGRAM} extract -q --force special.dwarfs -o target
             test -c target/x
             test $(ls -A target) = x"
        ),
    );
}

#[test]
fn hard_links_and_symlinks_take_the_place_of_files() {
    let work = place();
    script(
        &work,
        &format!(
            "ln t/file t/link
             ln -s file t/symlink
             {PROGRAM} build -q t -o links
             {PROGRAM} extract -q links -o to
             echo x >to/link.new; mv to/link.new to/link
             rm to/symlink; echo x >to/symlink
             {PROGRAM} extract -q --force links -o to
             {PROGRAM} extract -q --force links -o to
             {PROGRAM} diff links to
             test $(stat -c %h to/file) = 2
             test $(ls -A to | wc -l) = 4"
        ),
    );
}

#[test]
fn leftovers_of_a_killed_extraction_are_not_kept() {
    let work = place();
    let tree = work.path().join("large");
    fs::create_dir(&tree).unwrap();
    let content = noise(7, 80 << 20);
    fs::write(tree.join("file"), &content).unwrap();
    let (image, target) = (work.path().join("large.dwarfs"), work.path().join("to"));
    run([
        Path::new("build"),
        "-ql1".as_ref(),
        &tree,
        "-o".as_ref(),
        &image,
    ]);
    let extract = |flags: &[&str]| {
        let mut command = sinter();
        command.args(["extract", "-q"]).args(flags).arg(&image);
        command.arg("-o").arg(&target);
        command
    };
    let mut child = extract(&[]).spawn().unwrap();
    let begun = Instant::now();
    let is_there = || fs::read_dir(&target).is_ok_and(|mut entries| entries.next().is_some());
    while !is_there() && begun.elapsed() < Duration::from_secs(60) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(extract(&["--keep"]).status().unwrap().success());
    assert!(fs::read(target.join("file")).unwrap() == content);
}

#[test]
fn one_proof_does_not_replace_another() {
    let work = place();
    let at = |name: &str| work.path().join(name).to_str().unwrap().to_owned();
    let (image, key, dir) = (at("i"), at("k"), at("m"));
    fs::create_dir(&dir).unwrap();
    run(["keygen", "--no-password", &key]);
    run(["sign", &image, "--key", &at("k.key")]);
    let wrong = "ab".repeat(32);
    let signed = format!("signed_by={}", at("k.pub"));
    for options in [
        &["--digest", &wrong, "-o", &signed][..],
        &["-o", &format!("digest={wrong},{signed}")],
        &["-o", &format!("{signed},digest={wrong}")],
    ] {
        let refused = try_run([&["mount", &image, &dir], options].concat());
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

#[test]
fn others_read_nothing_of_a_mount_for_its_owner_and_root() {
    if !is_root() {
        return;
    }
    let work = place();
    script(
        &work,
        &format!(
            "mkdir m
             {PROGRAM} mount --fuse i m -o allow_root
             trap '{PROGRAM} umount m' EXIT
             ls -l m
             cat m/* >/dev/null
             other='setpriv --reuid 4001 --regid 4001 --clear-groups'
             refused $other cat m/other >/dev/null 2>&1
             refused $other ls m >/dev/null 2>&1"
        ),
    );
}

#[test]
fn access_lists_deny_access_that_group_bits_allow() {
    if !is_root() {
        return;
    }
    if !Command::new("setfacl")
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success())
    {
        return skip("no setfacl");
    }
    let work = place();
    script(
        &work,
        &format!(
            "mkdir m
             chgrp 5000 t/file
             chmod 660 t/file
             setfacl -m u:4001:rw,g::---,m::rw t/file
             {PROGRAM} build -q --force t -o i
             {PROGRAM} mount --fuse i m -o allow_other
             trap '{PROGRAM} umount m' EXIT
             refused setpriv --reuid 4002 --regid 5000 --clear-groups cat m/file 2>/dev/null
             setpriv --reuid 4001 --regid 4001 --clear-groups cat m/file | grep -q content"
        ),
    );
}
