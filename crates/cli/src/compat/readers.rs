//! Programs that read images: unsquashfs, sqfs2tar, dwarfsextract, as `sinter extract`, `ls`, `cat` and
//! `info`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::scan::{Said, with_value};
use super::table::Does::{Already, Noted, Refused, Same};
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
        rule(&["-d", "-dest"], "DIR", Noted("extract --output (squashfs-root)")),
        rule(&["-f", "-force"], "", Noted("extract --force")),
        rule(&["-l", "-ls"], "", Noted("ls -R")),
        rule(&["-ll", "-lls", "-lln"], "", Noted("ls -lR (numbers, not names of owners)")),
        rule(&["-s", "-stat"], "", Noted("info")),
        rule(&["-cat"], "", Noted("cat")),
        rule(&["-o", "-offset"], "BYTES", Same("--offset")),
        rule(&["-p", "-processors"], "N", Noted("--jobs")),
        rule(&["-n", "-no-progress", "-q", "-quiet"], "", Noted("--quiet")),
        rule(&["-strict-errors"], "", Noted("extract --stop-on-error")),
        rule(&["-x", "-xattrs"], "", Already("attributes are restored as far as the user may")),
        rule(&["-no-xattrs"], "", Noted("extract --no-xattrs")),
        rule(&["-xattrs-include"], "REGEX", Noted("extract --xattrs-include")),
        rule(&["-xattrs-exclude"], "REGEX", Noted("extract --xattrs-exclude")),
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
    finish: unsquashfs,
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
        rule(&["-d", "--subdir"], "DIR", Noted("the path, with its parents")),
        rule(&["-k", "--keep-as-dir"], "", Noted("paths stay whole; a single -d needs it")),
        rule(&["-c", "--compressor"], "X", Refused("pipe the tar to gzip, xz or zstd")),
        rule(&["-X", "--no-xattr"], "", Same("--no-xattrs")),
        rule(&["-L", "--no-hard-links"], "", Refused("names of one file are links")),
        rule(&["-r", "--root-becomes"], "NAME", Refused("the root is ./")),
        rule(&["-s", "--no-skip"], "", Refused("`sinter extract --tar --strict` fails for what is not kept")),
    ],
    finish: sqfs2tar,
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
        rule(&["-i", "--input"], "IMAGE", Noted("the image")),
        rule(&["-o", "--output"], "DIR|FILE", Same("--output")),
        rule(&["-f", "--format"], "FORMAT", Noted("pax, gnutar, ustar: --tar; newc, cpio: --cpio; mtree: --mtree")),
        rule(&["-O", "--image-offset"], "BYTES", Same("--offset")),
        rule(&["-n", "--num-workers"], "N", Same("--jobs")),
        rule(&["-s", "--cache-size"], "SIZE", Same("--cache-size")),
        rule(&["--pattern"], "GLOB", Noted("--glob")),
        rule(&["--continue-on-error"], "", Already("unless sinter extract --stop-on-error")),
        rule(&["--stdout-progress"], "", Refused("progress is shown on standard error")),
        rule(&["--perfmon"], "[=X]", Refused("no such counters are kept; `sinter mount --stats FILE` counts reads of mounts")),
        rule(&["--skip-integrity-check", "--disable-integrity-check"], "", Refused("what is read is always compared")),
        rule(&["--log-level"], "LEVEL", Refused("`sinter extract --quiet` shows warnings and errors only")),
        rule(&["--format-options"], "X", Refused("formats of archives have no options here")),
        rule(&["--format-filters"], "X", Refused("pipe archives to zstd or xz")),
    ],
    finish: dwarfsextract,
};

fn unsquashfs(mut said: Said) -> Result<Vec<OsString>> {
    let mut operands = std::mem::take(&mut said.operands).into_iter();
    let image = operands.next();
    let image = image.ok_or_else(|| Error::invalid("an image has to be named"))?;
    let paths: Vec<OsString> = operands.collect();
    let asked = ["-l", "-ll", "-s", "-cat"]
        .into_iter()
        .filter(|option| said.has(option));
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
    words.append(&mut said.words);
    if let ("extract" | "cat", Some(threads)) = (verb, said.text("-p")?) {
        words.push(with_value("--jobs", threads.as_ref()));
    }
    if verb == "extract" {
        let dir = said.all("-d").last().unwrap_or("squashfs-root".as_ref());
        words.push(with_value("--output", dir));
        for (theirs, ours) in [
            ("-f", "--force"),
            ("-n", "--quiet"),
            ("-strict-errors", "--stop-on-error"),
            ("-no-xattrs", "--no-xattrs"),
        ] {
            words.extend(said.has(theirs).then(|| ours.into()));
        }
        for (theirs, ours) in [
            ("-xattrs-include", "--xattrs-include"),
            ("-xattrs-exclude", "--xattrs-exclude"),
        ] {
            let last = said.all(theirs).last();
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

fn sqfs2tar(mut said: Said) -> Result<Vec<OsString>> {
    let [image] = <[OsString; 1]>::try_from(std::mem::take(&mut said.operands))
        .map_err(|_| Error::invalid("one image has to be named"))?;
    if said.all("-d").count() == 1 && !said.has("-k") {
        return Err(Error::invalid(
            "one -d would be the root of the archive: give -k too, and take its parents off with tar's \
             --strip-components",
        ));
    }
    let mut words: Vec<OsString> = ["extract", "--tar", "--quiet"].map(OsString::from).into();
    words.append(&mut said.words);
    words.extend(["--".into(), image]);
    words.extend(said.all("-d").map(OsString::from));
    Ok(words)
}

fn dwarfsextract(mut said: Said) -> Result<Vec<OsString>> {
    let image = said.all("-i").last().map(OsString::from);
    let image = image.ok_or_else(|| Error::invalid("-i IMAGE says what to unpack"))?;
    let mut words: Vec<OsString> = vec!["extract".into()];
    match said.text("-f")? {
        None | Some("auto")
            if said
                .words
                .iter()
                .any(|word| word.to_string_lossy().starts_with("--output")) => {}
        None | Some("auto") => words.extend([OsString::from("--output=."), "--force".into()]),
        Some("pax" | "paxr" | "gnutar" | "ustar" | "tar") => words.push("--tar".into()),
        Some("newc" | "cpio") => words.push("--cpio".into()),
        Some("mtree") => words.push("--mtree".into()),
        Some(format) => {
            let what = format!(
                "{} {format}: there are pax, gnutar, ustar, newc, cpio and mtree",
                said.typed("-f")
            );
            return Err(Error::unsupported(what));
        }
    }
    words.append(&mut said.words);
    words.extend(said.all("--pattern").map(|glob| with_value("--glob", glob)));
    words.extend(["--".into(), image]);
    words.append(&mut said.operands);
    Ok(words)
}
