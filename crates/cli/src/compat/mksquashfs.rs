//! mksquashfs 4.7: its command line, translated to that of `sinter build -f squashfs`.
//!
//! In: options and operands as they were parsed. Out: words of `sinter`. The table of the options
//! is in `mksquashfs_options`.

use std::ffi::OsString;
use std::path::Path;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::mksquashfs_options::{RULES, SHARED_WITH_SQFSTAR};
use super::mksquashfs_sources::Sources;
use super::parsed::{Parsed, with_value};
use super::table::{Style, Tool};
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
    memory(&mut parsed)?;
    header(&mut parsed)?;
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
            let is_there = |ours: &str| {
                let start = with_value(ours, "".as_ref());
                let mut words = parsed.translated.iter();
                words.any(|word| {
                    word.as_encoded_bytes()
                        .starts_with(start.as_encoded_bytes())
                })
            };
            let forced = [
                is_there("--root-mode") || parsed.is_given("-force-dir-mode"),
                is_there("--root-uid") || is_there("--set-owner") || is_roots,
                is_there("--root-gid") || is_there("--set-group") || is_roots,
            ];
            let (user, group) = sinterfs::platform::process::owner();
            let defaults = [
                ("--root-mode", "0777".to_owned()),
                ("--root-uid", user.to_string()),
                ("--root-gid", group.to_string()),
            ];
            for ((ours, value), forced) in defaults.into_iter().zip(forced) {
                if !forced {
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
        .map(|path| names::bytes(path).into_owned())
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
