//! `sinter info`: shows properties and history of an image.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::image::{DAMAGE, InfoRows, InfoValue};
use sinterfs::ops::{Unread, Usage, container_rows};
use sinterfs::platform::names;
use sinterfs::{Error, Image, Kind, OpenOptions, Result};

use super::digest::is_same;
use crate::args::input::ImageArgs;
use crate::args::remote::ReadNotes;
use crate::composefs_lines::{self, ComposefsFacts};
use crate::dump_erofs_lines::{self, DumpErofs};
use crate::standard_files;
use crate::unsquashfs_superblock::{self, UnsquashfsFacts};
use crate::{exit, page, text};

/// Show format, totals, codecs and history of an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter info image.dwarfs
      Show what is known about an image.
  sinter info --json image.dwarfs
      Print it as JSON.
  sinter info --dump image.dwarfs
      Print all structures of the image.
  sinter info --report image.html image.dwarfs
      Write a page about what takes up space.

What is damaged is listed, and the exit code is 1; of a DwarFS image whose metadata cannot be read \
its sections are shown, and the exit code is 3.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,

    /// Print all structures of the image as text.
    #[arg(long, conflicts_with = "json")]
    dump: bool,

    /// Write an HTML page about what takes up space in the image, by directory, codec, category and
    /// file. The page is self-contained; `-` is standard output.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "dump"])]
    report: Option<PathBuf>,

    /// Replace the file of --report if it exists.
    #[arg(
        long,
        requires = "report",
        conflicts_with_all = ["json", "dump"],
        hide_short_help = true
    )]
    force: bool,

    /// Print facts about a SquashFS image as unsquashfs does.
    #[arg(long, hide = true, value_enum, value_name = "FACTS")]
    unsquashfs: Option<UnsquashfsFacts>,

    /// Print facts about an EROFS image as dump.erofs does.
    #[arg(long, hide = true, value_enum, value_name = "FACTS")]
    dump_erofs: Vec<DumpErofs>,

    /// With --dump-erofs, the path of the inode.
    #[arg(long, hide = true, value_name = "PATH", requires = "dump_erofs")]
    of: Option<OsString>,

    /// With --dump-erofs, the number of the inode.
    #[arg(long, hide = true, value_name = "N", requires = "dump_erofs")]
    nid: Option<u64>,

    /// Print facts about composefs images as composefs-info does.
    #[arg(long, hide = true, value_enum, value_name = "FACTS")]
    composefs: Option<ComposefsFacts>,

    /// With --composefs, the only names of the root that are shown.
    #[arg(long, hide = true, value_name = "NAME", requires = "composefs")]
    filter: Vec<OsString>,

    /// With --composefs, further images.
    #[arg(long, hide = true, value_name = "IMAGE", requires = "composefs")]
    and: Vec<PathBuf>,
}

/// Prints the properties, or writes the page.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(facts) = args.composefs {
        let first = std::slice::from_ref(&args.image.image);
        let images = [first, &args.and].concat();
        let (options, mut unread) = (args.image.options(), Unread::default());
        let lines = composefs_lines::lines(facts, &images, &options, &args.filter, &mut unread)?;
        return text::print_bytes(&lines).map(|()| exit::unread(unread));
    }
    let mut options = OpenOptions {
        salvage: true,
        ..args.image.options()
    };
    let is_remote = sinterfs::is_url(&args.image.image);
    let reads = is_remote.then(|| ReadNotes::begin(&mut options));
    let opened = match args.image.open_tree_file_with(&options) {
        Ok(opened) => opened,
        Err(error) if error.kind() == Kind::Corrupt => return damaged(args, &options, error),
        Err(error) => return disk(args, error),
    };
    let mut unread = Unread::default();
    let of = (args.of.as_deref(), args.nid);
    if !args.dump_erofs.is_empty()
        && let Some(lines) = dump_erofs_lines::lines(&args.dump_erofs, &opened, of, &mut unread)?
    {
        return text::print(&lines).map(|()| exit::unread(unread));
    }
    if args.dump {
        opened.dump(&mut standard_files::output(), &mut unread)?;
        return Ok(exit::unread(unread));
    }
    let of_server = reads.as_ref().map(|reads| remote_rows(&opened, reads));
    let of_server = of_server.transpose()?;
    let mut details = opened.info()?;
    let container = container_rows(&opened)?;
    details.extend(container.map(|rows| ("container".to_owned(), rows)));
    details.extend(of_server.map(|rows| ("remote".to_owned(), InfoValue::Map(rows))));
    let is_damaged = details.iter().any(|(name, _)| name == DAMAGE);
    if let Some(report) = &args.report {
        write_report(args, report, &details, &opened.usage(&mut unread)?)?;
    } else if let Some(lines) = args
        .unsquashfs
        .and_then(|facts| unsquashfs_superblock::lines(facts, &args.image.image, &details))
    {
        text::print(&lines)?;
    } else if args.json {
        text::print(&format!("{:#}\n", json(&InfoValue::Map(details))))?;
    } else {
        text::print(&plain(&details, 0))?;
    }
    let code = exit::unread(unread);
    Ok(if is_damaged {
        ExitCode::from(exit::PARTIAL)
    } else {
        code
    })
}

/// Returns the bytes that a mount of a remote image fetches before any file is read.
fn remote_rows(opened: &Image, reads: &ReadNotes) -> Result<InfoRows> {
    let len = |range: &Range<u64>| range.end.saturating_sub(range.start);
    let start: u64 = opened.start_ranges()?.iter().map(len).sum();
    Ok(vec![
        ("bytes to open it".to_owned(), reads.bytes().into()),
        ("bytes of a start (--hot)".to_owned(), start.into()),
    ])
}

/// Prints what is known about an image that is too damaged to open, and the error.
fn damaged(args: &Args, options: &OpenOptions, error: Error) -> Result<ExitCode> {
    // of unproven bytes nothing is said
    let may_survey = options.trust.is_none() && !args.dump && args.report.is_none();
    let rows = if may_survey {
        sinterfs::survey(&args.image.image, options).unwrap_or_default()
    } else {
        None
    };
    let Some(mut rows) = rows else {
        return Err(error);
    };
    if let Some((_, InfoValue::List(damage))) = rows.iter_mut().find(|(name, _)| name == DAMAGE) {
        damage.insert(0, error.to_string().into());
    }
    print_rows(args, rows)?;
    Err(error)
}

fn print_rows(args: &Args, rows: InfoRows) -> Result<()> {
    text::print(&if args.json {
        format!("{:#}\n", json(&InfoValue::Map(rows)))
    } else {
        plain(&rows, 0)
    })
}

/// Lists the partitions of a disk where it is open which of them is meant; else the file could not
/// be opened.
fn disk(args: &Args, error: Error) -> Result<ExitCode> {
    let (options, image) = (args.image.options(), &args.image.image);
    let may_list = matches!(error.kind(), Kind::Invalid | Kind::Unsupported)
        && (options.partition, options.offset) == (None, None)
        && !args.dump
        && args.report.is_none();
    let rows = if may_list {
        sinterfs::partitions(image, &options)?
    } else {
        None
    };
    let Some(rows) = rows else {
        return Err(if is_named_as_archive(image) {
            let what = "no image; if it is an archive: `sinter ls` lists it, and `sinter build` \
                        makes an image of it";
            Error::unsupported(what).path(image)
        } else {
            error
        });
    };
    print_rows(args, rows)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns whether a file that is no image has the name of an archive.
fn is_named_as_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_part = |part: &str| ["tar", "tgz", "txz", "cpio", "deb", "rpm"].contains(&part);
    name.split('.').skip(1).any(is_part)
}

fn write_report(args: &Args, to: &Path, details: &InfoRows, usage: &Usage) -> Result<()> {
    let image = &args.image.image;
    let name = image.file_name().unwrap_or(image.as_os_str());
    let page = page::page(&names::bytes(name), details, usage, None);
    if to == Path::new("-") {
        return text::print(&page);
    }
    if is_same(to, image) {
        return Err(Error::invalid("the report would replace the image").path(to));
    }
    sinterfs::build::write_new(to, args.force, page.as_bytes())
}

fn json(value: &InfoValue) -> serde_json::Value {
    match value {
        InfoValue::Text(text) => text.as_str().into(),
        InfoValue::Number(number) => (*number).into(),
        InfoValue::Flag(flag) => (*flag).into(),
        InfoValue::List(list) => list.iter().map(json).collect(),
        InfoValue::Map(map) => {
            let map = map
                .iter()
                .map(|(name, value)| (name.replace(' ', "_"), json(value)));
            serde_json::Value::Object(map.collect())
        }
    }
}

fn plain(details: &InfoRows, depth: usize) -> String {
    let mut lines = String::new();
    let indent = "  ".repeat(depth);
    let width = details
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0)
        + 1;
    for (name, value) in details {
        match value {
            InfoValue::Map(map) => lines += &format!("{indent}{name}:\n{}", plain(map, depth + 1)),
            InfoValue::List(list) if list.iter().any(|item| matches!(item, InfoValue::Map(_))) => {
                lines += &format!("{indent}{name}:\n");
                for item in list {
                    lines += &format!("{indent}  - {}\n", on_one_line(item));
                }
            }
            value => {
                let shown = on_one_line(value);
                lines += &format!("{indent}{:width$} {shown}\n", format!("{name}:"));
            }
        }
    }
    lines
}

fn on_one_line(value: &InfoValue) -> String {
    match value {
        InfoValue::Text(text) => text::name(text.as_bytes()),
        InfoValue::Number(number) => number.to_string(),
        InfoValue::Flag(flag) => (if *flag { "yes" } else { "no" }).to_owned(),
        InfoValue::List(list) => list.iter().map(on_one_line).collect::<Vec<_>>().join(", "),
        InfoValue::Map(map) => {
            let pairs = map
                .iter()
                .map(|(name, value)| format!("{name} {}", on_one_line(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
    }
}
