//! Mounts as the system makes them: by mount(8), by lines of fstab(5) and by mount.fuse(8), with
//! the program under the names that the package installs; and those with overlayfs, which umount(8)
//! has to end as a whole.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod autofs;
mod lists;
mod self_mount;
#[path = "../support/mod.rs"]
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
no_server() {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        pgrep -f -- "--report-ready.*$WORK" > /dev/null || return 0
        sleep 1
    done
    return 1
}
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
fn an_overlay_is_written_to_and_leaves_nothing_but_its_directory() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        image="$WORK/an image.dwarfs"
        for way in --kernel --fuse; do
            upper="$WORK/upper$way"
            sinter mount $way --overlay "$upper" "$image" "$WORK/dir"
            echo more >> "$WORK/dir/file"
            echo new > "$WORK/dir/new"
            mkdir "$WORK/dir/empty"
            [ "$(sinter mounts | grep -F "$WORK")" = "$image on $WORK/dir (overlay)" ] ||
                fail "list: $(sinter mounts)"
            # nothing else is visible
            [ "$(findmnt -rno TARGET | grep -c "$WORK")" = 1 ] || fail "$(findmnt -rno TARGET)"
            sinter mount $way --overlay "$upper" "$image" "$WORK/other" 2> "$WORK/errors" &&
                fail "one upper layer twice"
            grep -q "another mount uses this upper layer" "$WORK/errors" ||
                fail "$(cat "$WORK/errors")"
            umount "$WORK/dir"
            no_server || fail "a server goes on"
            [ "$(cat "$upper/upper/file")" = "$(printf 'content\nmore')" ] || fail "upper layer"
            # changes are still there, and can be taken back
            sinter mount $way "$image" "$WORK/dir" -o "rw,overlay=$upper"
            [ "$(cat "$WORK/dir/new")" = new ] || fail "changes are lost"
            rm "$WORK/dir/file"
            [ "$(ls "$WORK/dir")" = "$(printf 'empty\nnew')" ] || fail "removal"
            sinter unmount "$WORK/dir"
            sinter mount $way --overlay tmpfs "$image" "$WORK/dir"
            echo new > "$WORK/dir/new"
            [ "$(cat "$WORK/dir/file")" = content ] || fail "content under memory"
            sinter umount --all
            [ "$(findmnt -rno TARGET | grep -c "$WORK")" = 0 ] || fail "umount --all"
            no_server || fail "a server goes on after umount --all"
            [ "$(ls -A "$WORK/dir")" = "" ] || fail "left in the mount point"
        done
        # the root of the image, its attributes
        chmod 0751 "$WORK/tree"; chown 12:34 "$WORK/tree"; touch -d @1000000000 "$WORK/tree"
        setfattr -n user.color -v red "$WORK/tree" 2> /dev/null || echo "no user attributes"
        sinter build "$WORK/tree" -o "$WORK/root.dwarfs" -q
        for way in --kernel --fuse; do
            sinter mount $way --overlay "$WORK/root$way" "$WORK/root.dwarfs" "$WORK/dir"
            [ "$(stat -c %a,%u,%g,%Y "$WORK/dir")" = 751,12,34,1000000000 ] ||
                fail "root: $(stat -c %a,%u,%g,%Y "$WORK/dir")"
            [ "$(getfattr -d "$WORK/root$way/upper" 2> /dev/null | grep user)" = \
                "$(getfattr -d "$WORK/tree" 2> /dev/null | grep user)" ] || fail "root attributes"
            umount "$WORK/dir"
        done
        "#,
    );
}

#[test]
fn images_are_layers_the_first_on_top() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        mkdir "$WORK/patch" "$WORK/patch/sub" "$WORK/tree/sub"
        echo patched > "$WORK/patch/file"; echo a > "$WORK/patch/sub/a"
        echo b > "$WORK/tree/sub/b"
        # hides `gone` of the layers below
        echo gone > "$WORK/tree/gone"; mknod "$WORK/patch/gone" c 0 0
        sinter build "$WORK/patch" -o "$WORK/patch.squashfs" -q
        sinter build "$WORK/tree" -o "$WORK/base.dwarfs" -q
        sinter build "$WORK/tree" -o "$WORK/base.erofs" -q
        for way in --kernel --fuse ""; do
            sinter mount $way "$WORK/patch.squashfs" "$WORK/base.dwarfs" "$WORK/base.erofs" \
                "$WORK/dir"
            [ "$(cat "$WORK/dir/file")" = patched ] || fail "order $way"
            [ "$(ls "$WORK/dir" "$WORK/dir/sub" | tr '\n' ' ')" = \
                "$WORK/dir: file sub  $WORK/dir/sub: a b " ] || fail "$(ls -R "$WORK/dir")"
            touch "$WORK/dir/new" 2> /dev/null && fail "it can be written to"
            case "$(sinter mounts | grep -F "$WORK")" in
                "$WORK/patch.squashfs:$WORK/base.dwarfs:$WORK/base.erofs on $WORK/dir (overlay)") ;;
                *) fail "list: $(sinter mounts)" ;;
            esac
            umount "$WORK/dir"
            no_server || fail "a server goes on $way"
            sinter mount $way --overlay tmpfs "$WORK/patch.squashfs" "$WORK/base.dwarfs" "$WORK/dir"
            echo new > "$WORK/dir/sub/b"
            [ "$(cat "$WORK/dir/sub/a" "$WORK/dir/sub/b")" = "$(printf 'a\nnew')" ] || fail "both"
            sinter umount "$WORK/dir"
            no_server || fail "a server goes on with $way and memory"
        done
        "#,
    );
}

#[test]
fn an_overlay_that_fails_leaves_nothing() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        image="$WORK/an image.dwarfs"
        refused() {
            want="$1"; shift
            "$@" 2> "$WORK/errors" && fail "not refused: $*"
            grep -qF -- "$want" "$WORK/errors" || fail "$*: $(cat "$WORK/errors")"
            [ "$(findmnt -rno TARGET | grep -c "$WORK")" = 0 ] || fail "left after $*"
            no_server || fail "a server goes on after $*"
        }
        refused "inside the mount point" sinter mount --overlay "$WORK/dir/u" "$image" "$WORK/dir"
        [ -z "$(ls -A "$WORK/dir")" ] || fail "directories were left"
        refused "does not exist" sinter mount --overlay "$WORK/u" "$image" "$WORK/nowhere"
        refused "for one image only" sinter mount "$image" "$image" "$WORK/dir" --offset 0
        refused "for one image only" sinter mount "$image" "$image" "$WORK/dir" --stats "$WORK/s"
        refused "applies only to FUSE" sinter mount "$image" "$WORK/dir" -o allow_root,overlay=tmpfs
        refused "contradicts the overlay" sinter mount "$image" "$WORK/dir" -o ro,overlay=tmpfs
        head -c 300 "$image" > "$WORK/cut.dwarfs"
        refused "cut.dwarfs" sinter mount --overlay "$WORK/u" "$WORK/cut.dwarfs" "$image" \
            "$WORK/dir"
        [ ! -e "$WORK/u" ] || fail "the upper layer was left"
        # overlayfs cannot write to an upper layer on another image
        sinter mount "$image" "$WORK/other"
        sinter mount --overlay "$WORK/other/u" "$image" "$WORK/dir" 2> "$WORK/errors" &&
            fail "an upper layer without a place to write"
        grep -q "cannot make the directory" "$WORK/errors" || fail "$(cat "$WORK/errors")"
        sinter umount "$WORK/other"
        # without the capability
        chmod -R a+rX "$WORK"; mkdir "$WORK/mine"; chown 1000 "$WORK/mine"
        command -v setpriv > /dev/null || fail "no setpriv"
        refused "CAP_SYS_ADMIN" setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps -all \
            "$WORK/programs/sinter" mount --overlay tmpfs "$image" "$WORK/mine"
        # a user namespace has it
        unshare --user --map-root-user --mount sh -c '
            "$0" mount --overlay tmpfs "$1" "$2" && echo new > "$2/new" && cat "$2/file" "$2/new" &&
                umount "$2"
        ' "$WORK/programs/sinter" "$image" "$WORK/dir" > "$WORK/found" || fail "in a user namespace"
        [ "$(cat "$WORK/found")" = "$(printf 'content\nnew')" ] || fail "$(cat "$WORK/found")"
        no_server || fail "a server goes on after the namespace has ended"
        "#,
    );
}

#[test]
fn systemd_accepts_our_units() {
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
