//! Lists of images, mounted by one server.

use std::path::Path;

use sinterfs_testkit::http_server::HttpServer;

use super::script;
use super::support::{self, scratch};

#[test]
fn a_list_is_mounted_by_one_server_and_ends_one_by_one() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        mkdir "$WORK/third"
        sinter build "$WORK/tree" -o "$WORK/b.squashfs" -q
        cat > "$WORK/list" <<END
# images
$WORK/an\040image.dwarfs $WORK/dir
$WORK/b.squashfs	$WORK/other  uid=7
$WORK/missing.dwarfs $WORK/third
$WORK/missing.dwarfs $WORK/third nofail
$WORK/b.squashfs $WORK/third noauto

$WORK/b.squashfs
END
        mounts() { findmnt -rno TARGET | grep -c "$WORK" || true; }
        servers() { pgrep -fc -- "--report-ready.*$WORK" || true; }
        for way in --kernel --fuse; do
            for time in first second; do
                code=0
                sinter mount $way --all "$WORK/list" 2> "$WORK/errors" || code=$?
                [ $code = 1 ] || fail "exit code $code of the $time"
                cut -d : -f 1-4 "$WORK/errors" > "$WORK/found"
                [ "$(cat "$WORK/found")" = "sinter: $WORK/list:8: the directory is missing
sinter: $WORK/list:4: $WORK/missing.dwarfs" ] || fail "$(cat "$WORK/errors")"
                [ "$(mounts)" = 2 ] || fail "$time: $(findmnt -rno TARGET)"
            done
            [ "$(cat "$WORK/dir/file" "$WORK/other/file")" = "$(printf 'content\ncontent')" ] ||
                fail content
            [ "$(stat -c %u "$WORK/other/file")" = 7 ] || fail "options of a line"
            [ "$(servers)" = 1 ] || fail "servers: $(servers)"
            [ "$(sinter mounts | grep -c "$WORK")" = 2 ] || fail "$(sinter mounts)"
            umount "$WORK/dir"
            [ "$(cat "$WORK/other/file")" = content ] || fail "the other one"
            [ "$(mounts)" = 1 ] || fail "unmounted both"
            umount "$WORK/other"
            no_server || fail "a server goes on $way"
        done
        # a list from a pipe, names relative to the directory; a signal ends all of its mounts
        cd "$WORK"
        printf 'b.squashfs dir timeout=1000\nb.squashfs other cachesize=1m' > relative
        cat relative | sinter mount --all - -o ro --cache-size 8m
        [ "$(cat dir/file other/file)" = "$(printf 'content\ncontent')" ] || fail "of a pipe"
        cd /
        pkill -TERM -f -- "[-]-report-ready --all - -o ro --cache-size 8m"
        for i in 1 2 3 4 5 6 7 8 9 10; do [ "$(mounts)" = 0 ] || sleep 1; done
        [ "$(mounts)" = 0 ] || fail "after a signal: $(findmnt -rno TARGET)"
        # nothing can be mounted
        code=0
        sinter mount --all "$WORK/nowhere" 2> "$WORK/errors" || code=$?
        [ $code = 5 ] || fail "exit code $code without a list"
        echo "$WORK/missing.dwarfs $WORK/dir" > "$WORK/list"
        sinter mount --all "$WORK/list" 2>> "$WORK/errors" && fail "success of nothing"
        grep -q "no image of the list was mounted" "$WORK/errors" || fail "$(cat "$WORK/errors")"
        echo "$WORK/b.squashfs $WORK/dir idle=5" > "$WORK/list"
        sinter mount --all "$WORK/list" 2> "$WORK/errors" && fail "idle of one"
        grep -q "list:1: mount option .idle." "$WORK/errors" || fail "$(cat "$WORK/errors")"
        sinter mount --all "$WORK/list" --offset 5 2> "$WORK/errors" && fail "an offset for all"
        grep -q "the offset can be given for one image only" "$WORK/errors" ||
            fail "$(cat "$WORK/errors")"
        echo "$WORK/b.squashfs $WORK/dir" > "$WORK/list"
        sinter mount --dry-run --all "$WORK/list"
        [ "$(mounts)" = 0 ] || fail "a dry run"
        "#,
    );
}

#[test]
fn a_list_names_urls() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    let server = HttpServer::start();
    let tree = work.join("remote");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("file"), "from afar\n").unwrap();
    let image = support::build("dwarfs", &tree, Path::new(&work.join("r.dwarfs")), &[]);
    server.put("/r.dwarfs", image, "\"1\"");
    let url = server.url("/r.dwarfs");
    std::fs::write(
        work.join("list"),
        format!(
            "{url}?secret=HIDDEN {dir}/other\n{dir}/r.dwarfs {dir}/dir\n",
            dir = work.display()
        ),
    )
    .unwrap();
    script(
        work,
        r#"
            for way in --kernel --kernel --fuse --fuse; do
                sinter mount $way --cache none --all "$WORK/list"
                cat "$WORK/dir/file" "$WORK/other/file" > "$WORK/found"
                [ "$(cat "$WORK/found")" = "$(printf 'from afar\nfrom afar')" ] ||
                    fail "content $way"
                sinter mounts | grep -q "^[^ ]*r.dwarfs on $WORK/other" || fail "$(sinter mounts)"
                [ "$(findmnt -rno TARGET | grep -c "$WORK")" = 2 ] || fail "mounted twice"
                [ "$(pgrep -fc -- "--report-ready.*$WORK")" = 1 ] || fail "servers"
                [ -z "${before:-}" ] || { sinter umount --all; before=; no_server; continue; }
                before=$way
            done
            "#,
    );
}
