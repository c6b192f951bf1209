//! mksquashfs 4.7: its command line, translated to `sinter build -f squashfs`.
//!
//! In: options and operands as they were parsed. Out: words of `sinter`. The table of the options
//! is in `mksquashfs_options`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::mksquashfs_append::FormerImage;
use super::mksquashfs_options::{RULES, SHARED_WITH_SQFSTAR};
use super::mksquashfs_sources::{Sources, expressions, glob};
use super::parsed::{Parsed, with_value};
use super::table::{HELP_FORM, HELP_OF_MAKERS, Style, Tool};
use super::values;
use crate::owners;

pub(super) const TOOL: Tool = Tool {
    name: "mksquashfs",
    usage: "SOURCE.. IMAGE [OPTIONS] [-e PATH..]",
    about: "\
Packs a directory into a SquashFS image, as `sinter build -f squashfs` does, or several files and
directories below their names, as `sinter merge` does, with the defaults of mksquashfs: gzip level 9
in blocks of 128 KiB. An image that exists is written anew with what is added to it. The time of
creation is that of the newest file, or SOURCE_DATE_EPOCH, so equal trees give equal images. Each
line shows the equivalent option of `sinter build`.",
    style: Style::Words,
    help: HELP_OF_MAKERS,
    version: &["-version"],
    rules: &[SHARED_WITH_SQFSTAR, RULES, HELP_FORM],
    translate,
};

/// The same under the name that OpenWrt gives it, with the options of its patches.
pub(super) const OPENWRT: Tool = Tool {
    name: "mksquashfs4",
    ..TOOL
};

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut operands = std::mem::take(&mut parsed.operands);
    let image = operands.pop().filter(|_| !operands.is_empty());
    let image = image.ok_or_else(|| Error::invalid("the directory and the image are missing"))?;
    let streams = parsed.is_given("-stream");
    if streams && image != "-" {
        return Err(Error::invalid(
            "with -stream the image is -, standard output",
        ));
    }
    let former = if streams {
        None
    } else {
        FormerImage::of(&parsed, &image)?
    };
    let directory = directory_of(&operands, &parsed);
    let sources = Sources::of(&parsed, operands, former.as_ref())?;
    match &former {
        Some(former) => append(&mut parsed, former),
        None => new_image(&mut parsed)?,
    }
    memory(&mut parsed)?;
    header(&mut parsed)?;
    times(&mut parsed)?;
    modes(&mut parsed)?;
    excludes(&mut parsed, &sources)?;
    pseudo(&mut parsed, TOOL.name)?;
    actions(&mut parsed)?;
    by_source(&mut parsed, &sources, directory.as_deref())?;
    let (verb, named) = sources.command();
    let mut words: Vec<OsString> = vec![verb.into(), "--format=squashfs".into()];
    words.append(&mut parsed.translated);
    words.push(with_value("--output", &image));
    words.extend(named);
    Ok(words)
}

/// Returns the directory that becomes the root of the image, if there is one.
fn directory_of(operands: &[OsString], parsed: &Parsed) -> Option<OsString> {
    match operands {
        [one] if !parsed.is_given("-keep-as-directory") => {
            let found = Path::new(one).symlink_metadata();
            found.is_ok_and(|found| found.is_dir()).then(|| one.clone())
        }
        _ => None,
    }
}

/// Adds what decides about a new image.
fn new_image(parsed: &mut Parsed) -> Result<()> {
    if parsed.is_given("-noappend") {
        parsed.translated.push("--force".into());
    }
    let compression = compression(parsed)?;
    parsed.push("--compression", compression);
    let block_size = values::bytes("-b", parsed.text("-b")?.unwrap_or("128K"))?;
    parsed.push("--block-size", block_size.to_string());
    if parsed.is_given("-no-fragments") {
        parsed.push_flag("--no-fragments");
    }
    Ok(())
}

/// Adds the options that keep an appended image unchanged, in place of the given ones.
fn append(parsed: &mut Parsed, former: &FormerImage) {
    let of_images = [
        "--no-compression",
        "--no-exports",
        "--tailends",
        "--noI",
        "--noId",
        "--noD",
        "--noF",
        "--noX",
    ];
    let is_of_image = |word: &OsString| of_images.iter().any(|option| word == option);
    let before = parsed.translated.len();
    parsed.translated.retain(|word| !is_of_image(word));
    let options = ["-comp", "-b", "-no-fragments"];
    if before > parsed.translated.len() || options.iter().any(|option| parsed.is_given(option)) {
        let note = "mksquashfs: the codec, block size and tables of the existing image are kept";
        parsed.notes.borrow_mut().push(note.to_owned());
    }
    parsed.translated.extend(former.words());
}

/// Translates actions, in the order given.
fn actions(parsed: &mut Parsed) -> Result<()> {
    let mut words = Vec::new();
    for (name, typed, value) in parsed.in_order() {
        let ours = match name {
            "-action" | "-log-action" => "--action",
            "-action-file" | "-log-action-file" => "--action-file",
            _ => continue,
        };
        if name.starts_with("-log") {
            let note = format!(
                "mksquashfs {typed} prints nothing here: `sinter ls -lR` shows the \
                                result"
            );
            parsed.notes.borrow_mut().push(note);
        }
        words.push(with_value(ours, value));
    }
    // -noD leaves nothing to compress again
    if parsed
        .translated
        .iter()
        .any(|word| word == "--noD" || word == "--no-compression")
        && words
            .iter()
            .any(|word| word.to_string_lossy().contains("=compressed"))
    {
        let what = "the action compressed is not done with -noD: uncompressed is, without it";
        return Err(Error::unsupported(what));
    }
    parsed.translated.extend(words);
    Ok(())
}

/// Translates options of pseudo files that depend on the text.
pub(super) fn pseudo(parsed: &mut Parsed, tool: &str) -> Result<()> {
    let all: Vec<OsString> = parsed.values("-pd").map(OsString::from).collect();
    if all.len() > 1 {
        let what = "one -pd is taken: directories that do not exist are made by it";
        return Err(Error::unsupported(what));
    }
    all.into_iter()
        .for_each(|text| parsed.push("--pseudo-dir", text));
    drop_without_definitions(parsed, tool);
    Ok(())
}

/// Takes options about definitions of files back where there are none, and says so.
fn drop_without_definitions(parsed: &mut Parsed, tool: &str) {
    let is_given = |ours: &str| is_there(parsed, ours);
    if is_given("--pseudo") || is_given("--pseudo-file") {
        return;
    }
    for (theirs, ours) in [
        ("-pd", "--pseudo-dir="),
        ("-pseudo-override", "--pseudo-override"),
    ] {
        let before = parsed.translated.len();
        let is_same = |word: &OsString| names::bytes(word).starts_with(ours.as_bytes());
        parsed.translated.retain(|word| !is_same(word));
        if parsed.translated.len() < before {
            let note =
                format!("{tool} {theirs} has no effect here: nothing is defined by -p or -pf");
            parsed.notes.borrow_mut().push(note);
        }
    }
}

/// Translates options whose defaults depend on the sources.
fn by_source(parsed: &mut Parsed, sources: &Sources, directory: Option<&OsStr>) -> Result<()> {
    match sources {
        Sources::Directory(_) | Sources::Listed(..) | Sources::Definitions => {}
        Sources::Archive(_) => {
            defaults_of_archives(parsed);
            implied_directories(parsed)?;
        }
        Sources::Below(_) => {
            if parsed.is_given("-one-file-system") {
                let what = "-one-file-system is taken with one directory only";
                return Err(Error::unsupported(what));
            }
            let is_roots = parsed.translated.iter().any(|word| word == "--all-root");
            let there = |ours| is_there(parsed, ours);
            let forced = [
                there("--root-mode") || parsed.is_given("-force-dir-mode"),
                there("--root-uid") || there("--set-owner") || is_roots,
                there("--root-gid") || there("--set-group") || is_roots,
            ];
            let [mode, uid, gid, time] = FormerImage::root(directory)?;
            for ((ours, value), forced) in [mode, uid, gid].into_iter().zip(forced) {
                if !forced {
                    parsed.push(ours, value);
                }
            }
            let (ours, value) = time;
            if !value.is_empty() && !is_there(parsed, ours) {
                parsed.push(ours, value);
            }
        }
    }
    if !matches!(sources, Sources::Archive(_))
        && let Some(option) = OF_ARCHIVES.iter().find(|option| parsed.is_given(option))
    {
        return Err(Error::invalid(format!("{option} is an option of -tar")));
    }
    if parsed.is_given("-one-file-system") {
        parsed.push_flag("--one-file-system");
    }
    Ok(())
}

/// The options of only -tar.
const OF_ARCHIVES: [&str; 3] = ["-default-mode", "-default-uid", "-default-gid"];

/// Returns whether an option of ours has a value.
fn is_there(parsed: &Parsed, ours: &str) -> bool {
    let start = with_value(ours, "".as_ref());
    let mut words = parsed.translated.iter();
    words.any(|word| names::bytes(word).starts_with(&names::bytes(&start)))
}

/// Translates the attributes of directories that an archive has no member for.
pub(super) fn implied_directories(parsed: &mut Parsed) -> Result<()> {
    let mut parts = Vec::new();
    if let Some(mode) = parsed.text("-default-mode")? {
        if u16::from_str_radix(mode, 8).is_err() {
            let what = format!("-default-mode {mode}: only octal numbers are taken");
            return Err(Error::unsupported(what));
        }
        parts.push(format!("mode={mode}"));
    }
    if let Some(user) = parsed.text("-default-uid")? {
        parts.push(format!(
            "uid={}",
            owners::user(user).map_err(Error::invalid)?
        ));
    }
    if let Some(group) = parsed.text("-default-gid")? {
        parts.push(format!(
            "gid={}",
            owners::group(group).map_err(Error::invalid)?
        ));
    }
    if !parts.is_empty() {
        parsed.push("--dir-defaults", parts.join(","));
    }
    Ok(())
}

/// Adds the defaults for archives only: no export table, and tails in fragments.
pub(super) fn defaults_of_archives(parsed: &mut Parsed) {
    parsed.push_flag("--empty-archive");
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
            "-Xcompression-level is not an option of lz4; -Xhc compresses better",
        )),
        (codec @ ("xz" | "lzma"), Some(_)) => {
            let what = format!("-Xcompression-level is not an option of {codec}");
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
                let block = values::bytes("-b", parsed.text("-b")?.unwrap_or("128K"))?;
                let size = match size.strip_suffix('%') {
                    Some(share) => values::share("-Xdict-size", share, block)?,
                    None => values::bytes("-Xdict-size", size)?,
                };
                text += &format!(":dict={size}");
            }
            Ok(text)
        }
        (codec, None) => Ok(codec.to_owned()),
    }
}

/// Translates the bound of memory.
pub(super) fn memory(parsed: &mut Parsed) -> Result<()> {
    let bound = match (parsed.text("-mem")?, parsed.text("-mem-percent")?) {
        (None, None) => return Ok(()),
        (Some(memory), _) => values::bytes("-mem", memory)?,
        (None, Some(share)) => values::share("-mem-percent", share, values::all_memory()?)?,
    };
    parsed.push("--memory", bound.to_string());
    Ok(())
}

/// Translates the room before the image.
pub(super) fn header(parsed: &mut Parsed) -> Result<()> {
    if let Some(size) = parsed.text("-offset")? {
        let size = values::bytes(parsed.typed("-offset"), size)?;
        parsed.push("--header-size", size.to_string());
    }
    Ok(())
}

pub(super) fn times(parsed: &mut Parsed) -> Result<()> {
    let time = |theirs: &'static str| -> Result<Option<String>> {
        let text = parsed.text(theirs)?;
        let time = text.map(|text| values::time(parsed.typed(theirs), text));
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

/// Translates permissions of all files and directories.
pub(super) fn modes(parsed: &mut Parsed) -> Result<()> {
    let clauses = mode_clauses(parsed)?;
    if !clauses.is_empty() {
        parsed.push("--chmod", clauses);
    }
    Ok(())
}

/// Returns the changes that -force-file-mode and -force-dir-mode request, as for `--chmod`.
pub(super) fn mode_clauses(parsed: &Parsed) -> Result<String> {
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
    Ok(clauses.join(","))
}

/// Translates excluded paths and globs.
fn excludes(parsed: &mut Parsed, sources: &Sources) -> Result<()> {
    let mut paths: Vec<Vec<u8>> = parsed
        .values("-e")
        .map(|path| names::bytes(path).into_owned())
        .collect();
    for file in parsed.values("-ef") {
        paths.extend(values::lines_of(Path::new(file))?);
    }
    for path in paths {
        if parsed.is_given("-regex") {
            let expressions = expressions(&path)?;
            parsed.push("--exclude-names", expressions);
            continue;
        }
        let patterns = if parsed.is_given("-wildcards") {
            vec![glob(&path)?]
        } else {
            sources.exclude(&path)?
        };
        if patterns.is_empty() {
            let path = String::from_utf8_lossy(&path);
            let note = format!("mksquashfs -e {path} has no effect: it is not in the sources");
            parsed.notes.borrow_mut().push(note);
        }
        for pattern in patterns {
            parsed.push("--exclude", values::os_string(pattern));
        }
    }
    if let Some(levels) = parsed.text("-max-depth")? {
        let number: Option<usize> = levels.parse().ok();
        let number = number.filter(|number| (1..=255).contains(number));
        let number = number.ok_or_else(|| {
            let what = format!("-max-depth {levels}: a number from 1 to 255 is needed");
            Error::invalid(what)
        })?;
        // what is one level deeper is left out
        parsed.push("--exclude", "/*".repeat(number + 1));
    }
    Ok(())
}
