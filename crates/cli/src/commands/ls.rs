//! `sinter ls`: lists an image in the form of `ls`, `ls -l`, `find` or JSON lines.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use sinterfs::model::Image;
use sinterfs::ops::{Follow, ListOptions, Row, Unread, WalkStep, expand, list, resolve, row};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, Result};

use crate::args::input::ImageArgs;
use crate::flags::message;
use crate::rdsquashfs_rows::RdsquashfsArgs;
use crate::rows::{as_json, long, trimmed};
use crate::shell_pattern::{NameForm, Wanted};
use crate::standard_files;
use crate::unsquashfs_paths::PathArgs;
use crate::unsquashfs_rows::{Columns, UnsquashfsRows};
use crate::{exit, messages, text};

/// List the files of an image.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "list",
    disable_help_flag = true,
    after_help = "\
Examples:
  sinter ls image.dwarfs
      List the root directory.
  sinter ls -lR image.dwarfs usr/bin
      List everything below a directory, with attributes.
  sinter ls -lhS image.dwarfs 'usr/lib/*.so*'
      List what a pattern matches, the largest files first.
  sinter ls -R --json image.dwarfs
      Print a line of JSON for every path.
  sinter ls -R0 image.dwarfs
      Print names for scripts, ended by NUL."
)]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The paths to list (default: the root directory); `*` matches within a name, `**` across
    /// slashes.
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,

    /// Show type, permissions, links, owner, size and time.
    #[arg(short, long)]
    long: bool,

    /// List directories recursively.
    #[arg(short = 'R', long)]
    recursive: bool,

    /// List directories themselves, not their contents.
    #[arg(short, long)]
    directory: bool,

    /// With -l, round sizes: 1.2K, 35M (units of 1024).
    #[arg(short = 'h', long, conflicts_with = "json")]
    human_readable: bool,

    /// Sort by size, the largest first; with -R over all directories.
    #[arg(short = 'S', conflicts_with = "by_time")]
    by_size: bool,

    /// Sort by time of modification, the newest first; with -R over all directories.
    #[arg(short = 't')]
    by_time: bool,

    /// Reverse the order.
    #[arg(short, long)]
    reverse: bool,

    /// Print a line of JSON for each path. In paths and targets a backslash is doubled, and a byte
    /// that is not UTF-8 becomes \xNN.
    #[arg(long)]
    json: bool,

    /// Print unescaped paths, each ended by NUL (for xargs -0).
    #[arg(short = '0', long, conflicts_with_all = ["json", "long"])]
    null: bool,

    /// Print lines as unsquashfs does, paths below --root-name.
    #[arg(long, hide = true, value_enum, value_name = "COLUMNS")]
    unsquashfs: Option<Columns>,

    /// With --unsquashfs, leave out directories that hold something.
    #[arg(long, hide = true, requires = "unsquashfs")]
    concise: bool,

    /// With --unsquashfs, show the seconds of times.
    #[arg(long, hide = true, requires = "unsquashfs")]
    full_precision: bool,

    /// With --unsquashfs, list this many levels of directories.
    #[arg(long, hide = true, requires = "unsquashfs")]
    max_depth: Option<usize>,

    /// With --unsquashfs, the name of the root.
    #[arg(
        long,
        hide = true,
        requires = "unsquashfs",
        default_value = "squashfs-root"
    )]
    root_name: OsString,

    #[command(flatten)]
    chosen: PathArgs,

    #[command(flatten)]
    rdsquashfs: RdsquashfsArgs,

    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Prints the listing.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open_tree()?;
    let image = &**opened.raw();
    let mut out = BufWriter::new(standard_files::output());
    let failed = |error| Error::io("cannot print the listing", error);
    let mut unread = Unread::default();
    if let Some(columns) = args.unsquashfs {
        let how = args.chosen.names.unwrap_or_default();
        let excluded = Wanted::new(&args.chosen.leave_out, how)?;
        let listing = UnsquashfsRows {
            excluded: &excluded,
            columns,
            concise: args.concise,
            seconds: args.full_precision,
            max_depth: args.max_depth.unwrap_or(usize::MAX),
            root: &names::bytes(&args.root_name),
        };
        let wanted = if args.chosen.follows_or_requires() {
            let (found, missing) = args.chosen.chosen(image, &args.paths, &mut unread)?;
            for error in &missing {
                messages::line(format_args!("sinter: {}", message(error)));
            }
            Wanted::new(&found, NameForm::Literal)?
        } else {
            Wanted::new(&args.paths, how)?
        };
        listing.print(image, &wanted, &mut unread, &mut out)?;
        out.flush().map_err(failed)?;
        return Ok(exit::unread(unread));
    }
    if let Some(form) = args.rdsquashfs.rdsquashfs {
        let listing = &args.rdsquashfs;
        listing.print(form, image, &args.paths, &mut unread, &mut out)?;
        out.flush().map_err(failed)?;
        return Ok(exit::unread(unread));
    }
    for (path, is_match) in paths(args, image, &mut unread)? {
        let sorted = args.by_size || args.by_time || args.reverse;
        let mut rows = Vec::new();
        each(args, image, (&path, is_match), &mut unread, &mut |row| {
            if sorted {
                rows.push(row.clone());
            } else {
                show(args, image, row, &mut out)?;
            }
            Ok(WalkStep::On)
        })?;
        sort(args, &mut rows);
        for row in &rows {
            unread.settle(&row.path, show(args, image, row, &mut out))?;
        }
    }
    out.flush().map_err(failed)?;
    Ok(exit::unread(unread))
}

/// Returns the paths to list, and for each whether it is one of several matches of a pattern: such
/// paths are listed themselves unless listings are recursive.
fn paths(args: &Args, image: &dyn Image, unread: &mut Unread) -> Result<Vec<(Vec<u8>, bool)>> {
    if args.paths.is_empty() {
        return Ok(vec![(Vec::new(), false)]);
    }
    let mut paths = Vec::new();
    for path in &args.paths {
        let path = names::bytes(path);
        let path = trimmed(&path);
        for found in expand(image, path, unread)? {
            let is_match = found != path;
            paths.push((found, is_match));
        }
    }
    Ok(paths)
}

/// Shows the rows of one path, unsorted.
fn each(
    args: &Args,
    image: &dyn Image,
    (path, is_match): (&[u8], bool),
    unread: &mut Unread,
    show: &mut dyn FnMut(&Row) -> Result<WalkStep>,
) -> Result<()> {
    let start = resolve(image, path, Follow::Parents)?;
    let options = ListOptions {
        recursive: args.recursive,
        itself: args.directory || is_match && !args.recursive,
    };
    if args.recursive && !args.directory {
        let itself = row(image, start, if path.is_empty() { b"." } else { path })?;
        if itself.kind == FileType::Directory {
            unread.settle(&itself.path, show(&itself))?;
        }
    }
    let shown = if args.directory && path.is_empty() {
        b".".as_slice()
    } else {
        path
    };
    list(image, start, shown, options, unread, show)
}

fn sort(args: &Args, rows: &mut [Row]) {
    if args.by_size {
        rows.sort_by_key(|row| Reverse(row.size));
    } else if args.by_time {
        rows.sort_by_key(|row| Reverse((row.times.modified.secs, row.times.modified.nanos)));
    }
    if args.reverse {
        rows.reverse();
    }
}

fn show(args: &Args, image: &dyn Image, row: &Row, out: &mut dyn Write) -> Result<()> {
    let failed = |e| Error::io("cannot print the listing", e);
    if args.null {
        return out
            .write_all(&row.path)
            .and_then(|()| out.write_all(&[0]))
            .map_err(failed);
    }
    let line = if args.json {
        as_json(image, row)?.to_string()
    } else if args.long {
        long(row, args.human_readable)
    } else {
        text::name(&row.path)
    };
    writeln!(out, "{line}").map_err(failed)
}
