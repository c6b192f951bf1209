//! What a format cannot keep of a tree: every writer names it, by every way that writes, with exit
//! code 1, or refuses it by name; with `--strict` it always refuses. What is written is read again.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs::{self, File};
use std::path::Path;
use std::process::Output;

use support::archives::words_of;
use support::{scratch, sinter};

/// Places in the list of objects.
const LARGE_FILE: usize = 0;
const ODD_NAME: usize = 1;
const LARGE_VALUE: usize = 5;
const MANY_VALUES: usize = 9;

/// A member of a PAX archive: records, type, and the name, mode and content that fit in a header.
fn member(records: &[(&str, Vec<u8>)], kind: u8, name: &[u8], size: u64) -> Vec<u8> {
    let mut out = Vec::new();
    if !records.is_empty() {
        let mut body = Vec::new();
        for (key, value) in records {
            let rest = [b" ", key.as_bytes(), b"=", value, b"\n"].concat();
            let digits = |len: usize| len.to_string().len();
            let mut len = rest.len() + 1;
            while len != rest.len() + digits(len) {
                len = rest.len() + digits(len);
            }
            body.extend(len.to_string().into_bytes());
            body.extend(rest);
        }
        out.extend(header(b"records", b'x', body.len() as u64));
        out.extend(&body);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.extend(header(name, kind, size));
    out
}

fn header(name: &[u8], kind: u8, size: u64) -> Vec<u8> {
    let mut block = vec![0; 512];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name);
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(329, b"0000000\0");
    put(337, b"0000000\0");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

fn archive(path: &str, members: &[Vec<u8>]) {
    let mut all = members.concat();
    all.resize((all.len() + 1024).next_multiple_of(10240), 0);
    fs::write(path, all).unwrap();
}

/// Members named `object` at the limits of formats and beyond.
fn objects() -> Vec<Vec<u8>> {
    let xattr = |name: &str| format!("SCHILY.xattr.{name}");
    let with_xattrs = |pairs: &[(String, Vec<u8>)]| {
        let pairs: Vec<_> = pairs.iter().map(|(k, v)| (&**k, v.clone())).collect();
        member(&pairs, b'0', b"object", 0)
    };
    let link = |len: usize| {
        let target = b"a/".iter().copied().cycle().take(len).collect();
        member(&[("linkpath", target)], b'2', b"object", 0)
    };
    let device = |major: u32, minor: u32| {
        let records = [
            ("SCHILY.devmajor", major.to_string().into_bytes()),
            ("SCHILY.devminor", minor.to_string().into_bytes()),
        ];
        member(&records, b'3', b"object", 0)
    };
    let mut large = member(&[], b'0', b"object", 17 << 20);
    large.resize(large.len() + (17 << 20), 0);
    let mut all = vec![large, member(&[], b'0', b"object\xff", 0)];
    for len in [65_535, 65_536, 65_537, 70_000] {
        all.push(with_xattrs(&[
            (xattr("user.value"), vec![b'v'; len]),
            (xattr("user.ok"), b"1".to_vec()),
        ]));
    }
    for len in [250, 251, 300] {
        all.push(with_xattrs(&[(
            xattr(&format!("user.{}", "n".repeat(len))),
            b"v".to_vec(),
        )]));
    }
    let many = (0..300).map(|n| (xattr(&format!("user.{n}")), vec![b'v'; 60_000]));
    all.push(with_xattrs(&many.collect::<Vec<_>>()));
    all.extend([4095, 4096, 5000, 65_532, 65_533, 65_536].map(link));
    all.extend([device(255, 255), device(300, 7), device(5000, 9_000_000)]);
    let name = format!("object{}", "n".repeat(250));
    all.push(member(&[("path", name.into_bytes())], b'0', b"short", 0));
    all
}

/// Runs `sinter` with words.
fn output(args: &[&str]) -> Output {
    sinter().args(args).output().unwrap()
}

fn ran(args: &[&str]) {
    let done = output(args);
    assert!(done.status.success(), "{args:?}: {}", words_of(&done));
}

/// Runs a command that writes `out`, with `--strict` too, and checks what it says of an object;
/// nothing may be said only if it may be whole; returns whether the output is there.
fn judge(args: &[&str], out: &str, named: &str, may_be_whole: bool) -> bool {
    let write = |more: &[&str]| -> Output {
        let _ = fs::remove_file(out);
        output(&[args, more, &["-q", "-o", out]].concat())
    };
    let strict = write(&["--strict"]);
    let has_strict_output = Path::new(out).exists();
    let made = write(&[]);
    let has_output = Path::new(out).exists();
    let words = words_of(&made);
    match made.status.code().unwrap() {
        0 => assert!(may_be_whole, "{args:?} says nothing: {words}"),
        1 => assert!(words.contains(named) && has_output, "{args:?}: {words}"),
        4 | 6 => assert!(words.contains(named) && !has_output, "{args:?}: {words}"),
        _ => panic!("{args:?}: {words}"),
    }
    if made.status.code() != Some(0) {
        assert!(!strict.status.success(), "{args:?}: {}", words_of(&strict));
        assert!(!has_strict_output, "{args:?}");
    }
    has_output
}

/// Returns an image as a tar.
fn as_tar(image: &str) -> Vec<u8> {
    let made = output(&["extract", image, "--tar"]);
    assert!(made.status.success(), "{image}: {}", words_of(&made));
    made.stdout
}

/// A directory for the files of a test.
struct Work(tempfile::TempDir);

impl Work {
    fn new() -> Self {
        Self(scratch())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

#[test]
fn every_writer_names_its_losses() {
    let work = Work::new();
    let (tar, other) = (work.path("a.tar"), work.path("other.dwarfs"));
    for (number, object) in objects().into_iter().enumerate() {
        archive(&tar, &[member(&[], b'0', b"sound", 0), object]);
        // what is large is tried where it is one too many
        let formats: &[&str] = match number {
            LARGE_FILE => &["cramfs"],
            MANY_VALUES => &["squashfs", "erofs"],
            _ => &["dwarfs", "squashfs", "erofs", "cramfs", "iso9660", "wim"],
        };
        for format in formats {
            let image = work.path(&format!("{number}.{format}"));
            if !judge(
                &["build", &tar, "-l1", "-f", format],
                &image,
                "object",
                true,
            ) {
                continue;
            }
            // our own reader takes all that was written
            ran(&["check", "--deep", &image]);
            let kept = as_tar(&image);
            // a refusal names it, too
            let again = ["convert", &image, "-l1", "-f", "dwarfs"];
            if judge(&again, &other, "object", true) {
                assert_eq!(as_tar(&other).len(), kept.len(), "{number} {format}");
            }
            fs::remove_file(&image).unwrap();
        }
    }
}

#[test]
fn all_ways_that_write_name_it() {
    let work = Work::new();
    let (tar, image, out) = (work.path("a.tar"), work.path("a.dwarfs"), work.path("out"));
    let objects = objects();
    for (object, format) in [
        (LARGE_FILE, "cramfs"),
        (ODD_NAME, "wim"),
        (LARGE_VALUE, "squashfs"),
        (LARGE_VALUE, "erofs"),
        (LARGE_VALUE, "iso"),
    ] {
        archive(&tar, &[objects[object].clone()]);
        ran(&["build", &tar, "-q", "--force", "-o", &image]);
        for words in [
            &["build", &tar][..],
            &["convert", &image],
            &["merge", "--overlay", &image, &tar],
        ] {
            let args = [words, &["-f", format]].concat();
            assert!(judge(&args, &out, "object", false), "{args:?}");
        }
        let report = output(&[
            "build", &tar, "--json", "-q", "--force", "-f", format, "-o", &out,
        ]);
        assert!(
            words_of(&report).contains("object"),
            "{}",
            words_of(&report)
        );
        let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
        let losses = report["losses"].as_array().unwrap();
        let path = |loss: &serde_json::Value| loss["paths"][0].as_str().map(str::to_owned);
        let mut named = losses.iter().filter_map(path);
        assert!(named.any(|path| path.contains("object")), "{report}");
    }
}

#[test]
fn archives_name_omitted_entries() {
    let work = Work::new();
    let (tree, object) = (work.path("tree"), work.path("tree/object"));
    let (socket, large) = (work.path("socket.sqfs"), work.path("large.sqfs"));
    fs::create_dir(&tree).unwrap();
    fs::write(work.path("tree/sound"), "x").unwrap();
    std::os::unix::net::UnixListener::bind(&object).unwrap();
    ran(&["build", &tree, "-q", "-o", &socket]);
    fs::remove_file(&object).unwrap();
    File::create(&object).unwrap().set_len(5 << 30).unwrap();
    ran(&["build", &tree, "-q", "-o", &large]);
    let out = work.path("out");
    assert!(judge(&["extract", &socket, "--tar"], &out, "object", false));
    assert!(judge(&["extract", &large, "--cpio"], &out, "object", false));
    oci_names(&socket, &work.path("oci"));
}

/// Writes an image as a container image, which must name an object.
fn oci_names(image: &str, dir: &str) {
    let made = output(&["extract", "-q", image, "--oci", "-o", dir]);
    let words = words_of(&made);
    assert_eq!(made.status.code(), Some(1), "{words}");
    assert!(words.contains("object"), "{words}");
}

#[test]
fn endless_holes_are_refused_at_once() {
    let work = Work::new();
    let (tree, image, out) = (work.path("tree"), work.path("i.dwarfs"), work.path("out"));
    fs::create_dir(&tree).unwrap();
    fs::write(work.path("tree/sound"), "x").unwrap();
    let object = File::create(work.path("tree/object")).unwrap();
    object.set_len((1 << 43) - 4096).unwrap();
    ran(&["build", &tree, "-q", "-o", &image]);
    for format in ["wim", "iso", "cramfs", "squashfs"] {
        for words in [["build", &tree], ["convert", &image]] {
            let args = [&words[..], &["-f", format]].concat();
            let has_output = judge(&args, &out, "object", format == "squashfs");
            let expected = matches!(format, "cramfs" | "squashfs");
            assert_eq!(has_output, expected, "{args:?}");
        }
    }
    for flags in [&["--tar", "--no-sparse"][..], &["--cpio"]] {
        let args = [&["extract", &image][..], flags].concat();
        assert!(judge(&args, &out, "object", false));
        assert!(fs::metadata(&out).unwrap().len() < 1 << 20);
    }
    oci_names(&image, &work.path("oci"));
}

#[test]
fn the_limit_of_zeros_is_an_option() {
    let work = Work::new();
    let (tree, image) = (work.path("tree"), work.path("i.dwarfs"));
    fs::create_dir(&tree).unwrap();
    for (name, len) in [("one", 3 << 20), ("two", 2 << 20)] {
        let file = File::create(work.path("tree/") + name).unwrap();
        file.set_len(len).unwrap();
    }
    ran(&["build", &tree, "-q", "-o", &image]);
    let out = work.path("out");
    for format in ["wim", "iso", "cramfs", "composefs"] {
        let no_holes = if format == "cramfs" {
            "--no-sparse"
        } else {
            "-q"
        };
        for verb in ["build", "convert", "merge"] {
            let from = if verb == "build" { &tree } else { &image };
            let args = [verb, from, "-f", format, no_holes, "-o", &out];
            let made = output(&[&args[..], &["--max-zeros", "4m"]].concat());
            let words = words_of(&made);
            assert!(!made.status.success(), "{args:?}");
            assert!(
                words.contains("two") && words.contains("--max-zeros"),
                "{words}"
            );
            assert!(!Path::new(&out).exists(), "{args:?}");
            ran(&[&args[..], &["--max-zeros", "5m"]].concat());
            fs::remove_file(&out).unwrap();
        }
    }
    for form in ["--tar", "--cpio", "--pseudo-file"] {
        let args = [
            "extract",
            &image,
            form,
            "--no-sparse",
            "--max-zeros=4m",
            "-o",
            &out,
        ];
        let made = output(&args);
        let words = words_of(&made);
        assert_eq!(made.status.code(), Some(1), "{args:?}: {words}");
        assert!(
            words.contains("two") && words.contains("--max-zeros"),
            "{words}"
        );
        assert!(!words.contains("one"), "{words}");
        fs::remove_file(&out).unwrap();
    }
    let made = output(&[
        "extract",
        &image,
        "--no-sparse",
        "--max-zeros=4m",
        "-o",
        &out,
    ]);
    let words = words_of(&made);
    assert_eq!(made.status.code(), Some(1), "{words}");
    assert!(
        words.contains("two") && words.contains("--max-zeros"),
        "{words}"
    );
    assert!(Path::new(&work.path("out/one")).exists());
    assert!(!Path::new(&work.path("out/two")).exists());
    let listed = output(&["extract", &image, "--mtree", "--max-zeros=2m"]);
    let list = String::from_utf8(listed.stdout).unwrap();
    let has_digest = |name| {
        let mut lines = list.lines();
        lines.any(|line| line.starts_with(name) && line.contains("sha256="))
    };
    assert!(!has_digest("./one") && has_digest("./two"), "{list}");
}

#[test]
fn names_that_joliet_changes_are_named() {
    let work = Work::new();
    let (tree, image) = (work.path("t"), work.path("i.iso"));
    let long = "l".repeat(70);
    fs::create_dir(&tree).unwrap();
    for name in [&format!("{long}1"), &format!("{long}2"), "a:b", "fine"] {
        File::create(work.path("t").clone() + "/" + name).unwrap();
    }
    let made = output(&["build", "-q", &tree, "-o", &image]);
    let words = words_of(&made);
    assert!(made.status.success(), "{words}");
    for named in [
        &format!("{long}1"),
        &format!("{long}2"),
        "a:b",
        "3 names that Joliet",
    ] {
        assert!(words.contains(named), "{words}");
    }
    assert!(!words.contains("fine"), "{words}");
    ran(&[
        "build",
        "-q",
        "--force",
        &tree,
        "-E",
        "no-joliet",
        "-o",
        &image,
    ]);
}

#[test]
fn what_joliet_lacks_is_named() {
    let work = Work::new();
    let (tree, image) = (work.path("t"), work.path("i.iso"));
    fs::create_dir(&tree).unwrap();
    fs::write(work.path("t/fine"), "x").unwrap();
    std::os::unix::fs::symlink("fine", work.path("t/link")).unwrap();
    support::shell(
        work.0.path(),
        "mkfifo t/pipe; touch -h -d @1000000000 t t/*",
    );
    ran(&["build", "-q", &tree, "-o", &work.path("i.dwarfs")]);
    for from in [["build", &tree], ["convert", &work.path("i.dwarfs")]] {
        let args = [&from[..], &["-q", "--force", "--strict", "-o", &image]].concat();
        let made = output(&args);
        let words = words_of(&made);
        assert!(made.status.success(), "{words}");
        for named in [
            "link",
            "pipe",
            "2 symlinks and special files that Joliet lacks",
        ] {
            assert!(words.contains(named), "{words}");
        }
        assert!(!words.contains("fine"), "{words}");
    }
    let alone = output(&[
        "build",
        "-q",
        "--force",
        &tree,
        "-E",
        "no-joliet",
        "-o",
        &image,
    ]);
    assert!(!words_of(&alone).contains("Joliet"), "{}", words_of(&alone));
}
