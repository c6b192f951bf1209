//! Mounts as the system makes them: by mount(8), by lines of fstab(5) and by mount.fuse(8), with
//! the program under the names that the package installs.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use sinterfs_testkit::skip;
use support::scratch;

const NAMES: [&str; 3] = ["mount.sinter", "mount.fuse.sinter", "mount.dwarfs"];

/// What every script begins with: helpers of mount(8) are only looked for in /sbin, so this covers
/// it in a mount namespace of its own.
const PROLOGUE: &str = r#"
set -eu
fail() { echo "failed: $1" >&2; exit 1; }
mount -t overlay overlay -o "lowerdir=$WORK/helpers:$(readlink -f /sbin)" "$(readlink -f /sbin)"
export PATH="$WORK/programs:$PATH"
source_of() { findmnt -no SOURCE --mountpoint "$1"; }
"#;

fn script(work: &Path, text: &str) -> Option<Output> {
    let possible = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
    if !possible {
        skip("mounting needs root and /dev/fuse");
        return None;
    }
    let sinter = Path::new(env!("CARGO_BIN_EXE_sinter"));
    for dir in ["helpers", "programs", "dir", "other", "tree"] {
        fs::create_dir(work.join(dir)).unwrap();
    }
    for name in NAMES {
        symlink(sinter, work.join("helpers").join(name)).unwrap();
    }
    // mount.fuse(8) looks for programs there, too
    symlink(sinter, work.join("helpers/dwarfs")).unwrap();
    for name in ["sinter", "dwarfs", "squashfuse"] {
        symlink(sinter, work.join("programs").join(name)).unwrap();
    }
    fs::write(work.join("tree/file"), "content\n").unwrap();
    support::build(
        "dwarfs",
        &work.join("tree"),
        &work.join("an image.dwarfs"),
        &[],
    );
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &format!("{PROLOGUE}{text}")])
        .env("WORK", work)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    Some(output)
}

#[test]
fn lines_of_fstab_are_mounted_once_and_unmounted() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        cat > "$WORK/fstab" <<END
$WORK/an\040image.dwarfs $WORK/dir sinter ro,nofail,users,x-systemd.automount 0 0
$WORK/an\040image.dwarfs $WORK/other fuse.dwarfs ro,nofail,_netdev,uid=7 0 0
END
        mount -a -T "$WORK/fstab"
        [ "$(cat "$WORK/dir/file" "$WORK/other/file")" = "$(printf 'content\ncontent')" ] || fail content
        [ "$(source_of "$WORK/dir")" = "$WORK/an image.dwarfs" ] || fail "source $(source_of "$WORK/dir")"
        [ "$(source_of "$WORK/other")" = "$WORK/an image.dwarfs" ] || fail "source of other"
        [ "$(stat -c %u "$WORK/other/file")" = 7 ] || fail owner
        [ "$(sinter mount | grep -c "$WORK")" = 2 ] || fail list
        # a second time, nothing is mounted again
        mount -a -T "$WORK/fstab"
        [ "$(findmnt -rno TARGET | grep -c "$WORK")" = 2 ] || fail "mounted twice"
        umount "$WORK/dir"
        umount "$WORK/other"
        [ "$(findmnt -rno TARGET | grep -c "$WORK")" = 0 ] || fail unmounted
        "#,
    );
}

#[test]
fn mount_finds_the_program_by_the_type() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        image="$WORK/an image.dwarfs"
        for type in sinter fuse.sinter dwarfs; do
            mount -t $type "$image" "$WORK/dir" -o ro,x-anything=1,cachesize=64m
            [ "$(cat "$WORK/dir/file")" = content ] || fail "content by $type"
            sinter umount "$WORK/dir"
        done
        # -f mounts nothing, -s takes unknown options
        mount -f -t sinter "$image" "$WORK/dir"
        [ -z "$(source_of "$WORK/dir" || true)" ] || fail "a fake mount"
        mount -t sinter "$image" "$WORK/dir" -o nonsense 2> "$WORK/errors" && fail "unknown options"
        grep -q 'unknown mount option `nonsense`' "$WORK/errors" || fail "$(cat "$WORK/errors")"
        mount -s -t sinter "$image" "$WORK/dir" -o nonsense
        dwarfs "$image" "$WORK/other" -o ro,tidy_strategy=time,tidy_max_age=10m,workers=2
        sinter unmount --all
        [ "$(findmnt -rno TARGET | grep -c "$WORK")" = 0 ] || fail "unmount --all"
        "#,
    );
}

#[test]
fn unused_mounts_are_unmounted() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        image="$WORK/an image.dwarfs"
        sinter mount "$image" "$WORK/dir" --idle-unmount 1
        squashfuse "$image" "$WORK/other" -o timeout=1,auto_unmount
        exec 3< "$WORK/other/file"
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
            sleep 1
            # unlike findmnt, this does not look at the mount point, which would be a use
            grep -F " $WORK/dir " /proc/self/mounts > "$WORK/found" || break
        done
        [ ! -s "$WORK/found" ] || fail "still mounted"
        findmnt -n "$WORK/other" > "$WORK/found" || fail "unmounted while in use"
        exec 3<&-
        # whoever kills the server finds nothing to clean up
        pkill -9 -f -- "--report-ready.*$WORK/other" || fail "no server"
        for i in 1 2 3 4 5 6 7 8 9 10; do
            findmnt -n "$WORK/other" > "$WORK/found" || break
            sleep 1
        done
        [ ! -s "$WORK/found" ] || fail "not unmounted: $(cat "$WORK/found")"
        "#,
    );
}

#[test]
fn units_are_what_systemd_takes() {
    let work = scratch();
    let work = work.path();
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        skip("no systemd-analyze");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let unit = fs::read_to_string(root.join("packaging/sinter@.service")).unwrap();
    let page = fs::read_to_string(root.join("docs/fstab.md")).unwrap();
    let mount = page.split("```ini\n").nth(1).unwrap();
    let mount = mount.split("```").next().unwrap();
    let program = env!("CARGO_BIN_EXE_sinter");
    let units = [
        (
            "sinter@mnt-data.service",
            unit.replace("/usr/bin/sinter", program),
        ),
        ("mnt-data.mount", mount.to_owned()),
    ];
    for (name, text) in units {
        let path = work.join(name);
        fs::write(&path, text).unwrap();
        let mut analyze = Command::new("systemd-analyze");
        let output = analyze.args(["verify", "--man=no"]).arg(&path).output();
        let output = output.unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && words.is_empty(),
            "{name}: {words}"
        );
    }
}
