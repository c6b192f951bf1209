//! Maps of autofs, by the real automount(8).

use std::fs;
use std::process::Command;

use super::script;
use super::support::{scratch, skip};

#[test]
fn automount_mounts_on_access_and_unmounts_when_idle() {
    let systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !systems.split_whitespace().any(|name| name == "autofs") {
        skip("the kernel has no autofs");
        return;
    }
    if Command::new("automount").arg("--version").output().is_err() {
        skip("no automount (package autofs)");
        return;
    }
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    // the lines of docs/fstab.md
    let page = include_str!("../../../../docs/fstab.md");
    let map = page.split("# /etc/auto.images\n").nth(1).unwrap();
    let map = map.split("```").next().unwrap();
    fs::write(work.join("page"), map).unwrap();
    script(
        work,
        r#"
        mount --make-rprivate /
        mkdir "$WORK/auto"
        cp "$WORK/an image.dwarfs" "$WORK/data.dwarfs"
        sinter build "$WORK/tree" -o "$WORK/tools.sqfs" -q 2> "$WORK/errors"
        sed "s#/srv/#$WORK/#" "$WORK/page" > "$WORK/map"
        [ "$(grep -c "$WORK" "$WORK/map")" = 2 ] || fail "the page: $(cat "$WORK/map")"
        echo "spaced -fstype=sinter,ro \":$WORK/an image.dwarfs\"" >> "$WORK/map"
        echo "$WORK/auto $WORK/map --timeout=1" > "$WORK/master"
        # in a process group of its own, whose members it does not mount for
        setsid automount --foreground --debug --pid-file "$WORK/pid" "$WORK/master" \
            > "$WORK/log" 2>&1 &
        automount=$!
        trap 'kill -KILL $automount' EXIT
        for i in 1 2 3 4 5 6 7 8 9 10; do
            findmnt -n "$WORK/auto" > "$WORK/found" && break
            sleep 1
        done
        for key in data tools spaced; do
            timeout 20 cat "$WORK/auto/$key/file" > "$WORK/found" || fail "$key: $(cat "$WORK/log")"
            [ "$(cat "$WORK/found")" = content ] || fail "content of $key"
        done
        [ "$(sinter mounts | grep -c "$WORK/auto/")" = 3 ] || fail "$(sinter mounts)"
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
            grep -F "$WORK/auto/" /proc/self/mounts > "$WORK/found" || break
            sleep 1
        done
        [ ! -s "$WORK/found" ] || fail "not unmounted: $(cat "$WORK/log")"
        no_server || fail "a server goes on"
        # and again
        [ "$(timeout 20 cat "$WORK/auto/data/file")" = content ] || fail "a second time"
        sinter umount "$WORK/auto/data"
        kill -TERM $automount
        trap - EXIT
        wait $automount || fail "automount: $(cat "$WORK/log")"
        "#,
    );
}
