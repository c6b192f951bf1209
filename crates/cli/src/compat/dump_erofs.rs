//! The options of dump.erofs (1.9), translated to those of `sinter info`, `stat`, `ls` and `cat`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::Parsed;
use super::table::Meaning::{Combined, Refused, Same};
use super::table::{Rule, Style, Tool, rule};

pub(super) const TOOL: Tool = Tool {
    name: "dump.erofs",
    usage: "[OPTIONS] IMAGE",
    about: "\
Shows facts about an image of any format, as `sinter info` does, or about a file in it, as `sinter
stat`, `ls` and `cat` do, and in their form. Each line shows the equivalent of `sinter`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[RULES],
    translate,
};

const RULES: &[Rule] = &[
    rule(&["-s"], "", Combined("info")),
    rule(&["--path"], "PATH", Combined("stat IMAGE PATH")),
    rule(&["--ls"], "", Combined("ls -l IMAGE PATH")),
    rule(&["--cat"], "", Combined("cat IMAGE PATH")),
    rule(&["--device"], "FILE", Same("--device")),
    rule(&["--offset"], "BYTES", Same("--offset")),
    rule(
        &["--nid"],
        "N",
        Refused("--path names the file; `sinter find IMAGE` and `ls --json` show inode numbers"),
    ),
    rule(
        &["-e"],
        "",
        Refused("`sinter info --dump` shows the place of each extent"),
    ),
    rule(
        &["-S"],
        "",
        Refused("`sinter info --report FILE` and `sinter du` show what takes up space"),
    ),
    rule(
        &["--blkid-udev"],
        "",
        Refused("`blkid -p -o udev IMAGE` prints these lines"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image] = <[OsString; 1]>::try_from(std::mem::take(&mut parsed.operands))
        .map_err(|_| Error::invalid("exactly one image is needed"))?;
    let path = parsed.values("--path").last().map(OsString::from);
    let asked = ["-s", "--ls", "--cat"].map(|name| parsed.is_given(name));
    let (words, path): (&[&str], _) = match (path, asked) {
        (None, [_, false, false]) => (&["info"], None),
        (None, _) => return Err(Error::invalid("--ls and --cat need --path PATH")),
        (path, [false, false, false]) => (&["stat"], path),
        (path, [false, true, false]) => (&["ls", "-l"], path),
        (path, [false, false, true]) => (&["cat"], path),
        _ => {
            let what = "-s, --ls and --cat exclude each other, and -s takes no --path";
            return Err(Error::invalid(what));
        }
    };
    let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
    words.append(&mut parsed.translated);
    words.extend(["--".into(), image]);
    words.extend(path);
    Ok(words)
}
