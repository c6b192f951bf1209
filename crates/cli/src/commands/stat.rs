//! `sinter stat`: shows all attributes of paths in an image.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::ExitCode;

use serde_json::json;
use sinterfs::model::{ExtentSource, Image, Ino, Time};
use sinterfs::ops::{Follow, Row, Unread, expand, resolve, row};
use sinterfs::platform::names;
use sinterfs::{FileType, Kind, Result};

use crate::args::input::ImageArgs;
use crate::rows::{as_json, permissions, trimmed};
use crate::{calendar, exit, text};

/// Show all attributes of paths in an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter stat image.dwarfs etc/passwd
      Show owner, times, extended attributes and extents of a file.
  sinter stat -L image.dwarfs bin/sh
      Follow symlinks.
  sinter stat --json image.dwarfs 'etc/*.conf'
      Print a line of JSON for each path.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The paths; patterns are expanded.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,

    /// Follow symlinks within the image.
    #[arg(short = 'L', long)]
    dereference: bool,

    /// Print a line of JSON for each path, as `sinter ls --json` does, with the extents.
    #[arg(long)]
    json: bool,
}

/// Where the content of a file is.
#[derive(Default)]
struct Extents {
    extents: u64,
    holes: u64,
    hole_bytes: u64,
    blocks: BTreeSet<u64>,
    /// Whether the content is outside the image.
    outside: bool,
}

/// Prints the attributes.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open_tree()?;
    let image = &**opened.raw();
    let follow = if args.dereference {
        Follow::All
    } else {
        Follow::Parents
    };
    let mut unread = Unread::default();
    for path in &args.paths {
        let paths = expand(image, trimmed(&names::bytes(path)), &mut unread)?;
        let is_one = paths.len() == 1 && args.paths.len() == 1;
        for path in paths {
            let shown = shown(args, image, &path, follow);
            if is_one {
                text::print(&shown.map_err(|error| error.path(names::path(&path)))?)?;
            } else if let Some(shown) = unread.settle(&path, shown)? {
                text::print(&shown)?;
            }
        }
    }
    Ok(exit::unread(unread))
}

/// Returns the lines about a path.
fn shown(args: &Args, image: &dyn Image, path: &[u8], follow: Follow) -> Result<String> {
    let ino = resolve(image, path, follow)?;
    let shown: &[u8] = if path.is_empty() { b"." } else { path };
    let row = row(image, ino, shown)?;
    let extents = extents(image, ino, row.kind)?;
    if args.json {
        json_line(image, &row, &extents)
    } else {
        plain(image, &row, &extents)
    }
}

fn extents(image: &dyn Image, ino: Ino, kind: FileType) -> Result<Extents> {
    let mut all = Extents::default();
    if kind != FileType::File {
        return Ok(all);
    }
    let listed = image.extents(ino, 0, &mut |extent| {
        match extent.source {
            ExtentSource::Hole => {
                all.holes += 1;
                all.hole_bytes = all.hole_bytes.saturating_add(extent.len);
            }
            ExtentSource::Block { block, .. } => {
                all.extents += 1;
                all.blocks.insert(block);
            }
        }
        ControlFlow::Continue(())
    });
    match listed {
        Err(error) if error.kind() == Kind::Unsupported => all.outside = true,
        listed => listed?,
    }
    Ok(all)
}

fn plain(image: &dyn Image, row: &Row, extents: &Extents) -> Result<String> {
    let mut text = format!("    Path: {}", text::name(&row.path));
    if let Some(target) = &row.target {
        text += &format!(" -> {}", text::name(target));
    }
    text += &format!("\n    Type: {}\n", type_name(row.kind));
    match row.rdev {
        Some(rdev) => text += &format!("  Device: {}, {}\n", rdev.major, rdev.minor),
        None if row.kind == FileType::Directory => {}
        None => text += &format!("    Size: {}\n", row.size),
    }
    text += &format!(
        "    Mode: {:04o} ({}{})\n   Owner: {}\n   Group: {}\n   Links: {}\n   Inode: {}\n",
        row.mode,
        row.kind.letter(),
        permissions(row.mode),
        row.uid,
        row.gid,
        row.nlink,
        row.ino.0,
    );
    text += &format!("Modified: {}\n", time(row.times.modified));
    if image.info().capability.all_times {
        text += &format!("Accessed: {}\n", time(row.times.accessed));
        text += &format!(" Changed: {}\n", time(row.times.changed));
    }
    if row.kind == FileType::File {
        text += &content(extents);
    }
    for (name, value) in image.xattrs(row.ino)? {
        let shown = match std::str::from_utf8(&value) {
            Ok(value) => format!(
                "\"{}\"",
                text::name(value.trim_end_matches('\0').as_bytes())
            ),
            Err(_) => format!("0s{}", text::base64(&value)),
        };
        text += &format!("   Xattr: {}={shown}\n", text::name(&name));
    }
    Ok(text)
}

fn content(extents: &Extents) -> String {
    if extents.outside {
        return " Content: outside the image\n".to_owned();
    }
    let (count, blocks) = (extents.extents, extents.blocks.len());
    let mut text = format!(
        " Content: {count} {} in {blocks} {}",
        if count == 1 { "extent" } else { "extents" },
        if blocks == 1 { "block" } else { "blocks" },
    );
    if extents.holes > 0 {
        text += &format!(", {} bytes of holes", extents.hole_bytes);
    }
    text + "\n"
}

fn json_line(image: &dyn Image, row: &Row, extents: &Extents) -> Result<String> {
    let mut line = as_json(image, row)?;
    if row.kind == FileType::File && !extents.outside {
        line["extents"] = json!(extents.extents);
        line["blocks"] = json!(extents.blocks);
        line["hole_bytes"] = json!(extents.hole_bytes);
    }
    Ok(format!("{line}\n"))
}

fn type_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "directory",
        FileType::File => "regular file",
        FileType::Symlink => "symlink",
        FileType::CharDevice => "character device",
        FileType::BlockDevice => "block device",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
    }
}

/// Formats a time with its seconds and nanoseconds, in UTC.
fn time(time: Time) -> String {
    let seconds = time.secs.rem_euclid(60);
    format!(
        "{}:{seconds:02}.{:09} UTC",
        calendar::utc(time.secs),
        time.nanos
    )
}
