//! Images that are programs: what they run, what stays of it, and that they are images still.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::script;
use super::support::{run, scratch, sinter};

#[test]
fn a_program_in_the_image_runs() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        mkdir "$WORK/tmp" "$WORK/tree/bin" "$WORK/moved"
        export TMPDIR="$WORK/tmp"
        cat > "$WORK/tree/bin/show" <<'END'
#!/bin/sh
if [ "$1" = children ]; then read -r all < /proc/$$/task/$$/children; echo "$all"; exit; fi
cat "$(dirname "$0")/../$1" || exit 9
[ "$2" != later ] || (exec > /dev/null; sleep 1; cp "$(dirname "$0")/../$1" "$3") &
exit ${2:-0}
END
        chmod +x "$WORK/tree/bin/show"
        nothing_left() {
            for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
                [ -n "$(ls -A "$TMPDIR")" ] || break
                sleep 1
            done
            [ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(ls -A "$TMPDIR")"
            [ "$(findmnt -rno TARGET | grep -c "$WORK")" = 0 ] || fail "$(findmnt -rno TARGET)"
        }
        for format in dwarfs squashfs; do
            made="$WORK/x.$format"
            sinter build "$WORK/tree" -o "$made" --self-mount=/bin/show -q -l1 2> "$WORK/errors"
            sinter build "$WORK/tree" -o - -f $format --self-mount=/bin/show -q -l1 \
                2> "$WORK/errors" | cmp - "$made"
            x="$WORK/moved/its name"
            mv "$made" "$x"
            [ "$(cd / && "$x" file)" = content ] || fail "content by $format"
            code=0; "$x" file 7 > "$WORK/found" || code=$?
            [ $code = 7 ] || fail "exit code $code"
            code=0; "$x" nowhere > "$WORK/found" 2>&1 || code=$?
            [ $code = 9 ] || fail "exit code $code of a missing file"
            # which waits for its children, and not for the server
            [ -z "$("$x" children)" ] || fail "the program has children: $("$x" children)"
            # what it started goes on to use the image
            "$x" file later "$WORK/copy" > "$WORK/found" 2>&1 || true
            for i in 1 2 3 4 5 6 7 8 9 10; do [ -s "$WORK/copy" ] || sleep 1; done
            cmp "$WORK/copy" "$WORK/tree/file" || fail "a process that stayed"
            rm "$WORK/copy"
            nothing_left
            # it is an image for every command
            [ "$(sinter cat "$x" file)" = content ] || fail "cat"
            sinter check -q "$x"
            sinter mount "$x" "$WORK/dir"
            cmp "$WORK/dir/file" "$WORK/tree/file"
            umount "$WORK/dir"
            sinter convert -q "$x" -o "$WORK/plain.erofs"
            [ "$(sinter cat "$WORK/plain.erofs" file)" = content ] || fail "converted"
            rm "$WORK/plain.erofs"
            at=$("$x" --sinter-offset)
            [ $((at % 4096)) = 0 ] || fail "offset $at"
            tail -c +$((at + 1)) "$x" > "$WORK/bare"
            [ "$(sinter cat "$WORK/bare" file)" = content ] || fail "without the program"
            # what it does by itself
            "$x" --sinter-extract "$WORK/out"
            diff -r "$WORK/tree" "$WORK/out"
            rm -r "$WORK/out"
            "$x" --sinter-mount "$WORK/dir"
            cmp "$WORK/dir/file" "$WORK/tree/file"
            umount "$WORK/dir"
            "$x" --sinter ls "$x" | grep -qx bin || fail "as sinter"
            "$x" --sinter-help | grep -q -- "--sinter-extract DIR" || fail "help"
            code=0; "$x" --sinter-nothing 2> "$WORK/errors" || code=$?
            [ $code = 2 ] || fail "exit code $code of an unknown option"
            rm "$x"
        done
        "#,
    );
}

#[test]
fn an_application_directory_runs_and_others_are_mounted() {
    let work = scratch();
    let work = &work.path().canonicalize().unwrap();
    script(
        work,
        r#"
        mkdir "$WORK/tmp"
        export TMPDIR="$WORK/tmp"
        sinter build "$WORK/tree" -o "$WORK/plain" -f dwarfs --self-mount -q -l1 2> "$WORK/errors"
        code=0; "$WORK/plain" file 2> "$WORK/errors" || code=$?
        [ $code = 2 ] && grep -q "runs no program" "$WORK/errors" || fail "$(cat "$WORK/errors")"
        "$WORK/plain" --help | grep -q "Usage: .*plain" || fail "help"
        "$WORK/plain" > "$WORK/where" &
        for i in 1 2 3 4 5 6 7 8 9 10; do
            [ -e "$(cat "$WORK/where")/file" ] && break
            sleep 1
        done
        cmp "$(cat "$WORK/where")/file" "$WORK/tree/file"
        kill $!
        wait $! || true
        [ -z "$(ls -A "$TMPDIR")" ] || fail "left: $(ls -A "$TMPDIR")"
        # as AppImages do
        printf '#!/bin/sh\ncat "$APPDIR/file"; echo "$APPIMAGE $OWD $ARGV0 $*"\n' \
            > "$WORK/tree/AppRun"
        chmod +x "$WORK/tree/AppRun"
        sinter recompress "$WORK/plain" -o "$WORK/again" -q -l2
        [ "$("$WORK/again" --offset)" = "$("$WORK/plain" --offset)" ] || fail "recompressed"
        sinter build "$WORK/tree" -o "$WORK/app" -f dwarfs --self-mount -q -l1 2> "$WORK/errors"
        [ "$(cd /usr && "$WORK/app" --help x)" = "content
$WORK/app /usr $WORK/app --help x" ] || fail "$(cd /usr && "$WORK/app" --help x)"
        # the header can be added to an image later, and be taken away
        sinter build "$WORK/tree" -o "$WORK/bare" -f dwarfs -q -l1
        sinter recompress --only none "$WORK/bare" -o "$WORK/made" --self-mount=AppRun -q \
            2> "$WORK/errors"
        [ "$("$WORK/made" | head -n1)" = content ] || fail "added later"
        sinter recompress --only none "$WORK/made" -o "$WORK/less" --remove-header -q
        [ "$(head -c 6 "$WORK/less")" = DWARFS ] || fail "taken away"
        "#,
    );
}

#[test]
fn refuses_programs_that_cannot_run() {
    let work = scratch();
    let work = work.path();
    fs::create_dir(work.join("tree")).unwrap();
    fs::write(work.join("tree/file"), "content\n").unwrap();
    let (tree, image) = (work.join("tree"), work.join("image"));
    for (flags, why) in [
        (
            &["-f", "erofs", "--self-mount"][..],
            "erofs images cannot stand behind a program",
        ),
        (&["--self-mount=../file"], "is a path in it"),
        (
            &["--self-mount", "--header-size", "4k"],
            "cannot be used with",
        ),
    ] {
        let mut command = sinter();
        command
            .arg("build")
            .arg(&tree)
            .arg("-o")
            .arg(&image)
            .args(flags);
        let output = command.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && words.contains(why), "{words}");
        assert!(!image.exists());
    }
    // an old file keeps its permissions, but for those to run it
    fs::write(&image, "old").unwrap();
    fs::set_permissions(&image, fs::Permissions::from_mode(0o640)).unwrap();
    let (tree, image) = (tree.to_str().unwrap(), image.to_str().unwrap());
    run([
        "build",
        tree,
        "-o",
        image,
        "--force",
        "--self-mount",
        "-q",
        "-l0",
    ]);
    assert_eq!(
        fs::metadata(image).unwrap().permissions().mode() & 0o777,
        0o750
    );
}
