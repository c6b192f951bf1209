//! The options of programs that check images (fsck.erofs, dwarfsck), translated to options of
//! `sinter check`, `extract`, `ls` and `info`.

use std::ffi::{OsStr, OsString};

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::readers::shows_warnings_only;
use super::table::Meaning::{Already, Combined, Each, Noted, Refused, Same};
use super::table::{Rule, Style, Tool, rule};

pub(super) const FSCK_EROFS: Tool = Tool {
    name: "fsck.erofs",
    usage: "[OPTIONS] IMAGE",
    about: "\
Checks an image of any format, as `sinter check` does, or unpacks it, as `sinter extract` does. Each
line shows the equivalent option of `sinter`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[FSCK_EROFS_RULES],
    translate: fsck_erofs,
};

const FSCK_EROFS_RULES: &[Rule] = &[
    rule(&["-d"], "LEVEL", Combined("0 to 2: --quiet")),
    rule(
        &["-p"],
        "",
        Refused("`sinter info` shows the bytes of files and of the image"),
    ),
    rule(&["--device"], "FILE", Each("--device")),
    rule(
        &["--extract"],
        "[=DIR]",
        Combined("check --deep; with a directory extract --output"),
    ),
    rule(&["--offset"], "BYTES", Same("--offset")),
    rule(
        &["--nid", "--path"],
        "X",
        Refused("`sinter extract IMAGE PATH -o DIR` unpacks a part of an image"),
    ),
    rule(
        &["--xattr-inode-digest"],
        "",
        Refused("`sinter extract --mtree` lists the SHA-256 of all files"),
    ),
    rule(
        &["--no-sbcrc"],
        "",
        Noted("the checksum of the superblock is always compared"),
    ),
    rule(
        &["--xattrs"],
        "",
        Combined("extract, without it extract --no-xattrs"),
    ),
    rule(&["--no-xattrs"], "", Combined("extract --no-xattrs")),
    rule(&["-a", "-A", "-y"], "", Already("nothing is repaired")),
    rule(
        &["--force"],
        "",
        Already("any directory can be unpacked to"),
    ),
    rule(&["--overwrite"], "", Combined("extract --force")),
    rule(
        &["--preserve"],
        "",
        Combined("as --preserve-owner and --preserve-perms"),
    ),
    rule(
        &["--no-preserve"],
        "",
        Combined("as --no-preserve-owner and --no-preserve-perms"),
    ),
    rule(&["--preserve-owner"], "", Combined("extract --owner")),
    rule(&["--no-preserve-owner"], "", Combined("extract --no-owner")),
    rule(
        &["--preserve-perms"],
        "",
        Combined("extract, which restores permissions"),
    ),
    rule(
        &["--no-preserve-perms"],
        "",
        Combined("extract --no-permissions"),
    ),
];

/// The options of fsck.erofs that need a directory to unpack to.
const OF_EXTRACTION: [&str; 7] = [
    "--overwrite",
    "--preserve",
    "--no-preserve",
    "--preserve-owner",
    "--no-preserve-owner",
    "--preserve-perms",
    "--no-preserve-perms",
];

pub(super) const DWARFSCK: Tool = Tool {
    name: "dwarfsck",
    usage: "[-i] IMAGE [OPTIONS]",
    about: "\
Checks an image of any format, as `sinter check` does, or lists it, as `sinter ls` does. Each line
shows the equivalent option of `sinter`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &[],
    rules: &[DWARFSCK_RULES],
    translate: dwarfsck,
};

const DWARFSCK_RULES: &[Rule] = &[
    rule(&["-i", "--input"], "IMAGE", Combined("the image")),
    rule(
        &["-d", "--detail"],
        "X",
        Noted("`sinter info` and `sinter info --report` describe an image"),
    ),
    rule(&["-q", "--quiet"], "", Combined("--quiet")),
    rule(&["-v", "--verbose"], "", Combined("with -l: ls -l")),
    rule(&["-O", "--image-offset"], "BYTES", Same("--offset")),
    rule(
        &["--image-size"],
        "BYTES",
        Noted("an image knows its own length"),
    ),
    rule(
        &["-H", "--print-header"],
        "",
        Refused("`sinter info` shows the offset of the image, before which the header is"),
    ),
    rule(&["-l", "--list"], "", Combined("ls -R")),
    rule(
        &["--checksum"],
        "X",
        Refused("`sinter extract --mtree` lists the SHA-256 of all files"),
    ),
    rule(&["-n", "--num-workers"], "N", Combined("--jobs")),
    rule(&["-s", "--cache-size"], "SIZE", Same("--cache-size")),
    rule(&["--check-integrity"], "", Combined("check --deep")),
    rule(&["--no-check"], "", Combined("info")),
    rule(
        &["-j", "--json"],
        "",
        Refused("`sinter info --json` and `sinter check --json` have other fields"),
    ),
    rule(
        &["--export-metadata"],
        "FILE",
        Refused("`sinter info --json` and `sinter ls -lR --json` have other fields"),
    ),
    rule(
        &["--log-level"],
        "LEVEL",
        Combined("error, warn: --quiet; others: no effect"),
    ),
    rule(
        &["--log-with-context"],
        "",
        Noted("log messages have no source locations"),
    ),
];

fn fsck_erofs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image] = <[OsString; 1]>::try_from(std::mem::take(&mut parsed.operands))
        .map_err(|_| Error::invalid("exactly one image is needed"))?;
    let extract = parsed.values("--extract").last().map(OsStr::to_owned);
    let is_quiet = match parsed.text("-d")? {
        None => false,
        Some(level) => match level.as_bytes() {
            [digit @ b'0'..=b'9'] => *digit <= b'2',
            _ => return Err(Error::invalid("-d needs a level from 0 to 9")),
        },
    };
    let dir = extract.as_ref().filter(|dir| !dir.is_empty());
    let mut words: Vec<OsString> = match dir {
        Some(dir) => vec!["extract".into(), with_value("--output", dir)],
        None => vec!["check".into()],
    };
    match dir {
        Some(_) => words.extend(extraction(&parsed)),
        None => {
            let mut of_extraction = OF_EXTRACTION.into_iter();
            if let Some(option) = of_extraction.find(|name| parsed.is_given(name)) {
                return Err(Error::invalid(format!("{option} needs --extract=DIR")));
            }
        }
    }
    if dir.is_none() && extract.is_some() {
        words.push("--deep".into());
    }
    if is_quiet {
        words.push("--quiet".into());
    }
    words.append(&mut parsed.translated);
    words.extend(["--".into(), image]);
    Ok(words)
}

/// Returns the options of `sinter extract`; of an option and its opposite, the later one counts.
fn extraction(parsed: &Parsed) -> Vec<OsString> {
    let (mut owner, mut permissions, mut xattrs) = (None, true, false);
    for (name, _, _) in parsed.in_order() {
        match name {
            "--preserve" => (owner, permissions) = (Some(true), true),
            "--no-preserve" => (owner, permissions) = (Some(false), false),
            "--preserve-owner" => owner = Some(true),
            "--no-preserve-owner" => owner = Some(false),
            "--preserve-perms" => permissions = true,
            "--no-preserve-perms" => permissions = false,
            "--xattrs" => xattrs = true,
            "--no-xattrs" => xattrs = false,
            _ => {}
        }
    }
    let flags = [
        (parsed.is_given("--overwrite"), "--force"),
        (owner == Some(true), "--owner"),
        (owner == Some(false), "--no-owner"),
        (!permissions, "--no-permissions"),
        (!permissions && xattrs, "--rights"),
        (!xattrs, "--no-xattrs"),
    ];
    let given = flags.into_iter().filter(|(is_given, _)| *is_given);
    given.map(|(_, flag)| flag.into()).collect()
}

fn dwarfsck(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut images: Vec<OsString> = parsed.values("-i").map(OsStr::to_owned).collect();
    images.append(&mut parsed.operands);
    let [image] = <[OsString; 1]>::try_from(images)
        .map_err(|_| Error::invalid("exactly one image is needed"))?;
    let asked = ["-l", "--check-integrity", "--no-check"].map(|name| parsed.is_given(name));
    let flags: &[&str] = match asked {
        [false, false, false] => &["check"],
        [true, false, _] if parsed.is_given("-v") => &["ls", "-lR"],
        [true, false, _] => &["ls", "-R"],
        [false, true, false] => &["check", "--deep"],
        [false, false, true] => &["info"],
        _ => {
            let what = "--check-integrity excludes --list and --no-check";
            return Err(Error::invalid(what));
        }
    };
    let mut words: Vec<OsString> = flags.iter().map(OsString::from).collect();
    if flags.first() == Some(&"check") {
        let is_quiet = parsed.is_given("-q") || shows_warnings_only(&parsed)?;
        words.extend(is_quiet.then(|| "--quiet".into()));
        let threads = parsed.values("-n").last();
        words.extend(threads.map(|threads| with_value("--jobs", threads)));
    }
    words.append(&mut parsed.translated);
    words.extend(["--".into(), image]);
    Ok(words)
}
