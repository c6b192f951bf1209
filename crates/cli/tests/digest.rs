//! Root digests by the whole program: made by `build`, kept to by every command that reads, refused
//! with a reason; and what upstream's tools say of images that have digests.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sinterfs_testkit::noise;
use support::{Mounted, build, kernel_serves, peer, run, scratch, sinter, try_run};

const WRONG: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn tree(work: &Path) -> PathBuf {
    let tree = work.join("tree");
    if tree.exists() {
        // written anew, it would have other times
        return tree;
    }
    fs::create_dir_all(tree.join("dir")).unwrap();
    fs::write(tree.join("dir/text"), "words and words\n".repeat(50)).unwrap();
    for number in 0..5_u64 {
        fs::write(tree.join(format!("f{number}")), noise(number, 300_000)).unwrap();
    }
    tree
}

/// Builds an image with digests and gives its root.
fn made(work: &Path, flags: &[&str]) -> (PathBuf, String) {
    let image = work.join("image.dwarfs");
    let output = sinter()
        .args(["build", "--force", "--with-digest", "--json", "-l1"])
        .args(flags)
        .arg(tree(work))
        .arg("-o")
        .arg(&image)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let root = word_after(&output, "\"root_digest\": \"");
    (image, root)
}

fn word_after(output: &Output, mark: &str) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) = text
        .split_once(mark)
        .unwrap_or_else(|| panic!("{mark}: {text}"));
    rest.split(['"', '\n']).next().unwrap().to_owned()
}

fn refused(output: &Output, code: i32, why: &str) {
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words}");
    assert!(words.contains(why), "{words}");
}

fn flip(image: &Path, at: usize) {
    let mut bytes = fs::read(image).unwrap();
    bytes[at] ^= 4;
    fs::write(image, bytes).unwrap();
}

#[test]
fn every_command_that_reads_keeps_to_a_digest() {
    let work = scratch();
    let (image, root) = made(work.path(), &[]);
    let path = image.to_str().unwrap();
    let out = work.path().join("out");
    let new = work.path().join("new.dwarfs");
    let (out, new) = (out.to_str().unwrap(), new.to_str().unwrap());
    let commands: &[&[&str]] = &[
        &["check", path],
        &["ls", path],
        &["info", path],
        &["cat", path, "dir/text"],
        &["extract", path, "-o", out, "--force"],
        &["convert", path, "-o", new, "--force"],
        &["recompress", path, "-o", new, "--force"],
    ];
    for command in commands {
        run(command.iter().chain(&["--digest", root.as_str()]));
        let output = try_run(command.iter().chain(&["--digest", WRONG]));
        refused(
            &output,
            3,
            &format!("have the root {root}, expected {WRONG}"),
        );
        let output = try_run(command.iter().chain(&["--digest", &root[1..]]));
        refused(&output, 2, "64 hexadecimal digits");
    }
    let tree = work.path().join("tree");
    let tree = tree.to_str().unwrap();
    run([
        "diff",
        tree,
        path,
        "--digest-new",
        &root,
        "--ignore",
        "mtime",
    ]);
    refused(
        &try_run(["diff", tree, path, "--digest-new", WRONG]),
        3,
        "expected",
    );
    refused(
        &try_run(["diff", path, path, "--digest-old", WRONG]),
        3,
        "expected",
    );
    assert_eq!(
        word_after(&run(["info", path]), "root digest:").trim(),
        root
    );
    assert_eq!(word_after(&run(["digest", path]), ""), root);
    let verified = run(["info", path, "--digest", &root]);
    assert_eq!(word_after(&verified, "verified digest:").trim(), root);
    let checked = run(["check", path]);
    assert_eq!(
        word_after(&checked, "root digest "),
        format!("{root}: all data is intact")
    );
}

#[test]
fn a_mount_serves_only_bytes_that_match_the_digest() {
    let work = scratch();
    let flags = [
        "-C",
        "none",
        "-b",
        "512k",
        "--order",
        "path",
        "--set-time",
        "0",
    ];
    let (image, root) = made(work.path(), &flags);
    let mount_point = work.path().join("mnt");
    let mut ways = vec!["--fuse"];
    ways.extend(kernel_serves().then_some("--kernel"));
    for way in ways {
        let mounted = Mounted::new(&image, &mount_point, &[way, "--digest", &root]);
        for number in 0..5 {
            assert!(
                fs::read(mounted.0.join(format!("f{number}"))).unwrap() == noise(number, 300_000)
            );
        }
        drop(mounted);
        let option = format!("digest={root}");
        drop(Mounted::new(&image, &mount_point, &[way, "-o", &option]));
        let mounts = |root: &str| {
            let mut command = sinter();
            command.args(["mount", way, "--digest", root]);
            command.args([&image, &mount_point]).output().unwrap()
        };
        refused(&mounts(WRONG), 3, "expected");
        // in metadata: nothing is mounted
        let sound = fs::read(&image).unwrap();
        let tail = sound
            .windows(8)
            .rposition(|here| here == b"SINTERDG")
            .unwrap();
        flip(&image, tail - 200);
        refused(&mounts(&root), 3, "do not match their digest");
        // in content, with the sections' own checksums made right by who changed it: nothing is
        // mounted
        fs::write(&image, &sound).unwrap();
        forge(work.path(), &image, &flags);
        let served = Mounted::new(&image, &mount_point, &[way]);
        let forged = (0..5).filter(|number| {
            let content = fs::read(served.0.join(format!("f{number}")));
            content.is_ok_and(|content| content != noise(*number, 300_000))
        });
        assert_eq!(forged.count(), 1, "without a digest the forgery is served");
        drop(served);
        refused(&mounts(&root), 3, "do not match their digest");
        // a bit in content: what does not lie with it is served
        fs::write(&image, &sound).unwrap();
        flip(&image, 200_000);
        let served = Mounted::new(&image, &mount_point, &[way, "--digest", &root]);
        let (mut sound_files, mut errors) = (0, 0);
        for number in 0..5 {
            match fs::read(served.0.join(format!("f{number}"))) {
                Ok(content) => {
                    assert!(content == noise(number, 300_000));
                    sound_files += 1;
                }
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(5), "{error}");
                    errors += 1;
                }
            }
        }
        assert!(errors > 0 && sound_files > 0, "{errors} errors");
        drop(served);
        fs::write(&image, &sound).unwrap();
    }
}

/// Builds an image of which one file's content is another one, and gives it the digests of the
/// first: all checksums of sections are right, and all metadata is the same.
fn forge(work: &Path, image: &Path, flags: &[&str]) {
    let sound = fs::read(image).unwrap();
    let changed = work.join("tree/f1");
    fs::write(&changed, noise(77, 300_000)).unwrap();
    build(
        "dwarfs",
        &work.join("tree"),
        image,
        &[flags, &["--with-digest", "-l1"]].concat(),
    );
    let mut forged = fs::read(image).unwrap();
    assert_eq!(forged.len(), sound.len());
    let section = sound
        .windows(8)
        .rposition(|here| here == b"SINTERDG")
        .unwrap()
        - 64;
    forged.truncate(section);
    forged.extend_from_slice(&sound[section..]);
    fs::write(image, forged).unwrap();
    fs::write(&changed, noise(1, 300_000)).unwrap();
}

#[test]
fn images_of_other_formats_have_their_digests_beside_them() {
    let work = scratch();
    let tree = tree(work.path());
    for format in ["squashfs", "erofs", "dwarfs"] {
        let image = work.path().join(format!("image.{format}"));
        build(format, &tree, &image, &["-l1"]);
        let digests = work.path().join("image.digest");
        let (path, file) = (image.to_str().unwrap(), digests.to_str().unwrap());
        let root = word_after(&run(["digest", path]), "");
        assert_eq!(
            word_after(&run(["digest", path, "-o", file, "--force"]), ""),
            root
        );
        let with_file = ["--digest", &root, "--digest-file", file];
        for more in [&with_file[..2], &with_file] {
            run(["check", path].iter().chain(more));
            run(["cat", path, "dir/text"].iter().chain(more));
        }
        let wrong = try_run(["ls", path, "--digest", WRONG]);
        refused(
            &wrong,
            3,
            "the image has no digests, and the digests of the whole file have the root",
        );
        let wrong = try_run(["ls", path, "--digest", WRONG, "--digest-file", file]);
        refused(&wrong, 3, "the digests in the file have the root");
        flip(&image, 70_000);
        let checked = try_run(["check", path].iter().chain(&with_file));
        refused(&checked, 1, "the 65536 bytes at 0x10000 do not match");
        let read = try_run(["check", "--deep", path, "--digest", &root]);
        refused(&read, 3, "expected");
        fs::write(&digests, b"SINTERDG").unwrap();
        let torn = try_run(["ls", path].iter().chain(&with_file));
        refused(&torn, 3, "no digests");
        // what could replace the image does not
        refused(
            &try_run(["digest", path, "-o", path, "--force"]),
            2,
            "replace",
        );
    }
}

#[test]
fn content_elsewhere_is_refused_or_compared() {
    let work = scratch();
    let tree = tree(work.path());
    let at = |name: &str| {
        work.path()
            .join(name)
            .into_os_string()
            .into_string()
            .unwrap()
    };
    // a device beside the image is in no digest
    let (image, blob) = (at("image.erofs"), at("blob"));
    build(
        "erofs",
        &tree,
        Path::new(&image),
        &["-l1", "--blob-device", &blob],
    );
    let root = word_after(&run(["digest", &image]), "");
    run(["check", &image]);
    for more in [&[][..], &["--device", &blob]] {
        let words = ["ls", &image, "--digest", &root];
        refused(
            &try_run(words.iter().chain(more)),
            4,
            "content on other devices",
        );
    }
    // objects are compared with what the image names
    let (image, store, dump) = (at("image.cfs"), at("objects"), at("dump"));
    build(
        "composefs",
        &tree,
        Path::new(&image),
        &["--digest-store", &store],
    );
    let root = word_after(&run(["digest", &image]), "");
    let words = ["cat", &image, "f1", "--objects", &store, "--digest", &root];
    assert!(run(words).stdout == noise(1, 300_000));
    let mut mount = vec!["--objects", &store, "--digest", &root];
    mount.extend(kernel_serves().then_some("--kernel"));
    // not by the kernel alone, which would compare nothing
    let mounted = Mounted::new(Path::new(&image), &work.path().join("mnt"), &mount);
    assert!(fs::read(mounted.0.join("f1")).unwrap() == noise(1, 300_000));
    drop(mounted);
    for directory in fs::read_dir(&store).unwrap() {
        for object in fs::read_dir(directory.unwrap().path()).unwrap() {
            let path = object.unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            bytes[0] ^= 1;
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
        }
    }
    refused(&try_run(words), 3, "but the image names");
    // where the image names only a path, nobody vouches for what is there
    let unnamed = "/ 4096 40755 2 0 0 0 0.0 - - -\n/f 9 100644 1 0 0 0 0.0 ab/cd - -\n";
    fs::write(&dump, unnamed).unwrap();
    run(["build", "--from-dump", &dump, "-o", &image, "--force", "-q"]);
    fs::create_dir_all(work.path().join("objects/ab")).unwrap();
    fs::write(work.path().join("objects/ab/cd"), "123456789").unwrap();
    let root = word_after(&run(["digest", &image]), "");
    let words = ["cat", &image, "f", "--objects", &store];
    assert_eq!(run(words).stdout, b"123456789");
    let proven = try_run(words.iter().chain(&["--digest", root.as_str()]));
    refused(&proven, 3, "the image names no digest of object");
}

#[test]
fn sums_match_sha256sum() {
    let work = scratch();
    let tree = tree(work.path());
    let image = work.path().join("image.squashfs");
    build("squashfs", &tree, &image, &["-l1"]);
    let script = r#"
        set -e
        run() { "$SINTER" digest "$1" -o "$2"; }
        root=$(run "$1" "$2")
        [ "$( (printf '\1'; cat "$2") | sha256sum | cut -d' ' -f1)" = "$root" ]
        size=$(stat -c %s "$1"); leaves=$(( (size + 65535) / 65536 )); n=0
        while [ $n -lt $leaves ]; do
            sum=$( (printf '\0'; dd if="$1" bs=65536 skip=$n count=1 status=none) | sha256sum | cut -d' ' -f1)
            have=$(od -An -v -tx1 -j $((32 + 32 * n)) -N 32 "$2" | tr -d ' \n')
            [ "$sum" = "$have" ]
            n=$((n + 1))
        done
        [ "$(stat -c %s "$2")" = $((32 + 32 * leaves)) ]
    "#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]);
    command.args([&image, &work.path().join("digests")]);
    command.env("SINTER", env!("CARGO_BIN_EXE_sinter"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn new_images_have_digests_of_their_own_or_none() {
    let work = scratch();
    let (image, root) = made(work.path(), &[]);
    let new = work.path().join("new.dwarfs");
    let (path, new) = (image.to_str().unwrap(), new.to_str().unwrap());
    for command in [
        &["recompress", "--only", "none"][..],
        &["recompress", "--only", "metadata"],
        &["recompress", "--rebuild-metadata"],
        &["recompress", "--rebuild"],
        &["convert"],
    ] {
        let words = [command, &[path, "-o", new, "--force"]].concat();
        run(&words);
        let told = String::from_utf8(run(["info", new]).stdout).unwrap();
        assert!(
            !told.contains("root digest") && !told.contains("DIGEST"),
            "{told}"
        );
        let output = run(words.iter().chain(&["--with-digest", "--json"]));
        let other = word_after(&output, "\"root_digest\": \"");
        assert_ne!(other, root);
        run(["check", "--deep", new, "--digest", &other]);
    }
    // the same bytes for any number of threads, and nothing but the section is added
    let one = made(work.path(), &["-j1"]);
    let bytes = fs::read(&one.0).unwrap();
    assert_eq!(made(work.path(), &["-j4"]).1, one.1);
    assert!(bytes == fs::read(&image).unwrap(), "four threads differ");
    let piped = sinter()
        .args(["build", "-q", "-l1", "--with-digest", "-o", "-"])
        .arg(work.path().join("tree"))
        .output()
        .unwrap();
    assert!(piped.stdout == fs::read(&image).unwrap());
    for format in ["squashfs", "erofs", "composefs"] {
        let output = support::try_build(
            format,
            &work.path().join("tree"),
            &image,
            &["--with-digest"],
        );
        refused(&output, 2, "--with-digest");
    }
}

#[test]
fn a_header_may_be_changed_but_is_never_believed() {
    let work = scratch();
    let (image, root) = made(work.path(), &[]);
    let header = b"#!/bin/sh\necho hello\n";
    let bytes = [&header[..], &fs::read(&image).unwrap()].concat();
    fs::write(&image, bytes).unwrap();
    let path = image.to_str().unwrap();
    run(["check", "--deep", path, "--digest", &root]);
    let new = work.path().join("new.dwarfs");
    let new = new.to_str().unwrap();
    let kept = try_run(["recompress", path, "-o", new, "--digest", &root]);
    refused(
        &kept,
        3,
        "no digest covers the bytes at 0x0, before the image",
    );
    run([
        "recompress",
        path,
        "-o",
        new,
        "--digest",
        &root,
        "--remove-header",
    ]);
}

#[test]
fn upstream_reads_images_with_digests_and_copies() {
    let (Some(dwarfsck), Some(dwarfsextract), Some(mkdwarfs)) =
        (peer("dwarfsck"), peer("dwarfsextract"), peer("mkdwarfs"))
    else {
        return;
    };
    let work = scratch();
    let (image, root) = made(work.path(), &["--metadata-copy"]);
    let succeeds = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let mut check = Command::new(dwarfsck);
    succeeds(check.arg("-i").arg(&image).arg("--check-integrity"));
    let out = work.path().join("out");
    fs::create_dir(&out).unwrap();
    let mut extract = Command::new(dwarfsextract);
    succeeds(extract.arg("-i").arg(&image).arg("-o").arg(&out));
    assert!(fs::read(out.join("f3")).unwrap() == noise(3, 300_000));
    // whatever becomes of the section there, the new image is not taken for the old one
    for flags in [&["--recompress=all", "-l3"][..], &["--rebuild-metadata"]] {
        let new = work.path().join("new.dwarfs");
        let mut recompress = Command::new(&mkdwarfs);
        recompress
            .arg("-i")
            .arg(&image)
            .arg("-o")
            .arg(&new)
            .arg("-f");
        succeeds(recompress.args(flags));
        let path = new.to_str().unwrap();
        run(["ls", path]);
        refused(&try_run(["ls", path, "--digest", &root]), 3, "");
        let checked = try_run(["check", path]);
        let told = run(["info", path]);
        let told = String::from_utf8_lossy(&told.stdout);
        if told.contains("DIGEST") {
            assert!(told.contains("stale"), "{told}");
            refused(&checked, 1, "stale: the digests cover");
        }
    }
}
