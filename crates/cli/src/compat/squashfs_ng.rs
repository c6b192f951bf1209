//! The options of tar2sqfs and gensquashfs (squashfs-tools-ng 1.2), translated to options of
//! `sinter build -f squashfs`.

use std::ffi::OsString;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Noted, Refused, Same};
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
            "KEY=VALUE,..",
            Combined("--dir-defaults, where mtime is 0"),
        ),
        rule(
            &["-E", "--exclude-dir"],
            "GLOB",
            Combined("--exclude, from the root"),
        ),
        NO_PAD,
        rule(
            &["-s", "--no-skip"],
            "",
            Refused("`sinter build --strict` fails on all that is not kept"),
        ),
        rule(&["-r", "--root-becomes"], "DIR", Same("--archive-root")),
        rule(
            &["-S", "--no-symlink-retarget"],
            "",
            Already("targets of symlinks are never changed"),
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
        NO_PAD,
        rule(
            &["-d", "--defaults"],
            "KEY=VALUE,..",
            Combined("mode, uid, gid: of the root; mtime: of all files, unless --keep-time"),
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
const NO_PAD: Rule = rule(&["--no-pad"], "", Same("--no-pad"));
const QUIET: Rule = rule(&["-q", "--quiet"], "", Same("--quiet"));
const QUEUE: Rule = rule(
    &["-Q", "--queue-backlog"],
    "N",
    Noted("`sinter build --memory SIZE` limits the data that waits"),
);

/// The levels that squashfs-tools-ng has where none is given.
const LEVELS: [(&str, &str); 2] = [("gzip", "9"), ("zstd", "15")];

fn tar2sqfs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let defaults = Defaults::of(&parsed)?;
    if parsed.is_given("-k") {
        let time = defaults.time()?;
        parsed.push("--set-time", time);
    }
    if parsed.is_given("-d") {
        let all = [
            ("mode", defaults.mode),
            ("uid", defaults.uid),
            ("gid", defaults.gid),
            ("mtime", defaults.mtime.or(Some("0".to_owned()))),
        ];
        let all = all.into_iter();
        let given = all.filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        parsed.push("--dir-defaults", given.collect::<Vec<_>>().join(","));
    }
    let globs: Vec<OsString> = parsed.values("-E").map(OsString::from).collect();
    for glob in globs {
        let pattern = [b"/", &*names::bytes(&glob)].concat();
        parsed.push("--exclude", values::os_string(pattern));
    }
    parsed.push_flag("--empty-archive");
    build(parsed, "-".into())
}

fn gensquashfs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let source = parsed.values("-D").last().map(OsString::from);
    let source = source.ok_or_else(|| Error::invalid("-D DIR is missing"))?;
    let is_roots = parsed.translated.iter().any(|word| word == "--all-root");
    // the root is not the directory's root
    let defaults = Defaults::of(&parsed)?;
    parsed.push("--root-mode", defaults.mode.as_deref().unwrap_or("0755"));
    let ids = [&defaults.uid, &defaults.gid];
    let [uid, gid] = ids.map(|id| id.clone().unwrap_or_else(|| "0".to_owned()));
    for (theirs, ours, of_root, id) in [
        ("-u", "--set-owner", "--root-uid", uid),
        ("-g", "--set-group", "--root-gid", gid),
    ] {
        if let Some(text) = parsed.text(theirs)? {
            let number = values::id(parsed.typed(theirs), text)?.to_owned();
            parsed.push(ours, number);
        } else if !is_roots {
            parsed.push(of_root, id);
        }
    }
    let of_times = if parsed.is_given("-k") {
        "--root-time"
    } else {
        "--set-time"
    };
    let time = defaults.time()?;
    parsed.push(of_times, time);
    if !parsed.is_given("-x") {
        parsed.push_flag("--no-xattrs");
    }
    build(parsed, source)
}

/// The values of `--defaults`.
#[derive(Default)]
struct Defaults {
    mode: Option<String>,
    uid: Option<String>,
    gid: Option<String>,
    mtime: Option<String>,
}

impl Defaults {
    fn of(parsed: &Parsed) -> Result<Self> {
        let mut defaults = Self::default();
        let typed = parsed.typed("-d");
        let text = parsed.text("-d")?.unwrap_or_default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = || {
                let what = format!("{typed} {part}: there are uid=, gid=, mode= and mtime=");
                Error::invalid(what)
            };
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let field = match key {
                "mode" => &mut defaults.mode,
                "uid" => &mut defaults.uid,
                "gid" => &mut defaults.gid,
                "mtime" => &mut defaults.mtime,
                _ => return Err(wrong()),
            };
            *field = Some(value.to_owned());
        }
        Ok(defaults)
    }

    /// Returns the time where none is kept.
    fn time(&self) -> Result<String> {
        if let Some(time) = &self.mtime {
            return Ok(time.clone());
        }
        let epoch = std::env::var("SOURCE_DATE_EPOCH");
        let time = epoch.unwrap_or_else(|_| "0".to_owned());
        values::time("SOURCE_DATE_EPOCH", &time)
    }
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
