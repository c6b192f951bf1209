//! SELinux labels by file contexts: those that libselinux' own matchpathcon prints for each file,
//! and those that mkfs.erofs gives.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::archives::{has, words_of};
use support::{is_root, scratch, sinter};

/// Lines for every rule of precedence, some of them twice on purpose.
const CONTEXTS: &str = "\
# a comment
/.*\t\tu:r:default_t:s0
  # another
/\t\t-d\tu:r:root_t:s0
/etc(/.*)?\t\tu:r:etc_t:s0
/etc/exact\tu:r:exact_t:s0
/etc/e.*\t\tu:r:later_t:s0
/etc/a\\.conf\t--\tu:r:conf_t:s0
/etc/a\\.conf.*\t\tu:r:confs_t:s0
/etc/twice\tu:r:first_t:s0
/etc/twice\tu:r:second_t:s0
/etc/typed\t-d\tu:r:dir_t:s0
/etc/typed\t--\tu:r:file_t:s0
/lib(64)?/[^/]*\\.so(\\.[0-9]+)*\t--\tu:r:lib_t:s0
/lib(64)?/x+y?\tu:r:xy_t:s0
/dev/.*\t-c\tu:r:char_t:s0
/dev/.*\t-b\tu:r:block_t:s0
/run/.*\t-p\tu:r:fifo_t:s0
/run/.*\t-s\tu:r:sock_t:s0
/run/.*\t-l\tu:r:link_t:s0
/none\t\t<<none>>
/none/.*\t<<none>>
/none/kept\tu:r:kept_t:s0
/home/[a-z]{2,3}/.+\tu:r:home_t:s0
/home/[]x[]\tu:r:class_t:s0
/home/%{USER}/.*\tu:r:braces_t:s0
/home/(a|b\\+)c?\tu:r:group_t:s0
";

const FILES: &[&str] = &[
    "etc/exact",
    "etc/exactly",
    "etc/a.conf",
    "etc/a.conf.bak",
    "etc/axconf",
    "etc/twice",
    "etc/typed",
    "lib/l.so",
    "lib/l.so.1.2",
    "lib64/l.so.x",
    "lib64/xx",
    "lib64/xxy",
    "lib32/xx",
    "none/a",
    "none/kept",
    "home/ab/x",
    "home/abcd/x",
    "home/ab/x\ny",
    "home/]",
    "home/[",
    "home/%{USER}/.a",
    "home/a",
    "home/b+c",
    "home/bbc",
    "dev/plain",
    "run/plain",
    "usr64/l.so",
    "sysroot/etc/exact",
    "run/a/etc/exact",
];

/// Makes a file of every type.
fn make(work: &Path) -> PathBuf {
    let tree = work.join("tree");
    for file in FILES {
        let path = tree.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    fs::create_dir(tree.join("etc/d")).unwrap();
    symlink("x", tree.join("run/link")).unwrap();
    UnixListener::bind(tree.join("run/sock")).unwrap();
    for (name, kind) in [("run/fifo", "p"), ("dev/c", "c"), ("dev/b", "b")] {
        let mut mknod = Command::new("mknod");
        mknod.arg(tree.join(name)).arg(kind);
        if kind != "p" {
            mknod.args(["1", "3"]);
        }
        assert!(mknod.status().unwrap().success());
    }
    fs::write(work.join("fc"), CONTEXTS).unwrap();
    tree
}

type Labels = BTreeMap<String, Option<String>>;

/// Reads the labels of an image's files with Python's tarfile; sockets are in no tar.
fn labels(work: &Path, image: &str) -> Labels {
    let script = "import sys,tarfile\n\
        for m in tarfile.open(fileobj=sys.stdin.buffer, mode='r|'):\n \
        l = m.pax_headers.get('SCHILY.xattr.security.selinux')\n \
        print(repr(m.name), '' if l is None else l.rstrip('\\0'), sep='\\t')";
    let tar = work.join("tar");
    let mut extract = sinter();
    let extract = extract
        .current_dir(work)
        .args(["extract", "-q", "--tar", image]);
    let output = extract.output().unwrap();
    assert!(output.status.code() < Some(2), "{}", words_of(&output));
    fs::write(&tar, output.stdout).unwrap();
    let mut python = Command::new("python3");
    let stdin = fs::File::open(tar).unwrap();
    let output = python.args(["-c", script]).stdin(stdin).output().unwrap();
    assert!(output.status.success(), "{}", words_of(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let (name, label) = line.split_once('\t').unwrap();
        let label = Some(label.to_owned()).filter(|label| !label.is_empty());
        (name.to_owned(), label)
    };
    text.lines().map(line).collect()
}

fn build(work: &Path, image: &str, more: &[&str]) -> Output {
    let mut build = sinter();
    build
        .current_dir(work)
        .args(["build", "tree", "-q", "--force"]);
    if !image.ends_with("cfs") {
        build.arg("-l1");
    }
    build
        .args(["-o", image, "--file-contexts", "fc"])
        .args(more);
    build.output().unwrap()
}

fn built(work: &Path, image: &str, more: &[&str]) {
    let output = build(work, image, more);
    assert!(output.status.success(), "{}", words_of(&output));
}

/// What matchpathcon prints for a path of a type; the type is that of mode bits in its words.
fn told(work: &Path, path: &str, kind: &str) -> Option<String> {
    let mut judge = Command::new("matchpathcon");
    let judge = judge
        .current_dir(work)
        .args(["-n", "-f", "fc", "-m", kind, path]);
    let output = judge.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.trim_end();
    Some(text.to_owned()).filter(|text| text != "<<none>>" && !text.is_empty())
}

#[test]
fn labels_match_matchpathcon() {
    if !has("matchpathcon") || !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    let tree = make(work);
    for (name, text) in [
        (
            "fc.local",
            "/etc/d u:r:local_t:s0\n/etc/exact u:r:local_exact_t:s0\n",
        ),
        ("fc.subs", "/usr64 /lib\n"),
        (
            "fc.subs_dist",
            "/sysroot /\n/run/a /sysroot\n/sysroot/etc /etc\n",
        ),
    ] {
        fs::write(work.join(name), text).unwrap();
        built(work, "image.dwarfs", &[]);
        let found = labels(work, "image.dwarfs");
        let mut compared = 0;
        for (name, label) in &found {
            // names as Python writes them
            let name = name.trim_matches('\'').replace("\\n", "\n");
            let name = name.trim_start_matches('.').trim_start_matches('/');
            use std::os::unix::fs::FileTypeExt;
            let kind = fs::symlink_metadata(tree.join(name)).unwrap().file_type();
            let kind = match kind {
                kind if kind.is_dir() => "dir",
                kind if kind.is_symlink() => "lnk_file",
                kind if kind.is_char_device() => "chr_file",
                kind if kind.is_block_device() => "blk_file",
                kind if kind.is_fifo() => "pipe",
                _ => "file",
            };
            assert_eq!(
                *label,
                told(work, &format!("/{name}"), kind),
                "{name:?} {kind}"
            );
            compared += 1;
        }
        assert!(compared > FILES.len() + 5, "{found:?}");
        let distinct: std::collections::BTreeSet<_> = found.values().collect();
        assert!(distinct.len() > 15, "{distinct:?}");
    }
}

#[test]
fn mkfs_erofs_gives_the_same_labels() {
    let Some(mkfs) = mkfs_with_labels() else {
        eprintln!("NOT RUN: no mkfs.erofs that knows labels (SINTER_PEER_EROFS)");
        return;
    };
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    make(work);
    // labels of the source are not those of the file
    let mut old = Command::new("setfattr");
    let old = old
        .current_dir(work)
        .args(["-n", "security.selinux", "-v", "u:r:old_t:s0"]);
    let labelled = old
        .args(["tree/none/a", "tree/etc/exact"])
        .status()
        .unwrap();
    assert!(labelled.success());
    // newer versions of libselinux take the first line of two for one path
    let lines = CONTEXTS.lines().filter(|line| !line.contains("twice"));
    let lines: Vec<_> = lines.map(|line| format!("{line}\n")).collect();
    fs::write(work.join("fc"), lines.concat()).unwrap();
    built(work, "ours.erofs", &[]);
    let output = Command::new(mkfs)
        .current_dir(work)
        .args(["--file-contexts=fc", "theirs.erofs", "tree"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", words_of(&output));
    let (ours, theirs) = (labels(work, "ours.erofs"), labels(work, "theirs.erofs"));
    assert!(ours.len() > FILES.len(), "{ours:?}");
    assert_eq!(ours, theirs);
}

fn mkfs_with_labels() -> Option<PathBuf> {
    let dirs = ["SINTER_PEER_EROFS", "PATH"]
        .iter()
        .filter_map(std::env::var_os);
    let dirs: Vec<_> = dirs
        .flat_map(|dirs| std::env::split_paths(&dirs).collect::<Vec<_>>())
        .collect();
    let mut tools = dirs.iter().map(|dir| dir.join("mkfs.erofs"));
    tools.find(|tool| {
        let help = Command::new(tool).arg("--help").output();
        let help = help.map(|help| [help.stdout, help.stderr].concat());
        help.is_ok_and(|help| String::from_utf8_lossy(&help).contains("--file-contexts"))
    })
}

#[test]
fn definitions_are_labelled_and_may_have_labels_of_their_own() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    make(work);
    for image in ["i.dwarfs", "i.sqfs", "i.erofs", "i.cfs"] {
        let definitions = [
            "etc/new d 755 0 0",
            "etc/own d 755 0 0",
            "etc/own x security.selinux=mine",
        ];
        let definitions: Vec<_> = definitions
            .iter()
            .flat_map(|text| ["--pseudo", *text])
            .collect();
        built(
            work,
            image,
            &[&definitions, &["--exclude", "/home"][..]].concat(),
        );
        let found = labels(work, image);
        let of = |name: &str| found[&format!("'{name}'")].clone();
        assert_eq!(of("etc/new").as_deref(), Some("u:r:etc_t:s0"), "{image}");
        assert_eq!(of("etc/own").as_deref(), Some("mine"), "{image}");
        assert_eq!(
            of("etc/exact").as_deref(),
            Some("u:r:exact_t:s0"),
            "{image}"
        );
        assert_eq!(of("none/a"), None, "{image}");
    }
}

#[test]
fn errors_name_the_line() {
    let work = scratch();
    let work = work.path();
    fs::create_dir(work.join("tree")).unwrap();
    for (text, expected) in [
        ("/a b:c:d\n\n/b\n", "line 3: a label is missing"),
        ("/a -x b:c:d\n", "line 1: `-x` is not a type"),
        ("#\n/a(?!b) b:c:d\n", "line 2: `/a(?!b)`"),
        ("/(a b:c:d\n", "line 1: `/(a`"),
        ("/a|/b b:c:d\n", "line 1: `/a|/b`"),
        ("/\u{e4} b:c:d\n", "line 1: the line is not ASCII"),
        ("/a -- b:c:d e\n", "line 1: more than"),
    ] {
        fs::write(work.join("fc"), text).unwrap();
        let output = build(work, "x.dwarfs", &[]);
        let words = words_of(&output);
        assert!(
            !output.status.success() && words.contains(expected),
            "{text}: {words}"
        );
        assert!(words.contains("fc"), "{words}");
        assert!(!work.join("x.dwarfs").exists());
    }
    fs::remove_file(work.join("fc")).unwrap();
    assert!(!build(work, "x.dwarfs", &[]).status.success());
}
