//! Programs that read images: unsquashfs, sqfs2tar, dwarfsextract, as `sinter extract`, `ls`, `cat` and
//! `info`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Refused, Same};
use super::table::{Style, Tool, rule};

pub(super) const UNSQUASHFS: Tool = Tool {
    name: "unsquashfs",
    usage: "[OPTIONS] IMAGE [PATH..]",
    about: "\
Unpacks an image of any format, or tells of it, as `sinter extract`, `ls`, `cat` and `info` do. Paths may be
globs. Beside each option is what it stands for.",
    style: Style::WordsFirst,
    help: &["-h", "-help", "-?"],
    version: &["-v", "-version"],
    rules: &[
        rule(&["-d", "-dest"], "DIR", Combined("extract --output (squashfs-root)")),
        rule(&["-f", "-force"], "", Combined("extract --force")),
        rule(&["-l", "-ls"], "", Combined("ls -R")),
        rule(&["-ll", "-lls", "-lln"], "", Combined("ls -lR (numbers, not names of owners)")),
        rule(&["-s", "-stat"], "", Combined("info")),
        rule(&["-cat"], "", Combined("cat")),
        rule(&["-o", "-offset"], "BYTES", Same("--offset")),
        rule(&["-p", "-processors"], "N", Combined("--jobs")),
        rule(&["-n", "-no-progress", "-q", "-quiet"], "", Combined("--quiet")),
        rule(&["-strict-errors"], "", Combined("extract --stop-on-error")),
        rule(&["-x", "-xattrs"], "", Already("attributes are restored as far as the user may")),
        rule(&["-no-xattrs"], "", Combined("extract --no-xattrs")),
        rule(&["-xattrs-include"], "REGEX", Combined("extract --xattrs-include")),
        rule(&["-xattrs-exclude"], "REGEX", Combined("extract --xattrs-exclude")),
        rule(&["-e", "-ef"], "FILE", Refused("paths are named behind the image, not in a file")),
        rule(&["-i"], "", Refused("-l lists names, and does not unpack")),
        rule(&["-li"], "", Refused("-ll lists names and attributes, and does not unpack")),
        rule(&["-lc"], "", Refused("-l lists all names, those of directories that are not empty, too")),
        rule(&["-llc"], "", Refused("-ll lists all names, those of directories that are not empty, too")),
        rule(&["-pf"], "FILE", Refused("`sinter convert` makes another image without unpacking")),
        rule(&["-r", "-regex"], "", Refused("paths are globs")),
        rule(&["-da"], "N", Refused("`sinter extract --cache-size SIZE` bounds decoded blocks")),
        rule(&["-fr"], "N", Refused("`sinter extract --cache-size SIZE` bounds decoded blocks, fragments too")),
    ],
    translate: unsquashfs,
};

pub(super) const SQFS2TAR: Tool = Tool {
    name: "sqfs2tar",
    usage: "[OPTIONS] IMAGE > TAR",
    about: "\
Writes an image of any format as a tar on standard output, as `sinter extract --tar` does. Beside each option
is what it stands for.",
    style: Style::Getopt,
    help: &["-h", "-help"],
    version: &["-V"],
    rules: &[
        rule(&["-d", "--subdir"], "DIR", Combined("the path, with its parents")),
        rule(&["-k", "--keep-as-dir"], "", Combined("paths stay whole; a single -d needs it")),
        rule(&["-c", "--compressor"], "X", Refused("pipe the tar to gzip, xz or zstd")),
        rule(&["-X", "--no-xattr"], "", Same("--no-xattrs")),
        rule(&["-L", "--no-hard-links"], "", Refused("names of one file are links")),
        rule(&["-r", "--root-becomes"], "NAME", Refused("the root is ./")),
        rule(&["-s", "--no-skip"], "", Refused("`sinter extract --tar --strict` fails for what is not kept")),
    ],
    translate: sqfs2tar,
};

pub(super) const DWARFSEXTRACT: Tool = Tool {
    name: "dwarfsextract",
    usage: "-i IMAGE [-o DIR | -f FORMAT] [OPTIONS] [PATH..]",
    about: "\
Unpacks an image of any format, or writes it as an archive, as `sinter extract` does. Beside each option is what
it stands for.",
    style: Style::Getopt,
    help: &["-h"],
    version: &[],
    rules: &[
        rule(&["-i", "--input"], "IMAGE", Combined("the image")),
        rule(&["-o", "--output"], "DIR|FILE", Same("--output")),
        rule(&["-f", "--format"], "FORMAT", Combined("pax, gnutar, ustar: --tar; newc, cpio: --cpio; mtree: --mtree")),
        rule(&["-O", "--image-offset"], "BYTES", Same("--offset")),
        rule(&["-n", "--num-workers"], "N", Same("--jobs")),
        rule(&["-s", "--cache-size"], "SIZE", Same("--cache-size")),
        rule(&["--pattern"], "GLOB", Combined("--glob")),
        rule(&["--continue-on-error"], "", Already("unless sinter extract --stop-on-error")),
        rule(&["--stdout-progress"], "", Refused("progress is shown on standard error")),
        rule(&["--perfmon"], "[=X]", Refused("no such counters are kept; `sinter mount --stats FILE` counts reads of mounts")),
        rule(&["--skip-integrity-check", "--disable-integrity-check"], "", Refused("what is read is always compared")),
        rule(&["--log-level"], "LEVEL", Refused("`sinter extract --quiet` shows warnings and errors only")),
        rule(&["--format-options"], "X", Refused("formats of archives have no options here")),
        rule(&["--format-filters"], "X", Refused("pipe archives to zstd or xz")),
    ],
    translate: dwarfsextract,
};

fn unsquashfs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut operands = std::mem::take(&mut parsed.operands).into_iter();
    let image = operands.next();
    let image = image.ok_or_else(|| Error::invalid("an image has to be named"))?;
    let paths: Vec<OsString> = operands.collect();
    let asked = ["-l", "-ll", "-s", "-cat"]
        .into_iter()
        .filter(|option| parsed.is_given(option));
    let asked: Vec<&str> = asked.collect();
    let (verb, flags): (&str, &[&str]) = match asked[..] {
        [] => ("extract", &[]),
        ["-l"] => ("ls", &["--recursive"]),
        ["-ll"] => ("ls", &["--long", "--recursive"]),
        ["-s"] => ("info", &[]),
        ["-cat"] => ("cat", &[]),
        _ => return Err(Error::invalid("one of -l, -ll, -s and -cat at a time")),
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
        // names are globs there, and start at the root
        words.extend(paths.iter().map(|path| with_value("--glob", path)));
        words.extend(["--".into(), image]);
        return Ok(words);
    }
    words.extend(["--".into(), image]);
    words.extend(paths);
    Ok(words)
}

fn sqfs2tar(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image] = <[OsString; 1]>::try_from(std::mem::take(&mut parsed.operands))
        .map_err(|_| Error::invalid("one image has to be named"))?;
    if parsed.values("-d").count() == 1 && !parsed.is_given("-k") {
        return Err(Error::invalid(
            "one -d would be the root of the archive: give -k too, and take its parents off with tar's \
             --strip-components",
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
    let image = image.ok_or_else(|| Error::invalid("-i IMAGE says what to unpack"))?;
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
                "{} {format}: there are pax, gnutar, ustar, newc, cpio and mtree",
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
