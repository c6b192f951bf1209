//! `sinter find`: finds entries of an image by name, type, size, time and owner.

use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use sinterfs::model::Image;
use sinterfs::ops::{FindOptions, Follow, ModeBits, Row, Unread, WalkStep, expand, find, resolve};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, Result};

use crate::args::input::ImageArgs;
use crate::rows::{as_json, long, trimmed};
use crate::standard_files;
use crate::{exit, moment, size, text};

/// Find files of an image by name, type, size or time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter find image.dwarfs --name '*.so*' --type f
      Find files by name.
  sinter find image.dwarfs usr --size +10M -l
      Find large files below a directory, and show their attributes.
  sinter find image.dwarfs --newer 2024-01-31 --name '*.conf'
      Find what was changed since a day.
  sinter find image.dwarfs --perm -4000 --type f
      Find programs that run as their owner.
  sinter find i.dwarfs --name '*.c' -0 | xargs -0 sinter cat i.dwarfs --
      Print all files that match.

All conditions must be met. Conditions may also have one dash, as those of find(1): -name, -iname, \
-path, -type, -size, -newer, -maxdepth, -perm, -uid, -gid, -print0. Sizes are bytes or have a \
unit, and are not rounded up to it; -size with one dash needs a unit (c for bytes).")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// Where to begin (default: the root directory); patterns are expanded.
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,

    /// The name matches; with a slash, the path from the root, where `*` matches within a name and
    /// `**` across slashes. Can be repeated: one of them has to match.
    #[arg(short, long, value_name = "GLOB", visible_alias = "path")]
    name: Vec<String>,

    /// As --name, regardless of case.
    #[arg(long, value_name = "GLOB", conflicts_with = "name")]
    iname: Vec<String>,

    /// The type: f (file), d (directory), l (symlink), c and b (devices), p (fifo), s (socket).
    #[arg(
        short = 't',
        long = "type",
        value_name = "TYPE,..",
        value_parser = kind,
        value_delimiter = ','
    )]
    kinds: Vec<FileType>,

    /// The size of files: +N at least, -N at most, N exactly; with c (bytes), k, m, g or t. Can be
    /// repeated.
    #[arg(
        short = 's',
        long,
        value_name = "[+-]SIZE",
        value_parser = bounds,
        allow_hyphen_values = true
    )]
    size: Vec<(Option<u64>, Option<u64>)>,

    /// Modified at this time or later: a date (2024-01-31, 2024-01-31 12:00, in UTC), seconds since
    /// 1970 (@1700000000), or an age (90s, 10min, 12h, 7d, 3w).
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    newer: Option<i64>,

    /// Modified at this time or earlier.
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    older: Option<i64>,

    /// The owner, a numeric user ID.
    #[arg(long, value_name = "UID")]
    uid: Option<u32>,

    /// The group, a numeric group ID.
    #[arg(long, value_name = "GID")]
    gid: Option<u32>,

    /// The permission bits, octal: MODE exactly these, -MODE all of these, /MODE one of these.
    #[arg(
        long,
        value_name = "[-/]MODE",
        value_parser = mode_bits,
        allow_hyphen_values = true
    )]
    perm: Option<ModeBits>,

    /// The number of levels to descend below the start.
    #[arg(
        short = 'd',
        long,
        value_name = "N",
        alias = "max-depth",
        alias = "maxdepth"
    )]
    depth: Option<usize>,

    /// Show type, permissions, links, owner, size and time.
    #[arg(short, long)]
    long: bool,

    /// Print a line of JSON for each path, as `sinter ls --json` does.
    #[arg(long)]
    json: bool,

    /// Print unescaped paths, each ended by NUL (for xargs -0).
    #[arg(short = '0', long, alias = "print0", conflicts_with_all = ["json", "long"])]
    null: bool,
}

/// Prints the files that are found.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open_tree()?;
    let image = &**opened.raw();
    let options = options(args);
    let root = [OsString::new()];
    let starts = if args.paths.is_empty() {
        &root[..]
    } else {
        &args.paths
    };
    let mut out = BufWriter::new(standard_files::output());
    let mut unread = Unread::default();
    for start in starts {
        for path in expand(image, trimmed(&names::bytes(start)), &mut unread)? {
            let ino = resolve(image, &path, Follow::Parents)?;
            // the root has no name that could match
            let shown = if path.is_empty() { b"" } else { &*path };
            find(image, ino, shown, &options, &mut unread, &mut |row| {
                if !row.path.is_empty() {
                    show(args, image, row, &mut out)?;
                }
                Ok(WalkStep::On)
            })?;
        }
    }
    out.flush()
        .map_err(|e| Error::io("cannot print the paths", e))?;
    Ok(exit::unread(unread))
}

fn options(args: &Args) -> FindOptions {
    let min = args.size.iter().filter_map(|(min, _)| *min).max();
    let max = args.size.iter().filter_map(|(_, max)| *max).min();
    FindOptions {
        names: [&args.name[..], &args.iname[..]].concat(),
        ignore_case: !args.iname.is_empty(),
        kinds: args.kinds.clone(),
        min_size: min,
        max_size: max,
        newer: args.newer,
        older: args.older,
        uid: args.uid,
        gid: args.gid,
        mode: args.perm,
        max_depth: args.depth,
    }
}

fn show(args: &Args, image: &dyn Image, row: &Row, out: &mut dyn Write) -> Result<()> {
    let failed = |e| Error::io("cannot print the paths", e);
    if args.null {
        let written = out.write_all(&row.path).and_then(|()| out.write_all(&[0]));
        return written.map_err(failed);
    }
    let line = if args.json {
        as_json(image, row)?.to_string()
    } else if args.long {
        long(row, false)
    } else {
        text::name(&row.path)
    };
    writeln!(out, "{line}").map_err(failed)
}

fn kind(text: &str) -> std::result::Result<FileType, String> {
    Ok(match text {
        "f" | "file" => FileType::File,
        "d" | "directory" => FileType::Directory,
        "l" | "symlink" => FileType::Symlink,
        "c" => FileType::CharDevice,
        "b" => FileType::BlockDevice,
        "p" => FileType::Fifo,
        "s" => FileType::Socket,
        _ => return Err("a type is one of f, d, l, c, b, p, s".to_owned()),
    })
}

/// Parses the size of a condition: `c` for bytes, too, as in find(1).
fn size_of(text: &str) -> std::result::Result<u64, String> {
    size::parse(text.strip_suffix('c').unwrap_or(text))
}

/// Parses a size with a sign to the least and the greatest size.
fn bounds(text: &str) -> std::result::Result<(Option<u64>, Option<u64>), String> {
    if let Some(text) = text.strip_prefix('+') {
        return Ok((Some(size_of(text)?), None));
    }
    if let Some(text) = text.strip_prefix('-') {
        return Ok((None, Some(size_of(text)?)));
    }
    let size = size_of(text)?;
    Ok((Some(size), Some(size)))
}

fn mode_bits(text: &str) -> std::result::Result<ModeBits, String> {
    let (form, digits): (fn(u16) -> ModeBits, _) = match text.as_bytes().first() {
        Some(b'-') => (ModeBits::All, &text[1..]),
        Some(b'/') => (ModeBits::Any, &text[1..]),
        _ => (ModeBits::Exactly, text),
    };
    let bits = u16::from_str_radix(digits, 8).ok();
    bits.filter(|bits| *bits <= 0o7777)
        .map(form)
        .ok_or_else(|| format!("`{text}` is not an octal number up to 7777"))
}
