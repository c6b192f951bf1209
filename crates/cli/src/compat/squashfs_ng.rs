//! The options of tar2sqfs and gensquashfs (squashfs-tools-ng 1.2), translated to those of
//! `sinter build -f squashfs`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Combined, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;

pub(super) const TAR2SQFS: Tool = Tool {
    name: "tar2sqfs",
    usage: "[OPTIONS] IMAGE < TAR",
    about: "\
Packs an archive from standard input, tar or cpio, compressed or not, into a SquashFS image, as
`sinter build - -f squashfs` does, with the defaults of tar2sqfs: xz in blocks of 128 KiB, tails in
fragments, no export table. Directories without a member have the time of the first member
below. Each line shows the equivalent option of `sinter build`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[&[
        COMPRESSOR,
        EXTRA,
        JOBS,
        BLOCK_SIZE,
        DEVICE_BLOCK_SIZE,
        EXPORTABLE,
        NO_TAIL_PACKING,
        FORCE,
        QUIET,
        rule(&["-x", "--no-xattr"], "", Same("--no-xattrs")),
        rule(&["-k", "--no-keep-time"], "", Combined("--set-time 0")),
        QUEUE,
        rule(
            &["-d", "--defaults"],
            "X",
            Refused("directories without a member have mode 755 and owner 0"),
        ),
        rule(
            &["-s", "--no-skip"],
            "",
            Refused("`sinter build --strict` fails on all that is not kept"),
        ),
        rule(
            &["-r", "--root-becomes"],
            "DIR",
            Refused("archive the directory alone: `tar -C DIR -c .`"),
        ),
        rule(
            &["-S", "--no-symlink-retarget"],
            "",
            Refused("targets of symlinks are never changed"),
        ),
    ]],
    translate: tar2sqfs,
};

pub(super) const GENSQUASHFS: Tool = Tool {
    name: "gensquashfs",
    usage: "-D DIR [OPTIONS] IMAGE",
    about: "\
Packs a directory into a SquashFS image, as `sinter build -f squashfs` does, with the defaults of
gensquashfs: xz in blocks of 128 KiB, tails in fragments, no export table, no extended attributes,
all times 0 (or SOURCE_DATE_EPOCH), and a root with mode 755 and owner 0. Hard links are kept. Each
line shows the equivalent option of `sinter build`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[&[
        rule(&["-D", "--pack-dir"], "DIR", Combined("the source")),
        COMPRESSOR,
        EXTRA,
        JOBS,
        BLOCK_SIZE,
        DEVICE_BLOCK_SIZE,
        rule(&["-u", "--set-uid"], "UID", Combined("--set-owner")),
        rule(&["-g", "--set-gid"], "GID", Combined("--set-group")),
        rule(&["--all-root"], "", Same("--all-root")),
        rule(
            &["-k", "--keep-time"],
            "",
            Combined("without it: --set-time 0"),
        ),
        rule(
            &["-x", "--keep-xattr"],
            "",
            Combined("without it: --no-xattrs"),
        ),
        rule(&["-o", "--one-file-system"], "", Same("--one-file-system")),
        EXPORTABLE,
        NO_TAIL_PACKING,
        FORCE,
        QUIET,
        QUEUE,
        rule(
            &["-F", "--pack-file"],
            "FILE",
            Refused(
                "-D packs a directory; `sinter build DIR --pseudo-file FILE` adds files to one",
            ),
        ),
        rule(
            &["-d", "--defaults"],
            "X",
            Refused("`sinter build` has --set-time, --set-owner and --chmod"),
        ),
        rule(
            &["-S", "--sort-file"],
            "FILE",
            Refused("`sinter build --sort FILE` takes the sort files of mksquashfs"),
        ),
        rule(
            &["-s", "--selinux"],
            "FILE",
            Refused("`sinter build --file-contexts FILE` labels files"),
        ),
        rule(
            &["-A", "--xattr-file"],
            "FILE",
            Refused("`sinter build --pseudo 'PATH x NAME=VALUE'` adds one to a file"),
        ),
    ]],
    translate: gensquashfs,
};

const COMPRESSOR: Rule = rule(
    &["-c", "--compressor"],
    "CODEC",
    Combined("--compression (xz)"),
);
const EXTRA: Rule = rule(
    &["-X", "--comp-extra"],
    "OPTION,..",
    Combined("--compression CODEC:... (level=, dictsize=, hc, filters of xz)"),
);
const JOBS: Rule = rule(&["-j", "--num-jobs"], "N", Same("--jobs"));
const BLOCK_SIZE: Rule = rule(
    &["-b", "--block-size"],
    "SIZE",
    Combined("--block-size (128K)"),
);
const DEVICE_BLOCK_SIZE: Rule = rule(
    &["-B", "--dev-block-size"],
    "4096",
    Combined("images are padded to 4096"),
);
const EXPORTABLE: Rule = rule(
    &["-e", "--exportable"],
    "",
    Combined("without it: --no-exports"),
);
const NO_TAIL_PACKING: Rule = rule(
    &["-T", "--no-tail-packing"],
    "",
    Combined("without it: --tailends"),
);
const FORCE: Rule = rule(&["-f", "--force"], "", Same("--force"));
const QUIET: Rule = rule(&["-q", "--quiet"], "", Same("--quiet"));
const QUEUE: Rule = rule(
    &["-Q", "--queue-backlog"],
    "N",
    Refused("`sinter build --memory SIZE` limits what waits"),
);

/// The levels that squashfs-tools-ng has where none is given.
const LEVELS: [(&str, &str); 2] = [("gzip", "9"), ("zstd", "15")];

fn tar2sqfs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    if parsed.is_given("-k") {
        set_time(&mut parsed, "--set-time")?;
    }
    build(parsed, "-".into())
}

fn gensquashfs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let source = parsed.values("-D").last().map(OsString::from);
    let source = source.ok_or_else(|| Error::invalid("-D DIR is missing"))?;
    let is_roots = parsed.translated.iter().any(|word| word == "--all-root");
    // the root is not that of the directory
    parsed.push("--root-mode", "0755");
    for (theirs, ours, of_root) in [
        ("-u", "--set-owner", "--root-uid"),
        ("-g", "--set-group", "--root-gid"),
    ] {
        if let Some(text) = parsed.text(theirs)? {
            let number = values::id(parsed.typed(theirs), text)?.to_owned();
            parsed.push(ours, number);
        } else if !is_roots {
            parsed.push(of_root, "0");
        }
    }
    let of_times = if parsed.is_given("-k") {
        "--root-time"
    } else {
        "--set-time"
    };
    set_time(&mut parsed, of_times)?;
    if !parsed.is_given("-x") {
        parsed.push_flag("--no-xattrs");
    }
    build(parsed, source)
}

/// Sets times by an option as the tools do where they keep none.
fn set_time(parsed: &mut Parsed, option: &str) -> Result<()> {
    let epoch = std::env::var("SOURCE_DATE_EPOCH");
    let time = epoch.unwrap_or_else(|_| "0".to_owned());
    let time = values::time("SOURCE_DATE_EPOCH", &time)?.to_owned();
    parsed.push(option, time);
    Ok(())
}

/// Adds what both have in common.
fn build(mut parsed: Parsed, source: OsString) -> Result<Vec<OsString>> {
    let [image] = <[OsString; 1]>::try_from(std::mem::take(&mut parsed.operands))
        .map_err(|_| Error::invalid("exactly one image is needed"))?;
    let compression = compression(&parsed)?;
    parsed.push("--compression", compression);
    let typed = parsed.typed("-b");
    let block_size = values::bytes(typed, parsed.text("-b")?.unwrap_or("128K"))?;
    parsed.push("--block-size", block_size.to_string());
    let typed = parsed.typed("-B");
    let padding = values::bytes(typed, parsed.text("-B")?.unwrap_or("4096"))?;
    if padding != 4096 {
        let what = format!("{typed} {padding}: images are padded to 4096 bytes");
        return Err(Error::unsupported(what));
    }
    if !parsed.is_given("-e") {
        parsed.push_flag("--no-exports");
    }
    if !parsed.is_given("-T") {
        parsed.push_flag("--tailends");
    }
    let mut words: Vec<OsString> = vec!["build".into(), "--format=squashfs".into()];
    words.append(&mut parsed.translated);
    words.extend([with_value("--output", &image), "--".into(), source]);
    Ok(words)
}

/// Returns the codec with its options.
fn compression(parsed: &Parsed) -> Result<String> {
    let codec = parsed.text("-c")?.unwrap_or("xz");
    let default = LEVELS.into_iter().find(|(of, _)| *of == codec);
    let mut level = default.map(|(_, level)| level);
    let (mut name, mut options) = (codec, Vec::new());
    let mut filters = Vec::new();
    let extra = parsed.text("-X")?.unwrap_or_default();
    for option in extra.split(',').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match (codec, key) {
            ("gzip" | "zstd", "level") => level = Some(value),
            ("lz4", "hc") => (name, level) = ("lz4hc", Some("12")),
            ("xz", "dictsize") if !value.ends_with('%') => {
                options.push(format!("dict={}", values::bytes("dictsize", value)?));
            }
            ("xz", "x86" | "powerpc" | "ia64" | "arm" | "armthumb" | "sparc") => filters.push(key),
            _ => {
                let typed = parsed.typed("-X");
                let what = format!("{typed} {option} is not supported for {codec}");
                return Err(Error::unsupported(what));
            }
        }
    }
    if !filters.is_empty() {
        options.push(format!("bcj={}", filters.join(",")));
    }
    options.extend(level.map(|level| format!("level={level}")));
    options.insert(0, name.to_owned());
    Ok(options.join(":"))
}
