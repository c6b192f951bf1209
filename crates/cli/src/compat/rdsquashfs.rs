//! The options of rdsquashfs (squashfs-tools-ng 1.2), translated to options of `sinter ls`, `cat`,
//! `stat` and `extract`.

use std::ffi::{OsStr, OsString};

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::Combined;
use super::table::{Rule, Style, Tool, rule};

pub(super) const TOOL: Tool = Tool {
    name: "rdsquashfs",
    usage: "[OPTIONS] IMAGE",
    about: "\
Lists, describes, prints or unpacks an image of any format, as `sinter ls`, `cat`, `stat` and
`extract` do. The last option of -l, -c, -x, -u, -s and -d counts. Each line shows the equivalent
command or option of `sinter`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[RULES],
    translate,
};

const RULES: &[Rule] = &[
    rule(
        &["-l", "--list"],
        "PATH",
        Combined("ls -l, in the form of rdsquashfs"),
    ),
    rule(&["-c", "--cat"], "PATH", Combined("cat")),
    rule(
        &["-x", "--xattr"],
        "PATH",
        Combined("ls, attributes as lines of NAME=VALUE"),
    ),
    rule(
        &["-u", "--unpack-path"],
        "DIR",
        Combined("extract the contents of the directory"),
    ),
    rule(&["-s", "--stat"], "PATH", Combined("stat")),
    rule(
        &["-d", "--describe"],
        "",
        Combined("ls -R, in the form that gensquashfs -F reads"),
    ),
    rule(
        &["-p", "--unpack-root"],
        "DIR",
        Combined("with -u: extract --output (.); with -d: the directory of the files"),
    ),
    rule(&["-D", "--no-dev"], "", Combined("without devices")),
    rule(&["-S", "--no-sock"], "", Combined("without sockets")),
    rule(&["-F", "--no-fifo"], "", Combined("without fifos")),
    rule(&["-L", "--no-slink"], "", Combined("without symlinks")),
    rule(
        &["-E", "--no-empty-dir"],
        "",
        Combined("without directories that hold nothing"),
    ),
    rule(&["-Z", "--no-sparse"], "", Combined("extract --no-sparse")),
    rule(
        &["-X", "--set-xattr"],
        "",
        Combined("without it: extract --no-xattrs"),
    ),
    rule(
        &["-T", "--set-times"],
        "",
        Combined("without it: extract --no-times"),
    ),
    rule(
        &["-C", "--chmod"],
        "",
        Combined("without it: extract --no-permissions"),
    ),
    rule(
        &["-O", "--chown"],
        "",
        Combined("extract --owner, without it --no-owner"),
    ),
    rule(&["-q", "--quiet"], "", Combined("extract --quiet")),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image] = <[OsString; 1]>::try_from(std::mem::take(&mut parsed.operands))
        .map_err(|_| Error::invalid("exactly one image is needed"))?;
    let asked = parsed
        .in_order()
        .filter(|(name, ..)| ["-l", "-c", "-x", "-u", "-s", "-d"].contains(name))
        .last();
    let (asked, _, path) = asked.ok_or_else(|| {
        Error::invalid(
            "one of -l, -c, -x, -u, -s and -d is needed to say what to do with the \
                        image",
        )
    })?;
    let path = path.to_owned();
    let mut words: Vec<OsString> = match asked {
        "-l" => vec!["ls".into(), "--rdsquashfs=list".into()],
        "-x" => vec!["ls".into(), "--rdsquashfs=xattrs".into()],
        "-d" => vec!["ls".into(), "--rdsquashfs=describe".into()],
        "-c" => vec!["cat".into()],
        "-s" => vec!["stat".into()],
        _ => extraction(&parsed, &path),
    };
    let root = parsed.values("-p").last();
    if let ("-d", Some(root)) = (asked, root) {
        words.push(with_value("--pack-root", root));
    }
    if !["-c", "-s"].contains(&asked) {
        words.extend(left_out(&parsed));
    }
    words.extend(["--".into(), image]);
    if ["-l", "-x", "-c", "-s"].contains(&asked) {
        words.push(path);
    }
    Ok(words)
}

/// Returns the options for the types that are left out.
fn left_out(parsed: &Parsed) -> Vec<OsString> {
    let types = [
        ("-D", "--without=devices"),
        ("-S", "--without=sockets"),
        ("-F", "--without=fifos"),
        ("-L", "--without=symlinks"),
        ("-E", "--without-empty"),
    ];
    let given = types.into_iter().filter(|(name, _)| parsed.is_given(name));
    given.map(|(_, ours)| ours.into()).collect()
}

fn extraction(parsed: &Parsed, path: &OsStr) -> Vec<OsString> {
    let root = parsed.values("-p").last();
    let mut words = vec![
        "extract".into(),
        with_value("--output", root.unwrap_or(OsStr::new("."))),
        with_value("--below", path),
    ];
    let flags = [
        (parsed.is_given("-q"), "--quiet"),
        (parsed.is_given("-Z"), "--no-sparse"),
        (!parsed.is_given("-X"), "--no-xattrs"),
        (!parsed.is_given("-T"), "--no-times"),
        (!parsed.is_given("-C"), "--no-permissions"),
        (!parsed.is_given("-C"), "--usual-modes"),
        (parsed.is_given("-X") && !parsed.is_given("-C"), "--rights"),
        (parsed.is_given("-O"), "--owner"),
        (!parsed.is_given("-O"), "--no-owner"),
    ];
    let given = flags.into_iter().filter(|(is_given, _)| *is_given);
    words.extend(given.map(|(_, flag)| flag.into()));
    words
}
