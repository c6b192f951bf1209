//! WIM images that we write, read by what we did not write: wimlib-imagex and 7-Zip. Compared with
//! the source by the vectors' own program, nothing may differ but hard links of symlinks.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::archives::words_of;
use support::{compare, is_root, make_tree, run, scratch, skip, vectors};

fn build(tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    support::build("wim", tree, image, flags)
}

/// Runs a tool that must succeed; false without it.
fn judged(tool: &str, args: &[&std::ffi::OsStr]) -> bool {
    let Ok(output) = Command::new(tool).args(args).output() else {
        skip(&format!("no {tool}"));
        return false;
    };
    assert!(output.status.success(), "{args:?}: {}", words_of(&output));
    true
}

/// The options of builds that are judged.
const CASES: [&[&str]; 10] = [
    &[],
    &["-l0"],
    &["-l1"],
    &["-l4"],
    &["-l9"],
    &["-C", "lzx:level=9", "--block-size", "2m"],
    &["-C", "lzms:level=3", "--block-size", "256k"],
    &["-C", "lzx:level=2:solid", "--block-size", "128k", "-j3"],
    &["-C", "xpress:level=9", "--block-size", "4096"],
    &[
        "-C",
        "lzx:level=3",
        "--block-size",
        "65536",
        "--label",
        "a <name> & more",
    ],
];

#[test]
fn solid_chunks_are_as_long_as_they_can_be() {
    let work = scratch();
    fs::create_dir(work.path().join("tree")).unwrap();
    fs::write(work.path().join("tree/file"), "content").unwrap();
    let image = work.path().join("image.wim");
    for (flags, chunk) in [
        (&["-C", "lzms:solid"][..], 64 << 20),
        (&["-C", "lzx:level=2:solid"], 2 << 20),
        (&["-C", "xpress:solid"], 64 << 10),
        (&["-C", "lzx:solid", "--block-size", "64k"], 64 << 10),
    ] {
        build(&work.path().join("tree"), &image, flags);
        let info = run([Path::new("info"), &image]);
        let info = String::from_utf8_lossy(&info.stdout).into_owned();
        let expected = format!("chunks of {chunk}\n");
        assert!(info.contains(&expected), "{flags:?}: {info}");
    }
}

#[test]
fn the_last_two_chunks_are_resources_that_others_read() {
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.wim"));
    fs::create_dir(&tree).unwrap();
    let mut word = 1_u64;
    for number in 0..12 {
        let content: Vec<u8> = (0..500_000)
            .map(|_| {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                word.to_be_bytes()[0] & 63
            })
            .collect();
        fs::write(tree.join(format!("file{number}")), content).unwrap();
    }
    // six files in each of two chunks, which one resource could not have
    build(
        &tree,
        &image,
        &["-C", "lzms:level=1:solid", "--block-size", "4m"],
    );
    run([Path::new("check"), Path::new("--deep"), &image]);
    let judges: [(&str, &[&str]); 3] = [
        ("wimlib-imagex", &["verify"]),
        ("wimlib-imagex", &["apply"]),
        ("7zz", &["t"]),
    ];
    let to = work.path().join("applied");
    for (tool, words) in judges {
        let mut args: Vec<&std::ffi::OsStr> = words.iter().map(AsRef::as_ref).collect();
        args.push(image.as_os_str());
        if words == ["apply"] {
            args.extend(["1".as_ref(), to.as_os_str()]);
        }
        judged(tool, &args);
    }
    let ours = work.path().join("extracted");
    run([Path::new("extract"), &image, Path::new("-o"), &ours]);
    for number in 0..12 {
        let name = format!("file{number}");
        let content = fs::read(tree.join(&name)).unwrap();
        assert!(fs::read(ours.join(&name)).unwrap() == content, "{name}");
        assert!(
            !to.exists() || fs::read(to.join(&name)).unwrap() == content,
            "{name}"
        );
    }
    let info = Command::new("wimlib-imagex")
        .args(["info", "--blobs"])
        .arg(&image)
        .output();
    let Ok(info) = info else { return };
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    let of = info
        .lines()
        .filter(|line| line.starts_with("Solid resource"));
    let of: std::collections::BTreeSet<&str> = of.collect();
    assert_eq!(of.len(), 2, "{of:?}");
    assert!(
        of.iter().all(|line| line.contains("= 3000000 =>")),
        "{of:?}"
    );
}

#[test]
fn wimlib_applies_the_source() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small", "--plain"]);
    for flags in CASES {
        let (image, to) = (path("image.wim"), path("applied"));
        build(&path("tree"), &image, flags);
        run([Path::new("check"), Path::new("--deep"), &image]);
        let options = ["--mtime-unit", "100"];
        if !judged("wimlib-imagex", &["verify".as_ref(), image.as_os_str()]) {
            return;
        }
        let apply = [
            "apply".as_ref(),
            image.as_os_str(),
            "1".as_ref(),
            to.as_os_str(),
        ];
        judged(
            "wimlib-imagex",
            &[&apply[..], &["--unix-data".as_ref()]].concat(),
        );
        compare(&shared, &options, &path("tree"), &to);
        fs::remove_dir_all(&to).unwrap();
        run([Path::new("extract"), &image, Path::new("-o"), &to]);
        compare(&shared, &options, &path("tree"), &to);
        fs::remove_dir_all(&to).unwrap();
        // the second judge, of LZX
        let is_xpress = flags
            .iter()
            .any(|flag| *flag == "-l1" || flag.starts_with("xpress"));
        if !is_xpress {
            judged("7zz", &["t".as_ref(), image.as_os_str()]);
        }
    }
    let info = Command::new("wimlib-imagex")
        .arg("info")
        .arg(path("image.wim"))
        .output();
    let info = String::from_utf8_lossy(&info.unwrap().stdout).into_owned();
    assert!(info.contains("a <name> & more"), "{info}");
}

#[test]
fn reading_a_source_does_not_change_its_image() {
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.wim"));
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "content").unwrap();
    let first = build(&tree, &image, &[]);
    support::shell(&tree, "touch -a -d 2001-02-03 file .");
    assert!(build(&tree, &image, &[]) == first);
}
