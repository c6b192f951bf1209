//! The program where the system lacks something, and images made to cost time: an error that says
//! why, no half-made output, and no work without end.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use support::{build, is_root, run, scratch, shell, try_run};

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a script with `$SINTER` as the program.
fn script(dir: &std::path::Path, text: &str) -> Output {
    let mut shell = Command::new("timeout");
    shell.args(["60", "bash", "-c", text]).current_dir(dir);
    shell.env("SINTER", env!("CARGO_BIN_EXE_sinter"));
    shell.output().expect("bash")
}

#[test]
fn holes_without_end_are_listed_without_a_digest() {
    let work = scratch();
    shell(
        work.path(),
        "mkdir tree; echo x >tree/small; truncate -s 1M tree/hole; truncate -s 8T tree/huge",
    );
    for format in ["dwarfs", "squashfs", "erofs"] {
        let image = work.path().join("image");
        build(format, &work.path().join("tree"), &image, &[]);
        let image = image.to_str().unwrap();
        let start = Instant::now();
        let listed = run(["extract", "--mtree", image]);
        assert!(start.elapsed() < Duration::from_secs(30), "{format}");
        let list = String::from_utf8(listed.stdout.clone()).unwrap();
        let line = |name: &str| list.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line("./small ").contains(" sha256="), "{format}");
        assert!(
            line("./hole ").contains(" sha256=30e14955ebf1352266dc2ff8067e68104607e750abb9d3b3")
        );
        let huge = line("./huge ");
        assert!(
            huge.contains(" size=8796093022208") && !huge.contains("sha256="),
            "{huge}"
        );
        assert!(
            words(&listed).contains("more holes than --max-zeros allows"),
            "{}",
            words(&listed)
        );
        let strict = try_run(["extract", "--mtree", "--strict", image]);
        assert_eq!(strict.status.code(), Some(4), "{}", words(&strict));
    }
}

#[test]
fn an_image_gets_its_name_only_where_its_directory_can_be_synced() {
    let work = scratch();
    shell(work.path(), "mkdir tree; seq 1000 >tree/f");
    let mut made = 0;
    for descriptors in 3..16 {
        let text = format!("ulimit -n {descriptors}; exec $SINTER build -q tree -o image");
        let output = script(work.path(), &text);
        let exists = work.path().join("image").exists();
        assert_eq!(
            output.status.success(),
            exists,
            "{descriptors}: {}",
            words(&output)
        );
        made += u32::from(exists);
        let names = fs::read_dir(work.path()).unwrap().count();
        assert_eq!(
            names,
            1 + usize::from(exists),
            "{descriptors}: something was left"
        );
        let _ = fs::remove_file(work.path().join("image"));
    }
    assert!(
        made > 0 && made < 13,
        "the limits are not around what a build needs: {made}"
    );
}

#[test]
fn a_mount_without_proc_or_with_another_device_says_so() {
    if !is_root() {
        return;
    }
    let work = scratch();
    shell(work.path(), "mkdir tree mnt; echo x >tree/f");
    build(
        "dwarfs",
        &work.path().join("tree"),
        &work.path().join("image"),
        &[],
    );
    let unshared = |setup: &str, command: &str| {
        let inner = format!("{setup} && exec {command}");
        script(work.path(), &format!("exec unshare -m bash -c '{inner}'"))
    };
    let hide = "mount -t tmpfs none /proc";
    for command in [
        "$SINTER mount image mnt",
        "$SINTER mount -f --fuse image mnt",
    ] {
        let output = unshared(hide, command);
        assert!(!output.status.success());
        let words = words(&output);
        assert!(words.contains("mounting needs /proc"), "{command}: {words}");
    }
    let output = unshared(
        "mount --bind /dev/null /dev/fuse",
        "$SINTER mount -f --fuse image mnt",
    );
    assert!(!output.status.success());
    assert!(
        words(&output).contains("this is not the FUSE device"),
        "{}",
        words(&output)
    );
}

#[test]
fn a_proof_makes_no_check_weaker() {
    let work = scratch();
    shell(work.path(), "mkdir tree; seq 10000 >tree/f");
    let image = work.path().join("image");
    let sound = build(
        "dwarfs",
        &work.path().join("tree"),
        &image,
        &["--with-digest"],
    );
    let path = image.to_str().unwrap();
    let root = String::from_utf8(run(["digest", path]).stdout).unwrap();
    let check = |args: &[&str]| try_run([&["check", path], args].concat()).status.code();
    assert_eq!(check(&["--digest", root.trim()]), Some(0));
    // the section index and the header of DIGEST, at the end of the image
    let mut caught = 0;
    for back in (1..400).step_by(7) {
        let mut bytes = sound.clone();
        let at = bytes.len() - back;
        bytes[at] ^= 4;
        fs::write(&image, bytes).unwrap();
        let plain = check(&[]).unwrap();
        let proven = check(&["--digest", root.trim()]).unwrap();
        assert!(
            plain == 0 || proven != 0,
            "{back}: {plain} without, {proven} with"
        );
        caught += i32::from(plain != 0);
    }
    assert!(caught > 10, "no damage was found at all");
}

/// Packs a directory and fails unless it is done with warnings that have all of these words.
const PACK: &str = r#"
pack() {
    code=0; "$SINTER" build -q "$1" -o "$2" $3 2>errors || code=$?
    [ $code = 1 ] || { echo "$2 $3: exit code $code"; cat errors; exit 1; }
}
named() { grep -F -- "$1" errors | grep -q "$2" || { echo "not named: $1 $2"; cat errors; exit 1
}; }
"#;

#[test]
fn files_of_the_kernel_have_their_content() {
    let work = scratch();
    let text = PACK.to_owned()
        + r#"
        for format in dwarfs squashfs erofs composefs iso9660; do
            store=; [ $format != composefs ] || store=--digest-store=store
            pack /proc/sys/kernel/random x.$format "-f $format $store"
            named random/uuid "its size is said to be 0"
            [ -n "$("$SINTER" cat x.$format uuid)" ] || { echo "$format: empty"; exit 1; }
        done
        mkdir tree
        code=0
        "$SINTER" build -q tree -o x --pseudo 'ostype l /proc/sys/kernel/ostype' -f dwarfs \
            2>errors || code=$?
        [ $code = 1 ] && [ "$("$SINTER" cat x ostype)" = "$(cat /proc/sys/kernel/ostype)" ]
        "#;
    let output = script(work.path(), &text);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn unfinished_files_of_other_runs_are_left_out_by_name() {
    let work = scratch();
    let text = PACK.to_owned()
        + r#"
        mkdir -p tree/d; echo x >tree/f; echo y >tree/d/.o.img.123.tmp; echo z >tree/.sinter-77-0
        echo k >tree/.kept.tmp; echo k >tree/kept.123.tmp; mkdir tree/.dir.123.tmp
        echo i >tree/.dir.123.tmp/in
        mkdir -p tree/d/.sinter-78-9.d/in tree/.sinter-78-9; echo h >tree/d/.sinter-78-9.d/in/half
        echo k >tree/.sinter-78-9/in
        for format in dwarfs squashfs composefs; do
            pack tree x.$format "-f $format"
            named tree/d/.o.img.123.tmp unfinished; named tree/.sinter-77-0 unfinished
            found=$("$SINTER" find x.$format | sort | tr '\n' ' ')
            named tree/d/.sinter-78-9.d unfinished
            for name in .o.img .sinter-77 .sinter-78-9.d half; do
                case $found in *$name*) echo "$found"; exit 1;; esac
            done
            for name in .kept.tmp kept.123.tmp .dir.123.tmp/in .sinter-78-9/in; do
                case $found in *$name*) ;; *) echo "$found"; exit 1;; esac
            done
        done
        "#;
    let output = script(work.path(), &text);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_image_runs_no_file_that_is_not_executable() {
    let work = scratch();
    let text = r#"
        mkdir tree; echo x >tree/file; printf '#!/bin/sh\n' >tree/run; chmod +x tree/run
        ln -s run tree/link
        refused() {
            code=0; "$SINTER" "$@" -q 2>errors || code=$?
            [ $code = 2 ] && grep -q "$words" errors && [ ! -e made ] || {
                echo "$* $code"; cat errors; exit 1; }
        }
        for format in dwarfs squashfs; do
            words="not executable"; refused build tree -o made -f $format --self-mount=file
            words="not a regular file"; refused build tree -o made -f $format --self-mount=/
            "$SINTER" build tree -o plain -f $format -q
            rebuild=; [ $format = dwarfs ] || rebuild=--rebuild
            words="not executable"; refused recompress plain -o made $rebuild --self-mount=file
            for path in run /link; do
                "$SINTER" build tree -o made -f $format -q --self-mount=$path || exit 1; rm made
                "$SINTER" recompress plain -o made -q $rebuild --self-mount=$path || exit 1; rm made
            done
            "$SINTER" build tree -o made -f $format -q --self-mount=file --chmod=a+x || exit 1
            rm made plain
        done
        "#;
    let output = script(work.path(), text);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn twenty_thousand_levels_take_little_time_and_memory() {
    let work = scratch();
    let text = r#"
        trap "rm -rf deep" EXIT
        python3 -c '
import os
os.mkdir("deep"); os.chdir("deep")
for level in range(20000): os.mkdir("d"); os.chdir("d")
open("f", "w").write("x")'
        $SINTER build -q -l1 deep -o deep.dwarfs || exit 1
        $SINTER convert -q -l1 deep.dwarfs -o deep.erofs || exit 1
        ulimit -v 400000
        for format in dwarfs erofs; do
            for words in check "find --name f --size +1m" "du -s"; do
                timeout 20 $SINTER $words deep.$format || exit 1
            done
            timeout 20 $SINTER diff -j1 deep.$format deep.dwarfs || exit 1
        done
    "#;
    let mut shell = Command::new("bash");
    shell.args(["-c", text]).current_dir(work.path());
    let output = shell.env("SINTER", env!("CARGO_BIN_EXE_sinter")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", words(&output));
}
