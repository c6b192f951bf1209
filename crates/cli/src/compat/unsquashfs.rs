//! The options of unsquashfs, translated to options of `sinter extract`, `ls`, `cat` and `info`.

use std::ffi::OsString;
use std::path::Path;

use sinterfs::{Error, Result};

use super::mksquashfs::mode_clauses;
use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, CombinedList, Noted, Same};
use super::table::{HELP_FORM, HELP_OF_READERS, Rule, Style, Tool, rule};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "unsquashfs",
    usage: "[OPTIONS] IMAGE [PATH..]",
    about: "\
Unpacks or lists an image of any format, as `sinter extract`, `ls`, `cat` and `info` do. Paths may
be globs. Each line shows the equivalent command or option of `sinter`, or what it does.",
    style: Style::WordsFirst,
    help: HELP_OF_READERS,
    version: &["-v", "-version"],
    rules: &[RULES, HELP_FORM],
    translate,
};

const RULES: &[Rule] = &[
    rule(
        &["-d", "-dest"],
        "DIR",
        Combined("extract --output (squashfs-root)"),
    ),
    rule(&["-f", "-force"], "", Combined("extract --force")),
    rule(
        &["-max", "-max-depth"],
        "LEVELS",
        Combined("ls, extract --max-depth"),
    ),
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
    rule(
        &["-full", "-full-precision"],
        "",
        Combined("with -ll, -lln and -llc: seconds"),
    ),
    rule(&["-UTC"], "", Already("times are shown in UTC")),
    rule(
        &["-mkfs-time", "-fstime"],
        "",
        Combined("only the time of creation, in seconds since 1970"),
    ),
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
    rule(
        &["-per", "-percentage"],
        "",
        Noted("`sinter extract --progress json` shows the share that is done"),
    ),
    rule(&["-mem"], "SIZE", Combined("extract, cat --cache-size")),
    rule(
        &["-mem-percent"],
        "N",
        Combined("extract, cat --cache-size, N percent of all memory"),
    ),
    rule(
        &["-st", "-strict-errors"],
        "",
        Combined("extract --stop-on-error"),
    ),
    rule(
        &["-ig", "-ignore-errors"],
        "",
        Already("files that cannot be written are reported, and the rest is restored"),
    ),
    rule(
        &["-no-exit", "-no-exit-code"],
        "",
        Combined("exit code 0 unless an error ends it"),
    ),
    rule(
        &["-x", "-xattrs"],
        "",
        Already("extended attributes are restored as permitted"),
    ),
    rule(&["-no", "-no-xattrs"], "", Combined("extract --no-xattrs")),
    rule(
        &["-u", "-user-xattrs"],
        "",
        Combined("extract --xattrs-include '^user\\.'"),
    ),
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
        &["-e", "-ef", "-extract-file"],
        "FILE",
        Combined("its lines are further paths"),
    ),
    rule(&["-excludes"], "", Combined("each path is left out")),
    rule(
        &["-exc", "-excf", "-exclude-file"],
        "FILE",
        Combined("each line is left out"),
    ),
    rule(
        &["-ex", "-exclude-list"],
        "PATH.. ;",
        CombinedList("each path is left out"),
    ),
    rule(
        &["-follow", "-follow-symlinks", "-L"],
        "",
        Combined("symlinks that paths go through are taken, too, and their targets"),
    ),
    rule(
        &["-missing", "-missing-symlinks"],
        "",
        Combined("with -follow: a path that leads to nothing is an error that ends it"),
    ),
    rule(
        &["-match"],
        "",
        Combined("a path that is not there is an error that ends it"),
    ),
    rule(
        &["-no-wild", "-no-wildcards"],
        "",
        Combined("paths are taken as they are"),
    ),
    rule(
        &["-all", "-all-time"],
        "TIME",
        Combined("extract --set-time"),
    ),
    rule(&["-force-uid"], "USER", Combined("extract --set-owner")),
    rule(&["-force-gid"], "GROUP", Combined("extract --set-group")),
    rule(
        &["-force-file-mode"],
        "MODE",
        Combined("extract --chmod FMODE"),
    ),
    rule(
        &["-force-dir-mode"],
        "MODE",
        Combined("extract --chmod DMODE"),
    ),
    rule(&["-max-files"], "N", Combined("extract --max-files")),
    rule(&["-i", "-info"], "", Noted("-l lists the names")),
    rule(
        &["-li", "-linfo"],
        "",
        Noted("-ll lists the names, with attributes"),
    ),
    rule(
        &["-pf", "-pseudo-file"],
        "FILE",
        Combined("extract, as definitions of pseudo files with their data"),
    ),
    rule(
        &["-r", "-regex"],
        "",
        Combined("names of paths are regular expressions"),
    ),
    rule(
        &["-da", "-data-queue", "-fr", "-frag-queue"],
        "N",
        Noted("`sinter extract --cache-size SIZE` limits the cache of decoded blocks"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut operands = std::mem::take(&mut parsed.operands).into_iter();
    let image = operands.next();
    let image = image.ok_or_else(|| Error::invalid("the image is missing"))?;
    let mut paths: Vec<OsString> = operands.collect();
    for file in parsed.values("-e") {
        let lines = values::lines_of(Path::new(file))?;
        paths.extend(lines.into_iter().map(values::os_string));
    }
    let (verb, flags) = action(&parsed)?;
    let mut words: Vec<OsString> = vec![verb.into()];
    words.extend(flags.iter().map(OsString::from));
    words.append(&mut parsed.translated);
    if let ("extract" | "cat", Some(threads)) = (verb, parsed.text("-p")?) {
        words.push(with_value("--jobs", threads.as_ref()));
    }
    if verb == "cat" {
        // as sqfscat: unprintable files do not end it, and patterns follow fnmatch
        if !parsed.is_given("-st") {
            words.push("--go-on".into());
        }
        if !rules_are_given(&parsed) {
            words.push("--names=globs".into());
        }
    }
    if let ("extract" | "cat", Some(size)) = (verb, cache_size(&parsed)?) {
        words.push(with_value("--cache-size", size.to_string().as_ref()));
    }
    if let ("extract" | "ls", Some(levels)) = (verb, parsed.text("-max")?) {
        words.push(with_value("--max-depth", levels.as_ref()));
    }
    let excluded = excluded(&parsed, &mut paths)?;
    words.extend(names(&parsed));
    let leave_out = excluded.iter();
    if verb != "info" {
        words.extend(leave_out.map(|path| with_value("--leave-out", path)));
    }
    if verb == "extract" {
        extraction(&parsed, &mut words)?;
        if !rules_are_given(&parsed) {
            // paths are globs that start at the root
            words.extend(paths.iter().map(|path| with_value("--glob", path)));
            paths.clear();
        }
    }
    if verb == "ls" {
        let dir = parsed.values("-d").last();
        words.extend(dir.map(|dir| with_value("--root-name", dir)));
        if parsed.is_given("-full") {
            words.push("--full-precision".into());
        }
    }
    words.extend(["--".into(), image]);
    words.extend(paths);
    Ok(words)
}

/// Returns whether the names of paths are no patterns of a shell, or are to be followed.
fn rules_are_given(parsed: &Parsed) -> bool {
    let options = ["-r", "-follow", "-missing", "-match", "-no-wild"];
    options.iter().any(|option| parsed.is_given(option))
}

/// Returns the options for the names of paths.
fn names(parsed: &Parsed) -> Vec<OsString> {
    let mut words = Vec::new();
    let literal = ["-follow", "-missing", "-match", "-no-wild"];
    if literal.iter().any(|option| parsed.is_given(option)) {
        words.push("--names=literal".into());
    } else if parsed.is_given("-r") {
        words.push("--names=expressions".into());
    }
    let follows = parsed.is_given("-follow") || parsed.is_given("-missing");
    let requires = parsed.is_given("-match") || parsed.is_given("-missing");
    words.extend(follows.then(|| "--follow".into()));
    words.extend(requires.then(|| "--all-there".into()));
    words
}

/// Returns our equivalent command, with its flags.
fn action(parsed: &Parsed) -> Result<(&'static str, &'static [&'static str])> {
    let asked = [
        "-l",
        "-ll",
        "-lln",
        "-lc",
        "-llc",
        "-s",
        "-mkfs-time",
        "-cat",
        "-pf",
    ]
    .into_iter()
    .filter(|option| parsed.is_given(option));
    let asked: Vec<&str> = asked.collect();
    Ok(match asked[..] {
        [] => ("extract", &[]),
        ["-l"] => ("ls", &["--unsquashfs=names"]),
        ["-ll"] => ("ls", &["--unsquashfs=long"]),
        ["-lln"] => ("ls", &["--unsquashfs=numeric"]),
        ["-lc"] => ("ls", &["--unsquashfs=names", "--concise"]),
        ["-llc"] => ("ls", &["--unsquashfs=long", "--concise"]),
        ["-s"] => ("info", &["--unsquashfs=superblock"]),
        ["-mkfs-time"] => ("info", &["--unsquashfs=mkfs-time"]),
        ["-cat"] => ("cat", &[]),
        ["-pf"] => ("extract", &["--pseudo-file", "--force"]),
        _ => {
            let what = "-l, -ll, -lln, -lc, -llc, -s, -mkfs-time, -cat and -pf exclude each other";
            return Err(Error::invalid(what));
        }
    })
}

/// Returns the size of the cache, if one is given.
pub(super) fn cache_size(parsed: &Parsed) -> Result<Option<u64>> {
    let size = match (parsed.text("-mem")?, parsed.text("-mem-percent")?) {
        (None, None) => None,
        (Some(size), _) => Some(values::bytes("-mem", size)?),
        (None, Some(share)) => Some(values::share("-mem-percent", share, values::all_memory()?)?),
    };
    Ok(size)
}

/// Returns the paths of what is left out; takes the operands if they are that.
fn excluded(parsed: &Parsed, paths: &mut Vec<OsString>) -> Result<Vec<OsString>> {
    let mut excluded = if parsed.is_given("-excludes") {
        std::mem::take(paths)
    } else {
        Vec::new()
    };
    excluded.extend(parsed.values("-ex").map(OsString::from));
    for file in parsed.values("-exc") {
        let lines = values::lines_of(Path::new(file))?;
        excluded.extend(lines.into_iter().map(values::os_string));
    }
    Ok(excluded)
}

/// Adds the options that only extraction has.
fn extraction(parsed: &Parsed, words: &mut Vec<OsString>) -> Result<()> {
    let pseudo_file = parsed.values("-pf").last();
    let output = pseudo_file.or_else(|| parsed.values("-d").last());
    words.push(with_value(
        "--output",
        output.unwrap_or("squashfs-root".as_ref()),
    ));
    let forces = parsed.is_given("-f") && pseudo_file.is_none();
    words.extend(forces.then(|| "--force".into()));
    for (theirs, ours) in [
        ("-n", "--quiet"),
        ("-st", "--stop-on-error"),
        ("-no", "--no-xattrs"),
        ("-u", "--xattrs-include=^user\\."),
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
    for (theirs, ours) in [
        ("-force-uid", "--set-owner"),
        ("-force-gid", "--set-group"),
        ("-max-files", "--max-files"),
    ] {
        let last = parsed.values(theirs).last();
        words.extend(last.map(|value| with_value(ours, value)));
    }
    let clauses = mode_clauses(parsed)?;
    words.extend((!clauses.is_empty()).then(|| with_value("--chmod", clauses.as_ref())));
    if let Some(time) = parsed.text("-all")? {
        let time = values::time(parsed.typed("-all"), time)?;
        words.push(with_value("--set-time", time.as_ref()));
    }
    Ok(())
}
