//! The options of dump.erofs (1.9), translated to options of `sinter info` and `cat`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Combined, Each, Same};
use super::table::{Rule, Style, Tool, rule};

pub(super) const TOOL: Tool = Tool {
    name: "dump.erofs",
    usage: "[OPTIONS] IMAGE",
    about: "\
Shows facts about an EROFS image, or about a file in it; of other formats what `sinter info` shows.
Each line shows the equivalent of `sinter`, or what it does.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[RULES],
    translate,
};

const RULES: &[Rule] = &[
    rule(&["-s"], "", Combined("info, in the form of dump.erofs")),
    rule(&["-S"], "", Combined("counts and sizes of files")),
    rule(
        &["-e"],
        "",
        Combined("with --path or --nid: the places of the content"),
    ),
    rule(&["--path"], "PATH", Combined("stat IMAGE PATH")),
    rule(
        &["--nid"],
        "N",
        Combined("the same of the inode with this number"),
    ),
    rule(&["--ls"], "", Combined("ls IMAGE PATH")),
    rule(&["--cat"], "", Combined("cat IMAGE PATH")),
    rule(&["--device"], "FILE", Each("--device")),
    rule(&["--offset"], "BYTES", Same("--offset")),
    rule(
        &["--blkid-udev"],
        "",
        Combined("the UUID and type in the form of blkid"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image] = <[OsString; 1]>::try_from(std::mem::take(&mut parsed.operands))
        .map_err(|_| Error::invalid("exactly one image is needed"))?;
    let path = parsed.values("--path").last().map(OsString::from);
    let nid = parsed.text("--nid")?.map(str::to_owned);
    let names_inode = path.is_some() || nid.is_some();
    for option in ["-e", "--ls", "--cat"] {
        if parsed.is_given(option) && !names_inode {
            let what = format!("{option} needs --path PATH or --nid N");
            return Err(Error::invalid(what));
        }
    }
    if parsed.is_given("--cat") {
        let path = path.ok_or_else(|| Error::unsupported("--cat needs --path PATH"))?;
        let others = ["-s", "-S", "-e", "--ls", "--blkid-udev"];
        if others.iter().any(|option| parsed.is_given(option)) {
            return Err(Error::invalid("--cat excludes the other options"));
        }
        let mut words: Vec<OsString> = vec!["cat".into()];
        words.append(&mut parsed.translated);
        words.extend(["--".into(), image, path]);
        return Ok(words);
    }
    let mut facts = Vec::new();
    for (option, fact) in [
        ("-s", "superblock"),
        ("-S", "statistics"),
        ("--blkid-udev", "udev"),
        ("-e", "extents"),
        ("--ls", "entries"),
    ] {
        facts.extend(parsed.is_given(option).then_some(fact));
    }
    if names_inode && !["-e", "--ls"].iter().any(|option| parsed.is_given(option)) {
        facts.push("inode");
    }
    if facts.is_empty() {
        facts.push("superblock");
    }
    let mut words: Vec<OsString> = vec!["info".into()];
    let facts = facts.into_iter();
    words.extend(facts.map(|fact| with_value("--dump-erofs", fact.as_ref())));
    words.extend(path.map(|path| with_value("--of", &path)));
    words.extend(nid.map(|nid| with_value("--nid", nid.as_ref())));
    words.append(&mut parsed.translated);
    words.extend(["--".into(), image]);
    Ok(words)
}
