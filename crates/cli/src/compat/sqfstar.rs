//! The options of sqfstar 4.5, translated to options of `sinter build -f squashfs` of an archive
//! from standard input. Options shared with mksquashfs mean the same.

use std::ffi::OsString;
use std::path::Path;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::mksquashfs::{
    compression, defaults_of_archives, header, implied_directories, memory, modes, pseudo, times,
};
use super::mksquashfs_options::SHARED_WITH_SQFSTAR;
use super::mksquashfs_sources::{expressions, glob};
use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Combined, Same};
use super::table::{HELP_FORM, HELP_OF_MAKERS, Rule, Style, Tool, rule};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "sqfstar",
    usage: "[OPTIONS] IMAGE [EXCLUDE..] < TAR",
    about: "\
Packs an archive from standard input, tar or cpio, compressed or not, into a SquashFS image, as
`sinter build - -f squashfs` does, with the defaults of sqfstar: gzip level 9 in blocks of 128 KiB,
tails in fragments, no export table. Excluded paths are globs. The root is that of the archive. Each
line shows the equivalent option of `sinter build`.",
    style: Style::WordsFirst,
    help: HELP_OF_MAKERS,
    version: &["-version"],
    rules: &[SHARED_WITH_SQFSTAR, RULES, HELP_FORM],
    translate,
};

const RULES: &[Rule] = &[
    rule(&["-exports"], "", Combined("without it: --no-exports")),
    rule(&["-no-tailends"], "", Combined("without it: --tailends")),
    rule(&["-no-fragments"], "", Combined("--no-fragments")),
    rule(&["-force"], "", Same("--force")),
    rule(
        &["-regex"],
        "",
        Combined("excluded paths are regular expressions of names"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let mut operands = std::mem::take(&mut parsed.operands).into_iter();
    let image = operands.next();
    let image = image.ok_or_else(|| Error::invalid("the image is missing"))?;
    let compression = compression(&parsed)?;
    parsed.push("--compression", compression);
    let block_size = values::bytes("-b", parsed.text("-b")?.unwrap_or("128K"))?;
    parsed.push("--block-size", block_size.to_string());
    memory(&mut parsed)?;
    header(&mut parsed)?;
    if parsed.is_given("-no-fragments") {
        parsed.push_flag("--no-fragments");
    }
    defaults_of_archives(&mut parsed);
    times(&mut parsed)?;
    let mut paths: Vec<Vec<u8>> = operands
        .map(|path| names::bytes(&path).into_owned())
        .collect();
    for file in parsed.values("-ef") {
        paths.extend(values::lines_of(Path::new(file))?);
    }
    modes(&mut parsed)?;
    pseudo(&mut parsed, TOOL.name)?;
    implied_directories(&mut parsed)?;
    for path in paths {
        if parsed.is_given("-regex") {
            let expressions = expressions(&path)?;
            parsed.push("--exclude-names", expressions);
        } else {
            let pattern = excluded(&path)?;
            parsed.push("--exclude", values::os_string(pattern));
        }
    }
    let mut words: Vec<OsString> = vec!["build".into(), "--format=squashfs".into()];
    words.append(&mut parsed.translated);
    words.extend([with_value("--output", &image), "--".into(), "-".into()]);
    Ok(words)
}

/// Translates an excluded path, a pattern that starts at the root of the archive.
fn excluded(path: &[u8]) -> Result<Vec<u8>> {
    if [&b"/"[..], b"./", b"../"]
        .iter()
        .any(|start| path.starts_with(start))
    {
        let path = String::from_utf8_lossy(path);
        let what = format!("{path}: excluded paths start with a name in the root of the archive");
        return Err(Error::invalid(what));
    }
    let end = path.iter().rposition(|&byte| byte != b'/');
    let path = path.get(..=end.unwrap_or(0)).unwrap_or(path);
    glob(path)
}
