//! `sinter tree`: draws the directories of an image.

use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use sinterfs::model::Image;
use sinterfs::ops::{Follow, TreeEntry, TreeOptions, Unread, expand, resolve, tree};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, Result};

use crate::args::input::ImageArgs;
use crate::rows::trimmed;
use crate::standard_files;
use crate::{exit, size, text};

/// Draw the directories of an image as a tree.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  sinter tree -L 2 image.dwarfs
      Draw two levels.
  sinter tree -d image.dwarfs usr
      Draw the directories below a path.
  sinter tree -h image.dwarfs etc
      Show the size of each file."
)]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// Where to begin (default: the root directory); patterns are expanded.
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,

    /// The number of levels to draw.
    #[arg(
        short = 'L',
        long,
        value_name = "N",
        alias = "level",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    depth: Option<u32>,

    /// Draw only directories.
    #[arg(short, long)]
    directories: bool,

    /// Show the size of each file in bytes.
    #[arg(short, long)]
    size: bool,

    /// Show the size of each file, rounded: 1.2K, 35M (units of 1024).
    #[arg(short = 'h', long)]
    human_readable: bool,

    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// How many entries were drawn.
#[derive(Default)]
struct Drawn {
    directories: u64,
    others: u64,
}

/// Draws.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open_tree()?;
    let image = &**opened.raw();
    let root = [OsString::new()];
    let starts = if args.paths.is_empty() {
        &root[..]
    } else {
        &args.paths
    };
    let options = TreeOptions {
        max_depth: args.depth.map(|depth| depth as usize),
        only_directories: args.directories,
    };
    let failed = |e| Error::io("cannot print the tree", e);
    let mut out = BufWriter::new(standard_files::output());
    let mut counts = Drawn::default();
    let mut unread = Unread::default();
    for start in starts {
        for path in expand(image, trimmed(&names::bytes(start)), &mut unread)? {
            let ino = resolve(image, &path, Follow::Parents)?;
            let shown: &[u8] = if path.is_empty() { b"." } else { &path };
            writeln!(out, "{}", text::name(shown)).map_err(failed)?;
            if image.inode(ino)?.kind != FileType::Directory {
                counts.others += 1;
                continue;
            }
            counts.directories += 1;
            tree(image, (ino, &path), options, &mut unread, &mut |entry| {
                match entry.kind {
                    FileType::Directory => counts.directories += 1,
                    _ => counts.others += 1,
                }
                let (line, read) = line(args, image, &entry);
                writeln!(out, "{line}").map_err(failed)?;
                read
            })?;
        }
    }
    writeln!(out, "\n{}", summary(args, &counts)).map_err(failed)?;
    out.flush().map_err(failed)?;
    Ok(exit::unread(unread))
}

/// Returns the line of an entry, without its unreadable attributes, and their error.
fn line(args: &Args, image: &dyn Image, entry: &TreeEntry<'_>) -> (String, Result<()>) {
    let mut read = Ok(());
    let mut line = String::new();
    let (own, above) = entry.last.split_last().unwrap_or((&true, &[]));
    for last in above {
        line += if *last { "    " } else { "│   " };
    }
    line += if *own { "└── " } else { "├── " };
    let has_size = (args.size || args.human_readable) && entry.kind == FileType::File;
    // the tree reads the inode itself, and its error is the same
    if let Some(inode) = has_size
        .then(|| image.inode(entry.ino))
        .and_then(Result::ok)
    {
        let bytes = inode.size;
        line += &if args.human_readable {
            format!("[{:>5}]  ", size::short(bytes))
        } else {
            format!("[{bytes:>11}]  ")
        };
    }
    line += &text::name(entry.name);
    if entry.kind == FileType::Symlink {
        match image.read_link(entry.ino) {
            Ok(target) => {
                line += " -> ";
                line += &text::name(&target);
            }
            Err(error) => read = Err(error.into_corrupt_entry()),
        }
    }
    (line, read)
}

fn summary(args: &Args, counts: &Drawn) -> String {
    let directories = match counts.directories {
        1 => "1 directory".to_owned(),
        n => format!("{n} directories"),
    };
    if args.directories {
        return directories;
    }
    match counts.others {
        1 => format!("{directories}, 1 file"),
        n => format!("{directories}, {n} files"),
    }
}
