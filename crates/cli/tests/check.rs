//! What `sinter check` reports of damaged images: each problem once, and the files that are
//! damaged.

mod support;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;

use sinterfs_testkit::noise;
use support::{build, scratch, try_run};

#[test]
fn a_problem_of_a_truncated_image_is_reported_once() {
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.dwarfs"));
    fs::create_dir(&tree).expect("a directory");
    fs::write(tree.join("file"), noise(1, 50_000)).expect("a file");
    let bytes = build("dwarfs", &tree, &image, &[]);
    for flags in [&[][..], &["--deep"]] {
        for length in [3000, bytes.len() / 2, bytes.len() - 10] {
            fs::write(&image, &bytes[..length]).expect("the start of an image");
            let words = [OsStr::new("check"), image.as_os_str()];
            let output = try_run(words.into_iter().chain(flags.iter().map(OsStr::new)));
            assert_eq!(output.status.code(), Some(1), "{length}: {output:?}");
            let messages = String::from_utf8_lossy(&output.stderr).into_owned();
            let lines: Vec<&str> = messages.lines().collect();
            let different: BTreeSet<&&str> = lines.iter().collect();
            assert_eq!(lines.len(), different.len(), "{length}: {messages}");
        }
    }
}

#[test]
fn files_with_damaged_data_are_named() {
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.dwarfs"));
    fs::create_dir(&tree).expect("a directory");
    for file in 0..60_u64 {
        fs::write(tree.join(format!("f{file:02}")), noise(file, 5000)).expect("a file");
    }
    let mut bytes = build("dwarfs", &tree, &image, &["-b", "64k"]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&image, bytes).expect("the damage");
    let named = |words: &[&str]| -> BTreeSet<String> {
        let output = try_run(words.iter().map(OsStr::new).chain([image.as_os_str()]));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let words = messages.split(|c: char| !c.is_ascii_alphanumeric());
        let names = words.filter(|word| word.len() == 3 && word.starts_with('f'));
        names.map(str::to_owned).collect()
    };
    let out = work.path().join("out");
    let lost = named(&["extract", "-o", out.to_str().expect("text")]);
    assert!(!lost.is_empty() && lost.len() < 30, "{lost:?}");
    assert_eq!(named(&["check", "--deep"]), lost);
    // without reading files, only the block is known
    assert!(named(&["check"]).is_empty());
}

#[test]
fn a_file_that_is_cut_off_is_said_to_be() {
    let work = scratch();
    let tree = work.path().join("tree");
    fs::create_dir(&tree).expect("a directory");
    for number in 0..20 {
        fs::write(tree.join(number.to_string()), noise(number, 5000)).expect("a file");
    }
    for (format, said) in [
        (
            "dwarfs",
            &["cut off, or this is damaged: 3000 bytes, at least "][..],
        ),
        ("squashfs", &["truncated: expected "]),
        (
            "erofs",
            &["truncated: expected ", "which may have been cut"],
        ),
    ] {
        let image = work.path().join(format!("i.{format}"));
        let whole = build(format, &tree, &image, &[]);
        fs::write(&image, &whole[..3000]).expect("the start of an image");
        for (command, code) in [("ls", 3), ("check", 1)] {
            let output = try_run([OsStr::new(command), image.as_os_str()]);
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_said = said.iter().any(|said| words.contains(said));
            assert!(is_said, "{format} {command}: {words}");
            assert_eq!(
                output.status.code(),
                Some(code),
                "{format} {command}: {words}"
            );
        }
    }
}
