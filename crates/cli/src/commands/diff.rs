//! `sinter diff`: compares two directory trees.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use sinterfs::ops::{Change, DiffOptions, DiffReport, Difference, Field, What};
use sinterfs::verify::{Root, Trust};
use sinterfs::{OpenOptions, Result};

use crate::args::remote::RemoteArgs;
use crate::args::run::{JobsArgs, VerbosityArgs};
use crate::progress::Display;
use crate::{exit, size, sqfsdiff_lines, text};

/// Show the differences of two images, archives or directories.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter diff old.dwarfs new.dwarfs
      Compare two images.
  sinter diff image.squashfs DIR
      Compare an image with its source.
  sinter diff --ignore mtime,uid,gid a b
      Ignore times and owners.
  sinter diff --json a.dwarfs b.erofs | jq '.changes[].path'
      Print changes as JSON.

Each line begins with the kind of change: `-` removed, `+` added, `>` renamed, `~` changed, \
followed by the changed fields. Times are compared at the coarser resolution of the two images, \
and holes equal zeros. The exit code is 0 if the trees are equal, 1 if they differ, and greater \
on errors.")]
pub struct Args {
    /// The older tree: an image, an archive or a directory.
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The newer tree.
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Do not compare these fields: type, mode, uid, gid, size, mtime, target, device, links,
    /// xattrs, content.
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',')]
    ignore: Vec<Field>,

    /// Show a renamed file as a removed and an added one.
    #[arg(long)]
    no_renames: bool,

    /// The size of the cache of decoded blocks of each image.
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = size::parse)]
    cache_size: u64,

    /// The object directory of the composefs images among them.
    #[arg(long, value_name = "DIR")]
    objects: Option<PathBuf>,

    /// Require this root digest of the older image.
    #[arg(long, value_name = "HEX")]
    digest_old: Option<Root>,

    /// Require this root digest of the newer image.
    #[arg(long, value_name = "HEX")]
    digest_new: Option<Root>,

    /// Print lines as sqfsdiff does.
    #[arg(long, hide = true)]
    sqfsdiff: bool,

    /// Unpack the files that differ.
    #[arg(long, hide = true, value_name = "DIR", requires = "sqfsdiff")]
    extract_to: Option<PathBuf>,

    #[command(flatten)]
    remote: RemoteArgs,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    verbosity: VerbosityArgs,
}

/// Compares two trees, and prints every change.
pub fn run(args: &Args) -> Result<ExitCode> {
    let display = Display::start(args.verbosity.show());
    let open = |digest: Option<Root>| OpenOptions {
        cache_bytes: args.cache_size,
        objects: args.objects.clone(),
        trust: digest.map(Trust::of).map(Box::new),
        ..args.remote.open_options()
    };
    let mut open = [open(args.digest_old), open(args.digest_new)];
    let trees = [&*args.old, &*args.new];
    // one of them may be no composefs image
    sinterfs::keep_applicable(&trees, &mut open)?;
    let options = DiffOptions {
        ignored: args.ignore.clone(),
        no_renames: args.no_renames,
        threads: args.jobs.threads(),
        ..DiffOptions::default()
    };
    let report = sinterfs::ops::diff(trees, &open, &options, display.observer())?;
    if let Some(dir) = &args.extract_to {
        sqfsdiff_lines::unpack(&report, trees, &open, dir, display.observer())?;
    }
    let left_out = display
        .observer()
        .warnings()
        .saturating_sub(report.unreadable);
    drop(display);
    if args.sqfsdiff {
        sqfsdiff_lines::print(&report)?;
    } else if args.verbosity.json {
        text::print(&format!("{:#}\n", as_json(&report)))?;
    } else if !args.verbosity.quiet {
        let lines: String = report.changes.iter().map(line).collect();
        text::print(&lines)?;
    }
    let same = report.changes.is_empty() && left_out == 0;
    Ok(ExitCode::from(if same { 0 } else { exit::PARTIAL }))
}

fn line(change: &Change) -> String {
    let path = match &*change.path {
        [] => ".".to_owned(),
        path => text::name(path),
    };
    let mut line = match &change.what {
        What::Removed => format!("- {path}"),
        What::Added => format!("+ {path}"),
        What::Renamed(to, _) => format!("> {path} -> {}", text::name(to)),
        What::Changed(_) => format!("~ {path}"),
    };
    for (number, difference) in differences(change).iter().enumerate() {
        line += if number == 0 { ": " } else { ", " };
        line += difference.field.name();
        if !difference.old.is_empty() || !difference.new.is_empty() {
            let (old, new) = (shown(&difference.old), shown(&difference.new));
            // writing to a string cannot fail
            let _ = write!(line, " {old} -> {new}");
        }
    }
    line + "\n"
}

fn shown(value: &[u8]) -> String {
    match value {
        [] => "none".to_owned(),
        value => text::name(value),
    }
}

fn differences(change: &Change) -> &[Difference] {
    match &change.what {
        What::Removed | What::Added => &[],
        What::Changed(differences) | What::Renamed(_, differences) => differences,
    }
}

fn as_json(report: &DiffReport) -> serde_json::Value {
    let change = |change: &Change| {
        let fields = differences(change).iter().map(|difference| {
            let value = match difference.field {
                Field::Content => serde_json::Value::Null,
                _ => json!([
                    text::json_name(&difference.old),
                    text::json_name(&difference.new),
                ]),
            };
            (difference.field.name().to_owned(), value)
        });
        let mut shown = json!({
            "path": text::json_name(&change.path),
            "type": change.kind.letter().to_string(),
            "change": match change.what {
                What::Removed => "removed",
                What::Added => "added",
                What::Renamed(..) => "renamed",
                What::Changed(_) => "changed",
            },
            "fields": fields.collect::<serde_json::Map<_, _>>(),
        });
        if let What::Renamed(to, _) = &change.what {
            shown["to"] = text::json_name(to).into();
        }
        shown
    };
    json!({
        "changes": report.changes.iter().map(change).collect::<Vec<_>>(),
        "common": report.common,
        "unreadable": report.unreadable,
    })
}
