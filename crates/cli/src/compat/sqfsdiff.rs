//! The options of sqfsdiff (squashfs-tools-ng 1.2), translated to options of `sinter diff`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Combined, Refused};
use super::table::{Rule, Style, Tool, rule};

pub(super) const TOOL: Tool = Tool {
    name: "sqfsdiff",
    usage: "-a OLD -b NEW [OPTIONS]",
    about: "\
Compares two images of any formats, or directories, as `sinter diff` does, and prints the lines of
sqfsdiff. The exit code is 0 if they are equal, 1 if they differ and 2 for errors. Extended
attributes and hard links are not compared. Each line shows the equivalent of `sinter diff`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[RULES],
    translate,
};

const RULES: &[Rule] = &[
    rule(&["-a", "--old"], "OLD", Combined("the first operand")),
    rule(&["-b", "--new"], "NEW", Combined("the second operand")),
    rule(&["-C", "--no-contents"], "", Combined("--ignore content")),
    rule(&["-O", "--no-owner"], "", Combined("--ignore uid,gid")),
    rule(&["-P", "--no-permissions"], "", Combined("--ignore mode")),
    rule(
        &["-T", "--timestamps"],
        "",
        Combined("without it: --ignore mtime"),
    ),
    rule(
        &["-e", "--extract"],
        "DIR",
        Combined("files that differ are unpacked to DIR/old and DIR/new"),
    ),
    rule(
        &["-I", "--inode-num"],
        "",
        Refused("numbers of inodes are not compared; `sinter stat` shows them"),
    ),
    rule(
        &["-S", "--super"],
        "",
        Refused("`sinter info` shows the codec, sizes and time of each image"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    if !parsed.operands.is_empty() {
        let what = "the trees to compare are the values of -a and -b";
        return Err(Error::invalid(what));
    }
    let tree = |name: &'static str| {
        let tree = parsed.values(name).last().map(OsString::from);
        tree.ok_or_else(|| Error::invalid(format!("{name} IMAGE is missing")))
    };
    let (old, new) = (tree("-a")?, tree("-b")?);
    let mut words: Vec<OsString> = vec!["diff".into(), "--sqfsdiff".into(), "--no-renames".into()];
    let ignored = [
        (true, "links,xattrs"),
        (parsed.is_given("-C"), "content"),
        (parsed.is_given("-O"), "uid,gid"),
        (parsed.is_given("-P"), "mode"),
        (!parsed.is_given("-T"), "mtime"),
    ];
    let ignored = ignored.into_iter().filter(|(is_ignored, _)| *is_ignored);
    let fields: Vec<&str> = ignored.map(|(_, fields)| fields).collect();
    words.push(format!("--ignore={}", fields.join(",")).into());
    let dir = parsed.values("-e").last();
    words.extend(dir.map(|dir| with_value("--extract-to", dir)));
    words.append(&mut parsed.translated);
    words.extend(["--".into(), old, new]);
    Ok(words)
}
