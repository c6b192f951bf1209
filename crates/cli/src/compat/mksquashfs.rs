//! The options of mksquashfs 4.7, translated to those of `sinter build -f squashfs`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sinterfs::{Error, Result};

use super::mksquashfs_sources::Sources;
use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, CombinedRest, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "mksquashfs",
    usage: "DIR.. IMAGE [OPTIONS] [-e PATH..]",
    about: "\
Packs a directory into a SquashFS image, as `sinter build -f squashfs` does, or several below
their names, as `sinter merge` does, with the defaults of mksquashfs: gzip level 9 in blocks of
128 KiB. The time of creation is that of the newest file, or
SOURCE_DATE_EPOCH, so equal trees give equal images. Each line shows the equivalent option of
`sinter build`.",
    style: Style::Words,
    help: &["-h", "-help"],
    version: &["-version"],
    rules: &[SHARED_WITH_SQFSTAR, RULES],
    translate,
};

/// The options that sqfstar has, too, with the same meaning.
pub(super) const SHARED_WITH_SQFSTAR: &[Rule] = &[
    rule(&["-b"], "SIZE", Combined("--block-size")),
    rule(&["-comp"], "CODEC", Combined("--compression")),
    rule(
        &["-Xcompression-level"],
        "N",
        Combined("--compression CODEC:level=N"),
    ),
    rule(&["-Xhc"], "", Combined("--compression lz4hc:level=12")),
    rule(
        &["-Xbcj"],
        "FILTER,..",
        Combined("--compression xz:bcj=FILTER,.."),
    ),
    rule(
        &["-Xdict-size"],
        "SIZE",
        Combined("--compression xz:dict=SIZE"),
    ),
    rule(&["-noI", "-noInodeCompression"], "", Same("--noI")),
    rule(&["-noId", "-noIdTableCompression"], "", Same("--noId")),
    rule(&["-noD", "-noDataCompression"], "", Same("--noD")),
    rule(&["-noF", "-noFragmentCompression"], "", Same("--noF")),
    rule(&["-noX", "-noXattrCompression"], "", Same("--noX")),
    rule(&["-no-sparse"], "", Same("--no-sparse")),
    rule(&["-no-xattrs"], "", Same("--no-xattrs")),
    rule(&["-xattrs"], "", Already("unless --no-xattrs")),
    rule(&["-no-duplicates"], "", Same("--no-duplicates")),
    rule(&["-nopad"], "", Same("--no-pad")),
    rule(&["-all-root", "-root-owned"], "", Same("--all-root")),
    rule(&["-force-uid"], "UID", Combined("--set-owner")),
    rule(&["-force-gid"], "GID", Combined("--set-group")),
    rule(&["-root-mode"], "MODE", Same("--root-mode")),
    rule(&["-root-uid"], "UID", Combined("--root-uid")),
    rule(&["-root-gid"], "GID", Combined("--root-gid")),
    rule(&["-root-time"], "TIME", Combined("--root-time")),
    rule(
        &["-inode-time", "-all-time"],
        "TIME",
        Combined("--set-time"),
    ),
    rule(
        &["-mkfs-time", "-fstime"],
        "TIME",
        Combined("--create-timestamp=TIME"),
    ),
    rule(&["-ef"], "FILE", Combined("--exclude, for each line")),
    rule(&["-processors"], "N", Same("--jobs")),
    rule(&["-mem"], "SIZE", Combined("--memory")),
    rule(&["-quiet"], "", Same("--quiet")),
    rule(&["-no-progress"], "", Same("--progress=none")),
    rule(
        &["-offset", "-o"],
        "N",
        Refused("`sinter build --header FILE` prepends a file to the image"),
    ),
    rule(
        &["-exit-on-error"],
        "",
        Refused("`sinter build --strict` fails on errors and losses"),
    ),
    rule(
        &["-info"],
        "",
        Refused("`sinter ls -R IMAGE` lists the image"),
    ),
    rule(
        &["-no-hardlinks"],
        "",
        Refused("hard links are always preserved"),
    ),
    rule(
        &["-Xwindow-size"],
        "N",
        Refused("gzip always has its largest window"),
    ),
    rule(
        &["-Xstrategy"],
        "X",
        Refused("gzip has one strategy here; -Xcompression-level sets the effort"),
    ),
    rule(&["-Xalgorithm"], "X", Refused("lzo has one algorithm here")),
];

const RULES: &[Rule] = &[
    rule(&["-no-compression"], "", Same("--no-compression")),
    rule(&["-no-exports"], "", Same("--no-exports")),
    rule(
        &["-exports"],
        "",
        Combined("without it, with -tar: --no-exports"),
    ),
    rule(
        &["-tailends", "-always-use-fragments"],
        "",
        Same("--tailends"),
    ),
    rule(
        &["-no-tailends"],
        "",
        Combined("without it, with -tar: --tailends"),
    ),
    rule(&["-no-fragments"], "", Combined("--no-fragments")),
    rule(&["-noappend"], "", Combined("--force")),
    rule(
        &["-no-recovery"],
        "",
        Already("an interrupted build leaves no file"),
    ),
    rule(&["-uid-gid-offset"], "N", Same("--id-offset")),
    rule(&["-force-file-mode"], "MODE", Combined("--chmod FMODE")),
    rule(&["-force-dir-mode"], "MODE", Combined("--chmod DMODE")),
    rule(&["-repro"], "", Already("equal trees give equal images")),
    rule(
        &["-repro-time"],
        "TIME",
        Combined("--create-timestamp=TIME --set-time TIME"),
    ),
    rule(&["-sort"], "FILE", Same("--sort")),
    rule(&["-wildcards"], "", Combined("-e and -ef take globs")),
    rule(&["-one-file-system"], "", Combined("--one-file-system")),
    rule(
        &["-e"],
        "PATH..",
        CombinedRest("--exclude, for each argument that follows"),
    ),
    rule(
        &["-one-file-system-x"],
        "",
        Refused("-one-file-system leaves mount points as empty directories"),
    ),
    rule(
        &["-regex"],
        "",
        Refused("patterns are globs, with -wildcards"),
    ),
    rule(
        &["-keep-as-directory"],
        "",
        Combined("merge, which keeps the name of the directory"),
    ),
    rule(
        &["-no-strip", "-tarstyle"],
        "",
        Refused("`sinter merge DIR -o IMAGE` keeps the name of the directory"),
    ),
    rule(
        &["-root-becomes"],
        "NAME",
        Refused("`sinter merge --at NAME=IMAGE` puts an image below a name"),
    ),
    rule(
        &["-max-depth"],
        "N",
        Refused("-e excludes deeper directories"),
    ),
    rule(&["-p"], "DEFINITION", Same("--pseudo")),
    rule(&["-pf"], "FILE", Same("--pseudo-file")),
    rule(
        &["-pd", "-pseudo-dir"],
        "X",
        Refused("-p 'PATH d MODE UID GID' creates each directory"),
    ),
    rule(&["-xattrs-include"], "REGEX", Same("--xattrs-include")),
    rule(&["-xattrs-exclude"], "REGEX", Same("--xattrs-exclude")),
    rule(
        &["-xattrs-add"],
        "X",
        Refused("-p 'PATH x NAME=VALUE' adds one to a file"),
    ),
    rule(
        &["-tar"],
        "",
        Combined("the source - is an archive, tar or cpio, compressed or not"),
    ),
    rule(
        &["-cpiostyle"],
        "",
        Refused("`cpio -o -H newc | sinter build - -o IMAGE`"),
    ),
    rule(
        &["-cpiostyle0"],
        "",
        Refused("`cpio -o -0 -H newc | sinter build - -o IMAGE`"),
    ),
    rule(
        &["-mem-percent"],
        "N",
        Refused("-mem SIZE limits the memory"),
    ),
    rule(
        &["-throttle"],
        "N",
        Refused("-processors N limits the threads; see also nice(1) and ionice(1)"),
    ),
    rule(
        &["-limit"],
        "N",
        Refused("-processors N limits the threads; see also nice(1) and ionice(1)"),
    ),
    rule(
        &["-recover"],
        "NAME",
        Refused("an interrupted build leaves nothing to recover"),
    ),
    rule(
        &["-recovery-path"],
        "NAME",
        Refused("there is no recovery file: an interrupted build leaves no file"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut operands = std::mem::take(&mut parsed.operands);
    let image = operands.pop().filter(|_| !operands.is_empty());
    let image = image.ok_or_else(|| Error::invalid("the directory and the image are missing"))?;
    let sources = Sources::of(&parsed, operands)?;
    let path = Path::new(&image);
    if parsed.is_given("-noappend") {
        parsed.translated.push("--force".into());
    } else if path
        .metadata()
        .is_ok_and(|found| found.is_file() && found.len() > 0)
    {
        let what = "the image exists, and appending is not supported: -noappend replaces it, \
                    `sinter merge` combines several images";
        return Err(Error::unsupported(what).path(path));
    }
    let compression = compression(&parsed)?;
    parsed.push("--compression", compression);
    let block_size = values::bytes("-b", parsed.text("-b")?.unwrap_or("128K"))?;
    parsed.push("--block-size", block_size.to_string());
    if let Some(memory) = parsed.text("-mem")? {
        let memory = values::bytes("-mem", memory)?;
        parsed.push("--memory", memory.to_string());
    }
    owners(&mut parsed)?;
    times(&mut parsed)?;
    modes(&mut parsed)?;
    excludes(&mut parsed, &sources)?;
    by_source(&mut parsed, &sources)?;
    let (verb, named) = sources.command();
    let mut words: Vec<OsString> = vec![verb.into(), "--format=squashfs".into()];
    words.append(&mut parsed.translated);
    words.push(with_value("--output", &image));
    words.extend(named);
    Ok(words)
}

/// Translates options whose defaults depend on the sources.
fn by_source(parsed: &mut Parsed, sources: &Sources) -> Result<()> {
    if parsed.is_given("-no-fragments") {
        parsed.push_flag("--no-fragments");
    }
    match sources {
        Sources::Directory(_) => {}
        Sources::Archive => defaults_of_archives(parsed),
        Sources::Below(_) => {
            if parsed.is_given("-one-file-system") {
                let what = "-one-file-system is taken with one directory only";
                return Err(Error::unsupported(what));
            }
            let is_roots = parsed.translated.iter().any(|word| word == "--all-root");
            let is_forced = |name| parsed.is_given(name);
            let has_mode = parsed
                .translated
                .iter()
                .any(|word| word.as_bytes().starts_with(b"--root-mode="));
            let forced = [
                has_mode || is_forced("-force-dir-mode"),
                is_forced("-force-uid") || is_roots,
                is_forced("-force-gid") || is_roots,
            ];
            let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
            let defaults = [
                ("-root-mode", "--root-mode", "0777".to_owned()),
                ("-root-uid", "--root-uid", user.as_raw().to_string()),
                ("-root-gid", "--root-gid", group.as_raw().to_string()),
            ];
            for ((theirs, ours, value), forced) in defaults.into_iter().zip(forced) {
                if !forced && !parsed.is_given(theirs) {
                    parsed.push(ours, value);
                }
            }
        }
    }
    if parsed.is_given("-one-file-system") {
        parsed.push_flag("--one-file-system");
    }
    Ok(())
}

/// Adds what is the default for archives alone: no export table, and tails in fragments.
pub(super) fn defaults_of_archives(parsed: &mut Parsed) {
    if !parsed.is_given("-exports") {
        parsed.push_flag("--no-exports");
    }
    if !parsed.is_given("-no-tailends") && !parsed.is_given("-no-fragments") {
        parsed.push_flag("--tailends");
    }
}

pub(super) fn compression(parsed: &Parsed) -> Result<String> {
    let codec = parsed.text("-comp")?.unwrap_or("gzip");
    let level = parsed.text("-Xcompression-level")?;
    let only = |spelled: &str, of: &str| {
        if parsed.is_given(spelled) && codec != of {
            Err(Error::invalid(format!("{spelled} is an option of {of}")))
        } else {
            Ok(())
        }
    };
    only("-Xhc", "lz4")?;
    only("-Xbcj", "xz")?;
    only("-Xdict-size", "xz")?;
    match (codec, level) {
        ("lz4", None) if parsed.is_given("-Xhc") => Ok("lz4hc:level=12".to_owned()),
        ("gzip", level) => Ok(format!("gzip:level={}", level.unwrap_or("9"))),
        ("zstd", level) => Ok(format!("zstd:level={}", level.unwrap_or("15"))),
        ("lzo", Some(_)) => Err(Error::unsupported(
            "-Xcompression-level: lzo has one level here",
        )),
        ("lz4", Some(_)) => Err(Error::invalid(
            "-Xcompression-level is no option of lz4; -Xhc compresses better",
        )),
        (codec @ ("xz" | "lzma"), Some(_)) => {
            let what = format!("-Xcompression-level is no option of {codec}");
            Err(Error::invalid(what))
        }
        // not a codec of mksquashfs: the build reports it
        (codec, Some(_)) => Ok(codec.to_owned()),
        ("xz", None) => {
            let mut text = "xz".to_owned();
            if let Some(filters) = parsed.text("-Xbcj")? {
                text += &format!(":bcj={filters}");
            }
            if let Some(size) = parsed.text("-Xdict-size")? {
                text += &format!(":dict={}", values::bytes("-Xdict-size", size)?);
            }
            Ok(text)
        }
        (codec, None) => Ok(codec.to_owned()),
    }
}

pub(super) fn owners(parsed: &mut Parsed) -> Result<()> {
    for (theirs, ours) in [
        ("-force-uid", "--set-owner"),
        ("-force-gid", "--set-group"),
        ("-root-uid", "--root-uid"),
        ("-root-gid", "--root-gid"),
    ] {
        if let Some(text) = parsed.text(theirs)? {
            let number = values::id(parsed.typed(theirs), text)?.to_owned();
            parsed.push(ours, number);
        }
    }
    Ok(())
}

pub(super) fn times(parsed: &mut Parsed) -> Result<()> {
    let time = |theirs: &'static str| -> Result<Option<String>> {
        let text = parsed.text(theirs)?;
        let time = text.map(|text| values::time(parsed.typed(theirs), text).map(str::to_owned));
        time.transpose()
    };
    let of_both = time("-repro-time")?;
    // the time of the newest file is the default
    let of_image = match parsed.text("-mkfs-time")? {
        Some("inode") => None,
        _ => time("-mkfs-time")?.or_else(|| of_both.clone()),
    };
    let of_files = time("-inode-time")?.or(of_both);
    let of_root = time("-root-time")?;
    match of_image.as_deref() {
        Some("now") => parsed.translated.push("--create-timestamp".into()),
        Some(time) => parsed.push("--create-timestamp", time),
        None => {}
    }
    for (time, ours) in [(&of_files, "--set-time"), (&of_root, "--root-time")] {
        // -inode-time applies to the root, too, and overrides -root-time
        if let Some(time) = time
            .as_ref()
            .filter(|_| ours == "--set-time" || of_files.is_none())
        {
            parsed.push(ours, time);
        }
    }
    Ok(())
}

fn modes(parsed: &mut Parsed) -> Result<()> {
    let mut clauses = Vec::new();
    for (theirs, kind) in [("-force-file-mode", 'F'), ("-force-dir-mode", 'D')] {
        let Some(text) = parsed.text(theirs)? else {
            continue;
        };
        match u16::from_str_radix(text, 8) {
            // five digits set all bits, including set-ID bits of directories
            Ok(bits) => clauses.push(format!("{kind}{bits:05o}")),
            Err(_) => clauses.extend(text.split(',').map(|part| format!("{kind}{part}"))),
        }
    }
    if !clauses.is_empty() {
        parsed.push("--chmod", clauses.join(","));
    }
    Ok(())
}

/// Translates excluded paths and globs.
fn excludes(parsed: &mut Parsed, sources: &Sources) -> Result<()> {
    let mut paths: Vec<Vec<u8>> = parsed
        .values("-e")
        .map(|path| path.as_bytes().to_vec())
        .collect();
    for file in parsed.values("-ef") {
        paths.extend(values::lines_of(Path::new(file))?);
    }
    let globs = parsed.is_given("-wildcards");
    for path in paths {
        for pattern in sources.exclude(&path, globs)? {
            parsed.push("--exclude", values::os_string(pattern));
        }
    }
    Ok(())
}
