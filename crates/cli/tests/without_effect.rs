//! Options that would have no effect: each is an error that names it, and nothing is written; where
//! the same option has an effect, it is taken.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, UNIX_EPOCH};

use support::{scratch, sinter};

/// Formats with flags, and what is said of them; nothing if the image is made.
const CASES: &[(&str, &[&str], &str)] = &[
    (
        "wim",
        &[UNCOMPRESSED],
        "--action uncompressed does not apply to wim images",
    ),
    (
        "cramfs",
        &[UNCOMPRESSED],
        "--action uncompressed does not apply to cramfs images",
    ),
    (
        "iso9660",
        &[UNCOMPRESSED, "-l9"],
        "--action uncompressed does not apply to iso9660",
    ),
    (
        "composefs",
        &[UNCOMPRESSED],
        "--action uncompressed does not apply to composefs",
    ),
    ("dwarfs", &[UNCOMPRESSED], ""),
    ("squashfs", &[UNCOMPRESSED], ""),
    ("erofs", &[UNCOMPRESSED], ""),
    (
        "cramfs",
        &["--no-categorize"],
        "--no-categorize does not apply to cramfs",
    ),
    (
        "cramfs",
        &["--categorize"],
        "--no-categorize does not apply to cramfs",
    ),
    (
        "iso9660",
        &["--categorize=text"],
        "--categorize or --no-categorize does not apply",
    ),
    (
        "wim",
        &["--no-categorize"],
        "in which each file has its own blocks",
    ),
    (
        "squashfs",
        &["--no-fragments", "--no-categorize"],
        "its own blocks",
    ),
    ("wim", &["-l9", "--categorize=text"], ""),
    ("squashfs", &["--no-categorize"], ""),
    ("erofs", &["--categorize"], ""),
    (
        "cramfs",
        &[SIMILARITY],
        "--order similarity does not apply to cramfs images",
    ),
    (
        "iso9660",
        &[SIMILARITY],
        "--order similarity does not apply to iso9660 images",
    ),
    (
        "wim",
        &[SIMILARITY],
        "--order similarity does not apply to wim images in which each",
    ),
    ("wim", &["-C", "lzx:solid", SIMILARITY], ""),
    ("squashfs", &[SIMILARITY], ""),
    ("cramfs", &["--order=revpath"], ""),
    ("iso9660", &["--order=path"], ""),
    ("wim", &["--order=none"], ""),
    (
        "cramfs",
        &["--create-timestamp=77"],
        "--create-timestamp does not apply to cramfs",
    ),
    (
        "cramfs",
        &["--create-timestamp"],
        "--create-timestamp does not apply to cramfs",
    ),
    (
        "composefs",
        &["--create-timestamp=77"],
        "--create-timestamp does not apply to",
    ),
    ("iso9660", &["--create-timestamp=77"], ""),
    (
        "iso9660",
        &["-b64k"],
        "--block-size does not apply to iso9660 images without compression",
    ),
    ("iso9660", &["-b64k", "-l9"], ""),
    ("iso9660", &["-b64k", "-C", "zlib"], ""),
    (
        "wim",
        &["-b64k", "-l0"],
        "--block-size does not apply to wim images without",
    ),
    (
        "wim",
        &["-b64k", "-C", "nonsense"],
        "compression `nonsense`",
    ),
    (
        "wim",
        &["--no-duplicates"],
        "--no-duplicates does not apply to wim images",
    ),
    ("iso9660", &["--no-duplicates"], ""),
    ("cramfs", &["--no-duplicates"], ""),
    (
        "dwarfs",
        &["--pseudo-dir", "d 755 0 0"],
        "--pseudo-dir requires definitions of files",
    ),
    (
        "squashfs",
        &["--pseudo-override"],
        "--pseudo-override requires definitions of files",
    ),
    (
        "dwarfs",
        &["--pseudo-dir", "d 755 0 0", "--pseudo", "a/b d 700 0 0"],
        "",
    ),
    (
        "dwarfs",
        &["--pseudo-override", "--pseudo-file", "definitions"],
        "",
    ),
    (
        "dwarfs",
        &["--dir-defaults=mode=700"],
        "--dir-defaults is about directories of archives",
    ),
];

const UNCOMPRESSED: &str = "--action=uncompressed@true";
const SIMILARITY: &str = "--order=similarity";

fn built(work: &Path, format: &str, flags: &[&str], source: &str, time: Option<&str>) -> Output {
    let mut command = sinter();
    command.current_dir(work).env_remove("SOURCE_DATE_EPOCH");
    command.args(["build", source, "-f", format, "-o", "image"]);
    command.envs(time.map(|time| ("SOURCE_DATE_EPOCH", time)));
    command.args(flags).output().unwrap()
}

/// Makes a tree and other sources in a new directory.
fn place() -> tempfile::TempDir {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir_all(path("tree/d")).unwrap();
    fs::write(path("tree/d/text"), "words of a text\n".repeat(5000)).unwrap();
    fs::write(path("tree/same"), "words of a text\n".repeat(5000)).unwrap();
    fs::write(path("definitions"), "defined d 711 3 4\n").unwrap();
    work
}

#[test]
fn options_without_effect_are_refused() {
    let work = place();
    for (format, flags, expected) in CASES {
        let output = built(work.path(), format, flags, "tree", None);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let image = work.path().join("image");
        assert_eq!(
            image.exists(),
            expected.is_empty(),
            "{format} {flags:?}: {said}"
        );
        if expected.is_empty() {
            assert!(output.status.success(), "{format} {flags:?}: {said}");
            fs::remove_file(image).unwrap();
        } else {
            assert_eq!(output.status.code(), Some(2), "{format} {flags:?}: {said}");
            assert!(said.contains(expected), "{format} {flags:?}: {said}");
        }
    }
}

#[test]
fn the_time_of_the_environment_is_for_formats_that_record_one() {
    let work = place();
    for (flags, expected) in [(&[][..], 0), (&["--create-timestamp=77"], 2)] {
        for format in ["cramfs", "composefs"] {
            let output = built(work.path(), format, flags, "tree", Some("1000"));
            assert_eq!(output.status.code(), Some(expected), "{format}: {output:?}");
            let _ = fs::remove_file(work.path().join("image"));
        }
    }
}

#[test]
fn a_dump_is_packed_as_it_is() {
    let work = place();
    fs::write(work.path().join("dump"), "/ 4096 40755 2 0 0 0 0.0 - - -\n").unwrap();
    for (flags, expected) in [
        (&[][..], ""),
        (&["--action=chmod(700)@true"], "--action or --action-file"),
        (&["--no-hardlinks"], "--no-hardlinks"),
        (&["--xattrs-add", "user.a=b"], "--xattrs-add"),
        (&["--pseudo-dir", "d 755 0 0"], "--pseudo-dir"),
        (&["--pseudo-override"], "--pseudo-override"),
        (&["--dir-defaults", "uid=7"], "--dir-defaults"),
    ] {
        let output = built(work.path(), "composefs", flags, "--from-dump=dump", None);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            output.status.success(),
            expected.is_empty(),
            "{flags:?}: {said}"
        );
        let words = format!("{expected} does not apply to dumps");
        assert!(expected.is_empty() || said.contains(&words), "{said}");
        let _ = fs::remove_file(work.path().join("image"));
    }
}

#[test]
fn reports_hard_links_missing_from_a_list() {
    let work = place();
    fs::hard_link(
        work.path().join("tree/same"),
        work.path().join("tree/second"),
    )
    .unwrap();
    fs::hard_link(
        work.path().join("tree/same"),
        work.path().join("tree/third"),
    )
    .unwrap();
    assert!(
        built(work.path(), "dwarfs", &[], "tree", None)
            .status
            .success()
    );
    let listed = |more: &[&str]| {
        let mut command = sinter();
        command
            .current_dir(work.path())
            .args(["extract", "image", "--mtree", "-q"]);
        command.args(more).output().unwrap()
    };
    let output = listed(&[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(
        said,
        "sinter: not kept by mtree: 2 hard links (each name becomes a separate file)\n"
    );
    assert_eq!(listed(&["--strict"]).status.code(), Some(4));
    // a part of the image with one name of the file has no links
    let part = listed(&["--strict", "same"]);
    assert!(part.status.success(), "{part:?}");
}

#[test]
fn times_that_are_rounded_are_counted_in_words_that_are_no_factor() {
    let work = place();
    let file = fs::File::options()
        .write(true)
        .open(work.path().join("tree/same"))
        .unwrap();
    file.set_modified(UNIX_EPOCH + Duration::new(1_000_000_000, 500))
        .unwrap();
    let of_one = "fractions of a second of 1 time";
    let kept = " (--time-resolution 1ns keeps them)";
    for (format, lost) in [
        ("dwarfs", format!("{of_one}{kept}")),
        ("squashfs", of_one.to_owned()),
        ("iso9660", of_one.to_owned()),
    ] {
        let output = built(
            work.path(),
            format,
            &["--only", "same", "--root-time=1"],
            "tree",
            None,
        );
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = format!("sinter: not kept by {format}: {lost}");
        assert!(said.lines().any(|found| found == line), "{format}: {said}");
        fs::remove_file(work.path().join("image")).unwrap();
        let flags = ["-q", "--only", "same", "--root-time=1"];
        let output = built(work.path(), format, &flags, "tree", None);
        assert!(output.stderr.is_empty(), "{output:?}");
        fs::remove_file(work.path().join("image")).unwrap();
        let flags = ["--strict", "--only", "same", "--root-time=1"];
        let output = built(work.path(), format, &flags, "tree", None);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{format}: {said}");
        assert!(
            said.contains(&format!("keep {lost} (--strict)")),
            "{format}: {said}"
        );
    }
    let flags = ["--time-resolution=1ns", "--strict"];
    assert!(
        built(work.path(), "dwarfs", &flags, "tree", None)
            .status
            .success()
    );
}
