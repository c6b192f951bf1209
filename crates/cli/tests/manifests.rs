//! Lists of files as sources: what bsdtar, NetBSD's mtree, mkcomposefs and we ourselves write of
//! trees becomes these trees again, and what lists lie about is refused.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::archives::{has, words_of};
use support::listing::{differences, listing};
use support::{compare, is_root, make_tree, scratch, shell, sinter, vectors};

/// A tree with all types that bsdtar reads of lists, in the directory `tree`.
fn tree(work: &Path) {
    fs::create_dir(work.join("tree")).unwrap();
    let script = r#"
        mkdir -p d/e 'sp ace'; echo hi >d/f; ln -s f d/l; printf x >"$(printf 'sp ace/o\377\n#\\=*')"
        mkfifo p; mknod c c 1 3; mknod b b 70 300; chmod 4755 d/f; truncate -s 1M holes; : >empty
        seq 1 20000 >numbers; chown 70000:5 d numbers; chmod 1777 d/e
        find . -depth -exec touch -h -d '2021-02-03 04:05:06.789' {} +
        touch -d '1960-01-02 03:04:05.25' d/f
    "#;
    shell(&work.join("tree"), script);
}

fn try_build(work: &Path, source: &str, image: &str, more: &[&str]) -> Output {
    let mut build = sinter();
    build
        .current_dir(work)
        .args(["build", "-q", "-l1", "--force"]);
    build.args(["--time-resolution", "1ns"]);
    build
        .args(more)
        .args([source, "-o", image])
        .output()
        .unwrap()
}

/// Builds from a list and lists what is unpacked of the image.
fn unpacked(work: &Path, source: &str, more: &[&str]) -> PathBuf {
    let output = try_build(work, source, "image.dwarfs", more);
    assert!(output.status.success(), "{source}: {}", words_of(&output));
    let to = work.join("out");
    let _ = fs::remove_dir_all(&to);
    let mut extract = sinter();
    let output = extract
        .current_dir(work)
        .args(["extract", "-q", "image.dwarfs", "-o", "out"])
        .output();
    assert!(
        output.as_ref().unwrap().status.success(),
        "{}",
        words_of(&output.unwrap())
    );
    to
}

#[track_caller]
fn same(expected: &Path, found: &Path, what: &str) {
    let (expected, found) = (listing(expected, i64::MAX), listing(found, i64::MAX));
    assert!(expected.len() > 10, "{expected:?}");
    let differences = differences(&expected, &found);
    assert!(differences.is_empty(), "{what}:\n{differences}");
}

#[test]
fn lists_of_bsdtar_match_bsdtar() {
    if !is_root() || !has("bsdtar") {
        return;
    }
    let work = scratch();
    let work = work.path();
    tree(work);
    for options in [
        "--format=mtree",
        "--format=mtree --options=use-set,sha256,sha384,sha512",
        "--format=mtree --options=all",
    ] {
        shell(
            &work.join("tree"),
            &format!("bsdtar {options} -cf ../list ."),
        );
        let ours = unpacked(work, "list", &["--manifest-root", "tree"]);
        same(&work.join("tree"), &ours, options);
        shell(
            &work.join("tree"),
            "rm -rf ../theirs; mkdir ../theirs; bsdtar --format=pax -cf - @../list | bsdtar --numeric-owner -xpf - -C ../theirs",
        );
        same(&work.join("theirs"), &ours, options);
    }
    // sums that are not compared are reported, and an error where nothing may be lost
    let output = try_build(
        work,
        "list",
        "x.dwarfs",
        &["--manifest-root", "tree", "--strict"],
    );
    assert!(!output.status.success());
    assert!(
        words_of(&output).contains("sums other than SHA-2"),
        "{}",
        words_of(&output)
    );
    // inode numbers show hard links
    shell(
        &work.join("tree"),
        "ln d/f d/hard; bsdtar --format=mtree --options=all -cf ../list .",
    );
    let ours = unpacked(work, "list", &["--manifest-root", "tree"]);
    same(&work.join("tree"), &ours, "hard links");
}

#[test]
fn lists_of_netbsd_become_their_trees() {
    if !is_root() || !has("mtree") {
        return;
    }
    let work = scratch();
    let work = work.path();
    tree(work);
    let keys = "type,mode,uid,gid,time,size,link,device";
    for script in [
        format!("mtree -c -k {keys},sha256,sha512 -p . >../list"),
        format!(
            "mtree -c -k {keys},nlink,rmd160 -p . >../list0; mtree -C -k {keys} -f ../list0 >../list"
        ),
        format!("mtree -c -k {keys} -p . | gzip -c | gzip -dc >../list"),
    ] {
        shell(&work.join("tree"), &script);
        let ours = unpacked(work, "list", &["--manifest-root", "tree"]);
        same(&work.join("tree"), &ours, &script);
    }
}

#[test]
fn our_own_lists_go_round() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let work = work.path();
    make_tree(&shared, &work.join("made"), &["--size", "small"]);
    // hard links and attributes are in no list of ours
    shell(
        work,
        "cp -a --no-preserve=links,xattr made tree; rm -rf tree/xattrs; find tree -type s -delete",
    );
    let output = try_build(work, "tree", "first.dwarfs", &["--no-xattrs"]);
    assert!(output.status.success(), "{}", words_of(&output));
    for list in ["tree.mtree", "elsewhere"] {
        let mut extract = sinter();
        extract.current_dir(work).args([
            "extract",
            "-q",
            "--mtree",
            "first.dwarfs",
            "-o",
            list,
            "--force",
        ]);
        assert!(extract.status().unwrap().success());
        let output = try_build(work, list, "second.dwarfs", &["--manifest-root", "tree"]);
        assert!(output.status.success(), "{}", words_of(&output));
        let (first, second) = (
            fs::read(work.join("first.dwarfs")),
            fs::read(work.join("second.dwarfs")),
        );
        assert!(first.unwrap() == second.unwrap(), "{list}");
    }
    let mut diff = sinter();
    diff.current_dir(work)
        .args(["diff", "first.dwarfs", "tree"]);
    assert!(diff.status().unwrap().success());
}

#[test]
fn content_comes_from_the_named_place_and_matches_its_digest() {
    let work = scratch();
    let work = work.path();
    fs::create_dir_all(work.join("store/sub")).unwrap();
    fs::create_dir_all(work.join("lists")).unwrap();
    fs::write(work.join("store/object"), "abc").unwrap();
    fs::write(work.join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../object", work.join("store/sub/inside")).unwrap();
    std::os::unix::fs::symlink("../../secret", work.join("store/sub/outside")).unwrap();
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let secret = work.join("secret");
    let secret = secret.display();
    let build = |text: &str, more: &[&str]| {
        fs::write(work.join("lists/list"), format!("#mtree\n{text}\n")).unwrap();
        let _ = fs::remove_file(work.join("x.dwarfs"));
        let root = ["--manifest-root", "store"];
        try_build(work, "lists/list", "x.dwarfs", &[&root, more].concat())
    };
    let common = "type=file mode=644 uid=0 gid=0 time=1.0";
    let content = |path: &str| {
        let mut cat = sinter();
        let output = cat
            .current_dir(work)
            .args(["cat", "x.dwarfs", path])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for (text, more) in [
        (
            format!("a {common} contents=object sha256={sha256} size=3"),
            &[][..],
        ),
        (format!("a {common} content=./sub/../object"), &[]),
        (format!("a {common} content=sub/inside"), &[]),
        (
            format!("a optional contents=none\nb/a\na {common} contents=object"),
            &["--exclude", "/b"],
        ),
    ] {
        let output = build(&text, more);
        if text.contains("b/a") {
            // b/a is not there, and not optional
            assert!(
                words_of(&output).contains("line 3:"),
                "{}",
                words_of(&output)
            );
        } else {
            assert!(output.status.success(), "{text}: {}", words_of(&output));
            assert_eq!(content("a"), "abc", "{text}");
        }
    }
    let output = build(
        &format!("a {common} contents=object\nb type=file optional"),
        &[],
    );
    assert!(output.status.success(), "{}", words_of(&output));
    // outside only where that is allowed
    for path in [
        format!("{secret}"),
        "../secret".to_owned(),
        "sub/outside".to_owned(),
    ] {
        let text = format!("a {common} contents={path}");
        let output = build(&text, &[]);
        let words = words_of(&output);
        assert!(
            !output.status.success() && words.contains("leads out of store"),
            "{text}: {words}"
        );
        assert!(words.contains("line 2"), "{words}");
        assert!(!work.join("x.dwarfs").exists());
        let output = build(&text, &["--manifest-anywhere"]);
        assert!(output.status.success(), "{text}: {}", words_of(&output));
        assert_eq!(content("a"), "secret");
    }
    let wrong = sha256.replace("ba78", "ba79");
    for (text, expected) in [
        (
            format!("a {common} contents=object sha256={wrong}"),
            "line 2: corrupt",
        ),
        (
            format!("a {common} contents=object sha512={}", "0".repeat(128)),
            "another Sha512",
        ),
        (
            format!("a {common} contents=object size=4"),
            "has 3 bytes, not 4",
        ),
        (format!("a {common} contents=sub"), "is not a regular file"),
        (
            format!("a {common} contents=none"),
            "no such file: store/none",
        ),
        ("a\n".to_owned(), "line 2"),
        (
            format!("a {common} contents=object\na/b {common} contents=object"),
            "line 3",
        ),
        (format!("../a {common}"), "`..` in a path"),
        ("..".to_owned(), "`..` leads out of the root"),
        (format!("/a {common}"), "only /set"),
        ("a type=link mode=777".to_owned(), "without link="),
        ("a type=char mode=777".to_owned(), "without device="),
        ("a type=file mode=9".to_owned(), "line 2: mode:"),
        ("a\\".to_owned(), "line 2"),
    ] {
        let output = build(&text, &[]);
        let words = words_of(&output);
        assert!(!output.status.success(), "{text}");
        assert!(
            words.contains(expected) || words.contains("line 2: ") && expected == "line 2: corrupt",
            "{text}: {words}"
        );
        assert!(!work.join("x.dwarfs").exists(), "{text}");
    }
    let output = try_build(work, "store", "x.dwarfs", &["--manifest-root", "store"]);
    assert!(
        words_of(&output).contains("--manifest-root"),
        "{}",
        words_of(&output)
    );
}

#[test]
fn lists_are_layers_too() {
    let work = scratch();
    let work = work.path();
    fs::create_dir_all(work.join("lower")).unwrap();
    fs::write(work.join("lower/a"), "lower").unwrap();
    fs::write(work.join("content"), "upper").unwrap();
    fs::write(
        work.join("upper"),
        "#mtree\nb type=file mode=600 contents=content\na type=link link=b mode=777\n",
    )
    .unwrap();
    let mut build = sinter();
    build
        .current_dir(work)
        .args(["build", "-q", "-l1", "lower", "upper", "-o", "x.dwarfs"]);
    build.args(["--pseudo", "c c 600 0 0 1 3", "--pseudo", "b x user.k=v"]);
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", words_of(&output));
    let mut list = sinter();
    let list = list
        .current_dir(work)
        .args(["ls", "-l", "x.dwarfs"])
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("a -> b") && list.contains("1,"), "{list}");
}

#[test]
fn dumps_become_any_format() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let Some(peer) = std::env::var_os("SINTER_PEER_COMPOSEFS").map(PathBuf::from) else {
        eprintln!("NOT RUN: SINTER_PEER_COMPOSEFS names no directory with mkcomposefs");
        return;
    };
    let work = scratch();
    let work = work.path();
    make_tree(&shared, &work.join("tree"), &["--size", "small"]);
    let mut make = Command::new(peer.join("mkcomposefs"));
    make.current_dir(work)
        .args(["--digest-store=store", "tree", "image.cfs"]);
    assert!(make.status().unwrap().success());
    let dump = Command::new(peer.join("composefs-info"))
        .current_dir(work)
        .args(["dump", "image.cfs"])
        .output();
    fs::write(work.join("dump"), dump.unwrap().stdout).unwrap();
    let build = |image: &str, more: &[&str]| {
        let mut build = sinter();
        build.current_dir(work).args([
            "build",
            "-q",
            "-l1",
            "--force",
            "--from-dump",
            "dump",
            "-o",
            image,
        ]);
        build.args(more).output().unwrap()
    };
    for format in ["dwarfs", "erofs", "squashfs"] {
        let image = format!("image.{format}");
        let output = build(&image, &["--digest-store", "store"]);
        assert!(output.status.success(), "{format}: {}", words_of(&output));
        let out = work.join(format);
        let mut extract = sinter();
        extract
            .current_dir(work)
            .args(["extract", "-q", &image, "-o"])
            .arg(&out);
        assert!(extract.status().unwrap().success());
        // hard links are files of their own in what mkcomposefs makes of trees
        // and overlayfs shows whiteouts below it in another form
        let mut options = vec!["--no-links", "--skip", "special"];
        if format == "squashfs" {
            options.extend(["--mtime-seconds", "--skip-xattr", "system.posix_acl"]);
        }
        compare(&shared, &options, &work.join("tree"), &out);
    }
    let output = build("x.dwarfs", &[]);
    assert!(
        words_of(&output).contains("--digest-store"),
        "{}",
        words_of(&output)
    );
    // an object that is not what the dump says
    shell(
        work,
        "f=$(find store -type f | sort | head -n 1); printf X | dd of=\"$f\" conv=notrunc status=none",
    );
    let output = build("x.dwarfs", &["--digest-store", "store"]);
    assert!(!output.status.success() && !work.join("x.dwarfs").exists());
    assert!(
        words_of(&output).contains("digest"),
        "{}",
        words_of(&output)
    );
}
