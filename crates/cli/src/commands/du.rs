//! `sinter du`: shows the sizes of directories, and what of them is in the image.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use serde_json::json;
use sinterfs::ops::{DuOptions, DuRow, Follow, Unread, expand, resolve};
use sinterfs::platform::names;
use sinterfs::{Error, Result};

use crate::args::input::ImageArgs;
use crate::rows::trimmed;
use crate::standard_files;
use crate::{exit, size, text};

/// Show the sizes of directories, and their share of the image.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  sinter du -h image.dwarfs
      Show all directories, with rounded sizes.
  sinter du -h --depth 1 --sort image image.dwarfs usr
      Show what takes most of the image in a directory.
  sinter du -as image.dwarfs 'usr/lib/*.so*'
      Show only the sums of what a pattern matches.

APPARENT is the bytes of the files, as users see them. IMAGE is their share of the stored blocks: \
a block that several files refer to is divided among them, in proportion to what they refer to. \
SHARED is the part of APPARENT that the image has once for several places. A file with several \
names counts where its first name is. Metadata is not included."
)]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The directories or files (default: the root directory); patterns are expanded.
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,

    /// Round sizes: 1.2K, 35M (units of 1024).
    #[arg(short = 'h', long, conflicts_with = "json")]
    human_readable: bool,

    /// The number of levels below the paths to show.
    #[arg(short, long, value_name = "N", alias = "max-depth")]
    depth: Option<usize>,

    /// Show only the sum of each path, as --depth 0.
    #[arg(short, long, conflicts_with = "depth")]
    summarize: bool,

    /// Show files, too.
    #[arg(short, long)]
    all: bool,

    /// The order: as in the tree, or by one of the columns, the largest first.
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Sort::Tree)]
    sort: Sort,

    /// Print a line of JSON for each row.
    #[arg(long)]
    json: bool,

    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// Directories after their contents.
    Tree,
    /// By path.
    Name,
    /// By the bytes of the files.
    #[value(alias = "size")]
    Apparent,
    /// By their share of the image.
    #[value(alias = "stored")]
    Image,
    /// By the bytes that several places share.
    Shared,
}

/// Prints the sizes.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open_tree()?;
    let image = &**opened.raw();
    let mut starts = HashSet::new();
    let mut unread = Unread::default();
    for path in &args.paths {
        for path in expand(image, trimmed(&names::bytes(path)), &mut unread)? {
            starts.insert(resolve(image, &path, Follow::Parents)?);
        }
    }
    let options = DuOptions {
        starts,
        max_depth: if args.summarize { Some(0) } else { args.depth },
        files: args.all,
    };
    let mut out = BufWriter::new(standard_files::output());
    let failed = |error| Error::io("cannot print the sizes", error);
    if !args.json {
        print_heads(&mut out).map_err(failed)?;
    }
    let mut rows = Vec::new();
    opened.disk_usage(&options, &mut unread, &mut |row| {
        if args.sort == Sort::Tree {
            return print(args, &row, &mut out).map_err(failed);
        }
        rows.push(row);
        Ok(())
    })?;
    match args.sort {
        Sort::Tree => {}
        Sort::Name => rows.sort_by(|a, b| a.path.cmp(&b.path)),
        Sort::Apparent => rows.sort_by_key(|row| Reverse(row.apparent)),
        Sort::Image => rows.sort_by_key(|row| Reverse(row.stored)),
        Sort::Shared => rows.sort_by_key(|row| Reverse(row.shared)),
    }
    for row in &rows {
        print(args, row, &mut out).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    Ok(exit::unread(unread))
}

fn print_heads(out: &mut dyn Write) -> std::io::Result<()> {
    let [apparent, stored, shared] = ["APPARENT", "IMAGE", "SHARED"];
    writeln!(out, "{apparent:>12} {stored:>12} {shared:>12}  PATH")
}

fn print(args: &Args, row: &DuRow, out: &mut dyn Write) -> std::io::Result<()> {
    let path: &[u8] = if row.path.is_empty() { b"." } else { &row.path };
    if args.json {
        let line = json!({
            "path": text::json_name(path),
            "files": row.files,
            "apparent": row.apparent,
            "image": row.stored,
            "shared": row.shared,
        });
        return writeln!(out, "{line}");
    }
    let [apparent, stored, shared] = [row.apparent, row.stored, row.shared].map(|bytes| {
        if args.human_readable {
            size::short(bytes)
        } else {
            bytes.to_string()
        }
    });
    let path = text::name(path);
    writeln!(out, "{apparent:>12} {stored:>12} {shared:>12}  {path}")
}
