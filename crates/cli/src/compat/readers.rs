//! The options of programs that read images (unsquashfs, sqfs2tar, dwarfsextract), translated to
//! those of `sinter extract`, `ls`, `cat` and `info`.

use std::ffi::OsString;
use std::path::Path;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;

pub(super) const UNSQUASHFS: Tool = Tool {
    name: "unsquashfs",
    usage: "[OPTIONS] IMAGE [PATH..]",
    about: "\
Unpacks or lists an image of any format, as `sinter extract`, `ls`, `cat` and `info` do. Paths may
be globs. Each line shows the equivalent command or option of `sinter`.",
    style: Style::WordsFirst,
    help: &["-h", "-help", "-?"],
    version: &["-v", "-version"],
    rules: &[UNSQUASHFS_RULES],
    translate: unsquashfs,
};

const UNSQUASHFS_RULES: &[Rule] = &[
    rule(
        &["-d", "-dest"],
        "DIR",
        Combined("extract --output (squashfs-root)"),
    ),
    rule(&["-f", "-force"], "", Combined("extract --force")),
    rule(
        &["-l", "-ls"],
        "",
        Combined("ls -R, in the form of unsquashfs"),
    ),
    rule(
        &["-ll", "-lls"],
        "",
        Combined("ls -lR, in the form of unsquashfs, with times in UTC"),
    ),
    rule(
        &["-lln", "-llnumeric"],
        "",
        Combined("the same with numeric owners"),
    ),
    rule(
        &["-lc"],
        "",
        Combined("as -l, without directories that hold something"),
    ),
    rule(
        &["-llc"],
        "",
        Combined("as -ll, without directories that hold something"),
    ),
    rule(&["-UTC"], "", Already("times are shown in UTC")),
    rule(
        &["-s", "-stat"],
        "",
        Combined("info, in the form of unsquashfs, with the time in UTC"),
    ),
    rule(&["-cat"], "", Combined("cat")),
    rule(&["-o", "-offset"], "BYTES", Same("--offset")),
    rule(&["-p", "-processors"], "N", Combined("--jobs")),
    rule(
        &["-n", "-no-progress", "-q", "-quiet"],
        "",
        Combined("--quiet"),
    ),
    rule(&["-strict-errors"], "", Combined("extract --stop-on-error")),
    rule(
        &["-x", "-xattrs"],
        "",
        Already("extended attributes are restored as permitted"),
    ),
    rule(&["-no-xattrs"], "", Combined("extract --no-xattrs")),
    rule(
        &["-xattrs-include"],
        "REGEX",
        Combined("extract --xattrs-include"),
    ),
    rule(
        &["-xattrs-exclude"],
        "REGEX",
        Combined("extract --xattrs-exclude"),
    ),
    rule(
        &["-e", "-ef"],
        "FILE",
        Combined("its lines are further paths"),
    ),
    rule(
        &["-i"],
        "",
        Refused("extraction lists no names; -l lists without extracting"),
    ),
    rule(
        &["-li"],
        "",
        Refused("extraction lists no names; -ll lists without extracting"),
    ),
    rule(
        &["-pf"],
        "FILE",
        Refused("`sinter convert` writes another image without unpacking"),
    ),
    rule(&["-r", "-regex"], "", Refused("paths may be globs")),
    rule(
        &["-da"],
        "N",
        Refused("`sinter extract --cache-size SIZE` limits the cache of decoded blocks"),
    ),
    rule(
        &["-fr"],
        "N",
        Refused("`sinter extract --cache-size SIZE` limits the cache, fragments included"),
    ),
];

pub(super) const SQFSCAT: Tool = Tool {
    name: "sqfscat",
    usage: "[OPTIONS] IMAGE PATH..",
    about: "\
Prints files of an image of any format, as `sinter cat` does. Paths may be globs. Each line shows
the equivalent option of `sinter cat`.",
    style: Style::WordsFirst,
    help: &["-h", "-help"],
    version: &["-v", "-version"],
    rules: &[&[
        rule(&["-o", "-offset"], "BYTES", Same("--offset")),
        rule(&["-p", "-processors"], "N", Combined("--jobs")),
        rule(
            &["-st", "-strict-errors"],
            "",
            Already("the first error ends it"),
        ),
        rule(
            &["-no-exit", "-no-exit-code"],
            "",
            Refused("an error is always an exit code"),
        ),
        rule(
            &["-da", "-data-queue", "-fr", "-frag-queue"],
            "N",
            Refused("`sinter cat --cache-size SIZE` limits the cache of decoded blocks"),
        ),
        rule(
            &["-no-wild", "-no-wildcards"],
            "",
            Refused("`sinter cat` takes a path that exists as it is before it is a glob"),
        ),
        rule(&["-r", "-regex"], "", Refused("paths may be globs")),
        rule(
            &["-ig", "-ignore-errors"],
            "",
            Refused("what cannot be read is an error; see `sinter extract --salvage`"),
        ),
    ]],
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
        Refused("progress is shown on standard error"),
    ),
    rule(
        &["--perfmon"],
        "[=X]",
        Refused("`sinter mount --stats FILE` measures reads of a mount"),
    ),
    rule(
        &["--skip-integrity-check", "--disable-integrity-check"],
        "",
        Refused("checksums of data that is read are always verified"),
    ),
    rule(
        &["--log-level"],
        "LEVEL",
        Refused("`sinter extract --quiet` shows warnings and errors only"),
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

fn unsquashfs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut operands = std::mem::take(&mut parsed.operands).into_iter();
    let image = operands.next();
    let image = image.ok_or_else(|| Error::invalid("the image is missing"))?;
    let mut paths: Vec<OsString> = operands.collect();
    for file in parsed.values("-e") {
        let lines = values::lines_of(Path::new(file))?;
        paths.extend(lines.into_iter().map(values::os_string));
    }
    let asked = ["-l", "-ll", "-lln", "-lc", "-llc", "-s", "-cat"]
        .into_iter()
        .filter(|option| parsed.is_given(option));
    let asked: Vec<&str> = asked.collect();
    let (verb, flags): (&str, &[&str]) = match asked[..] {
        [] => ("extract", &[]),
        ["-l"] => ("ls", &["--unsquashfs=names"]),
        ["-ll"] => ("ls", &["--unsquashfs=long"]),
        ["-lln"] => ("ls", &["--unsquashfs=numeric"]),
        ["-lc"] => ("ls", &["--unsquashfs=names", "--concise"]),
        ["-llc"] => ("ls", &["--unsquashfs=long", "--concise"]),
        ["-s"] => ("info", &["--unsquashfs"]),
        ["-cat"] => ("cat", &[]),
        _ => {
            let what = "-l, -ll, -lln, -lc, -llc, -s and -cat exclude each other";
            return Err(Error::invalid(what));
        }
    };
    let mut words: Vec<OsString> = vec![verb.into()];
    words.extend(flags.iter().map(OsString::from));
    words.append(&mut parsed.translated);
    if let ("extract" | "cat", Some(threads)) = (verb, parsed.text("-p")?) {
        words.push(with_value("--jobs", threads.as_ref()));
    }
    if verb == "extract" {
        let dir = parsed
            .values("-d")
            .last()
            .unwrap_or("squashfs-root".as_ref());
        words.push(with_value("--output", dir));
        for (theirs, ours) in [
            ("-f", "--force"),
            ("-n", "--quiet"),
            ("-strict-errors", "--stop-on-error"),
            ("-no-xattrs", "--no-xattrs"),
        ] {
            words.extend(parsed.is_given(theirs).then(|| ours.into()));
        }
        for (theirs, ours) in [
            ("-xattrs-include", "--xattrs-include"),
            ("-xattrs-exclude", "--xattrs-exclude"),
        ] {
            let last = parsed.values(theirs).last();
            words.extend(last.map(|regex| with_value(ours, regex)));
        }
        // unsquashfs takes paths as globs that start at the root
        words.extend(paths.iter().map(|path| with_value("--glob", path)));
        words.extend(["--".into(), image]);
        return Ok(words);
    }
    if let ("ls", Some(dir)) = (verb, parsed.values("-d").last()) {
        words.push(with_value("--root-name", dir));
    }
    words.extend(["--".into(), image]);
    words.extend(paths);
    Ok(words)
}

/// Translates sqfscat: the files of an image, one after the other.
fn sqfscat(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = vec!["cat".into()];
    words.append(&mut parsed.translated);
    if let Some(threads) = parsed.text("-p")? {
        words.push(with_value("--jobs", threads.as_ref()));
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
    words.extend(
        parsed
            .values("--pattern")
            .map(|glob| with_value("--glob", glob)),
    );
    words.extend(["--".into(), image]);
    words.append(&mut parsed.operands);
    Ok(words)
}
