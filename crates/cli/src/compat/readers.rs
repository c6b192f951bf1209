//! The options of programs that read images (sqfscat, sqfs2tar, dwarfsextract), translated to
//! options of `sinter extract` and `cat`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Noted, Refused, Same};
use super::table::{HELP_FORM, HELP_OF_READERS, Rule, Style, Tool, rule};
use super::unsquashfs::cache_size;

pub(super) const SQFSCAT: Tool = Tool {
    name: "sqfscat",
    usage: "[OPTIONS] IMAGE PATH..",
    about: "\
Prints files of an image of any format, as `sinter cat` does. Paths may be globs. Each line shows
the equivalent option of `sinter cat`.",
    style: Style::WordsFirst,
    help: HELP_OF_READERS,
    version: &["-v", "-version"],
    rules: &[
        &[
            rule(&["-o", "-offset"], "BYTES", Same("--offset")),
            rule(&["-p", "-processors"], "N", Combined("--jobs")),
            rule(&["-mem"], "SIZE", Combined("--cache-size")),
            rule(
                &["-mem-percent"],
                "N",
                Combined("--cache-size, N percent of all memory"),
            ),
            rule(
                &["-st", "-strict-errors"],
                "",
                Combined("the first error ends it, else only one of writing"),
            ),
            rule(
                &["-no-exit", "-no-exit-code"],
                "",
                Combined("exit code 0 unless an error ends it"),
            ),
            rule(
                &["-no-wild", "-no-wildcards"],
                "",
                Combined("paths are taken as they are"),
            ),
            rule(
                &["-r", "-regex"],
                "",
                Combined("names of paths are regular expressions"),
            ),
            rule(
                &["-ig", "-ignore-errors"],
                "",
                Refused("output that cannot be written is an error"),
            ),
            rule(
                &["-da", "-data-queue", "-fr", "-frag-queue"],
                "N",
                Noted("-mem SIZE limits the cache of decoded blocks"),
            ),
        ],
        HELP_FORM,
    ],
    translate: sqfscat,
};

pub(super) const SQFS2TAR: Tool = Tool {
    name: "sqfs2tar",
    usage: "[OPTIONS] IMAGE > TAR",
    about: "\
Writes an image of any format as a tar archive to standard output, as `sinter extract --tar` does.
Each line shows the equivalent option of `sinter extract`.",
    style: Style::Getopt,
    help: &["-h", "-help"],
    version: &["-V"],
    rules: &[SQFS2TAR_RULES],
    translate: sqfs2tar,
};

const SQFS2TAR_RULES: &[Rule] = &[
    rule(
        &["-d", "--subdir"],
        "DIR",
        Combined("the path, including its parents"),
    ),
    rule(
        &["-k", "--keep-as-dir"],
        "",
        Combined("paths keep their parents; required with a single -d"),
    ),
    rule(
        &["-c", "--compressor"],
        "X",
        Refused("pipe the archive to gzip, xz or zstd"),
    ),
    rule(&["-X", "--no-xattr"], "", Same("--no-xattrs")),
    rule(
        &["-L", "--no-hard-links"],
        "",
        Refused("hard links are always preserved"),
    ),
    rule(
        &["-r", "--root-becomes"],
        "NAME",
        Refused("the root is always ./"),
    ),
    rule(
        &["-s", "--no-skip"],
        "",
        Refused("`sinter extract --tar --strict` fails on files that cannot be stored"),
    ),
];

pub(super) const DWARFSEXTRACT: Tool = Tool {
    name: "dwarfsextract",
    usage: "-i IMAGE [-o DIR | -f FORMAT] [OPTIONS] [PATH..]",
    about: "\
Unpacks an image of any format, or writes it as an archive, as `sinter extract` does. Each line
shows the equivalent option of `sinter extract`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &[],
    rules: &[DWARFSEXTRACT_RULES],
    translate: dwarfsextract,
};

const DWARFSEXTRACT_RULES: &[Rule] = &[
    rule(&["-i", "--input"], "IMAGE", Combined("the image")),
    rule(&["-o", "--output"], "DIR|FILE", Same("--output")),
    rule(
        &["-f", "--format"],
        "FORMAT",
        Combined("pax, gnutar, ustar: --tar; newc, cpio: --cpio; mtree: --mtree"),
    ),
    rule(&["-O", "--image-offset"], "BYTES", Same("--offset")),
    rule(
        &["--image-size"],
        "BYTES",
        Noted("an image knows its own length"),
    ),
    rule(&["-n", "--num-workers"], "N", Same("--jobs")),
    rule(&["-s", "--cache-size"], "SIZE", Same("--cache-size")),
    rule(&["--pattern"], "GLOB", Combined("--glob")),
    rule(
        &["--continue-on-error"],
        "",
        Already("see `sinter extract --stop-on-error`"),
    ),
    rule(
        &["--stdout-progress"],
        "",
        Noted("progress is shown on standard error"),
    ),
    rule(&["--skip-devices"], "", Combined("--without devices")),
    rule(
        &["--skip-specials"],
        "",
        Combined("--without sockets,fifos"),
    ),
    rule(
        &["--num-disk-writers"],
        "N",
        Noted("the threads that decode files write them"),
    ),
    rule(
        &["--perfmon", "--perfmon-trace"],
        "X",
        Noted("`sinter mount --stats FILE` measures reads of a mount"),
    ),
    rule(
        &["--skip-integrity-check", "--disable-integrity-check"],
        "",
        Noted("checksums of data that is read are always verified"),
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
    rule(
        &["--format-options"],
        "X",
        Refused("archive formats have no options"),
    ),
    rule(
        &["--format-filters"],
        "X",
        Refused("pipe the archive to zstd or xz"),
    ),
];

/// Translates sqfscat: the files of an image, one after the other.
fn sqfscat(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = vec!["cat".into()];
    words.append(&mut parsed.translated);
    if let Some(threads) = parsed.text("-p")? {
        words.push(with_value("--jobs", threads.as_ref()));
    }
    if let Some(size) = cache_size(&parsed)? {
        words.push(with_value("--cache-size", size.to_string().as_ref()));
    }
    let names = match (parsed.is_given("-no-wild"), parsed.is_given("-r")) {
        (true, _) => "--names=literal",
        (_, true) => "--names=expressions",
        _ => "--names=globs",
    };
    words.push(names.into());
    if !parsed.is_given("-st") {
        words.push("--go-on".into());
    }
    words.push("--".into());
    words.append(&mut parsed.operands);
    Ok(words)
}

fn sqfs2tar(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image] = <[OsString; 1]>::try_from(std::mem::take(&mut parsed.operands))
        .map_err(|_| Error::invalid("exactly one image is needed"))?;
    if parsed.values("-d").count() == 1 && !parsed.is_given("-k") {
        return Err(Error::invalid(
            "a single -d would become the root of the archive: add -k, and remove the parents \
             with the --strip-components of tar",
        ));
    }
    let mut words: Vec<OsString> = ["extract", "--tar", "--quiet"].map(OsString::from).into();
    words.append(&mut parsed.translated);
    words.extend(["--".into(), image]);
    words.extend(parsed.values("-d").map(OsString::from));
    Ok(words)
}

/// Returns whether `--log-level` of a tool of DwarFS asks for warnings and errors only.
pub(super) fn shows_warnings_only(parsed: &Parsed) -> Result<bool> {
    match parsed.text("--log-level")? {
        Some("error" | "warn") => Ok(true),
        None | Some("info" | "verbose" | "debug" | "trace") => Ok(false),
        Some(level) => Err(Error::invalid(format!(
            "--log-level {level}: error, warn, info, verbose, debug and trace are known"
        ))),
    }
}

fn dwarfsextract(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let image = parsed.values("-i").last().map(OsString::from);
    let image = image.ok_or_else(|| Error::invalid("-i IMAGE is missing"))?;
    let mut words: Vec<OsString> = vec!["extract".into()];
    match parsed.text("-f")? {
        None | Some("auto")
            if parsed
                .translated
                .iter()
                .any(|word| word.to_string_lossy().starts_with("--output")) => {}
        None | Some("auto") => words.extend([OsString::from("--output=."), "--force".into()]),
        Some("pax" | "paxr" | "gnutar" | "ustar" | "tar") => words.push("--tar".into()),
        Some("newc" | "cpio") => words.push("--cpio".into()),
        Some("mtree") => words.push("--mtree".into()),
        Some(format) => {
            let what = format!(
                "{} {format}: supported are pax, gnutar, ustar, newc, cpio and mtree",
                parsed.typed("-f")
            );
            return Err(Error::unsupported(what));
        }
    }
    words.append(&mut parsed.translated);
    if shows_warnings_only(&parsed)? {
        words.push("--quiet".into());
    }
    for (theirs, ours) in [
        ("--skip-devices", "--without=devices"),
        ("--skip-specials", "--without=sockets,fifos"),
    ] {
        words.extend(parsed.is_given(theirs).then(|| ours.into()));
    }
    words.extend(
        parsed
            .values("--pattern")
            .map(|glob| with_value("--glob", glob)),
    );
    words.extend(["--".into(), image]);
    words.append(&mut parsed.operands);
    Ok(words)
}
