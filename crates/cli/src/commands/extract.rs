//! `sinter extract`: restores an image, or a part of it, below a directory or as an archive.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sinterfs::{
    Error, ExtractOptions, ExtractReport, Filtered, Overwrite, Result, XattrFilter, extract,
};

use super::archive::{self, Kind};
use crate::args::common::{Jobs, Words};
use crate::args::input::ImageArgs;
use crate::progress::Display;
use crate::size::human;
use crate::{exit, messages, text};

/// Unpack an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter extract image.dwarfs -o out                    everything
  sinter extract image.dwarfs -o out usr/bin etc/fstab  these, and what is below them
  sinter extract image.dwarfs -o out --glob '**/*.h'    what matches
  sinter extract image.dwarfs -o out --xattrs-exclude '^security\\.selinux$'
  sinter extract image.dwarfs --tar | zstd > out.tar.zst
  sinter extract image.dwarfs --cpio -o out.cpio
  sinter extract image.dwarfs --mtree -o out.mtree      check with: mtree -p DIR -f out.mtree

Owners are restored for root only. Nothing outside the output directory is written, whatever the
image says. A file that can't be restored is reported and the rest goes on; the exit code is then 1.

The bytes of an archive depend on the image and on these options, not on -j or --cache-size; with
--order path on the tree alone. They are not compressed: pipe them to zstd or xz.
--tar keeps all but sockets; GNU tar restores holes by itself, attributes and ACLs with
--xattrs --xattrs-include='*' --acls. --cpio has whole seconds, no attributes, no holes and files
below 4 GiB; --mtree has no attributes. What is not kept is told and counted, or refused with
--strict.")]
pub struct Args {
    #[command(flatten)]
    pub(super) image: ImageArgs,

    /// The directory to unpack into; it is made if it is missing. The file of an archive; without it,
    /// or for `-`, an archive goes to standard output.
    #[arg(
        short,
        long,
        value_name = "DIR|FILE",
        required_unless_present = "archive"
    )]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(super) kind: Kind,

    /// What to unpack (default: everything).
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,

    /// Unpack paths that match; `*` stays within a name, `**` crosses slashes.
    #[arg(long, value_name = "PATTERN")]
    pub(super) glob: Vec<String>,

    /// Take so many components off the front of paths.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) strip_components: usize,

    /// Replace files that are there, or the file of an archive.
    #[arg(long, conflicts_with = "keep")]
    pub(super) force: bool,

    /// Keep files that are there and unpack the others.
    #[arg(long, conflicts_with = "archive")]
    keep: bool,

    /// Restore no owners even as root; in an archive, all are 0.
    #[arg(long, conflicts_with = "owner")]
    pub(super) no_owner: bool,

    /// Restore owners even if not root.
    #[arg(long, conflicts_with = "archive")]
    owner: bool,

    /// Restore no permissions.
    #[arg(long, conflicts_with = "archive")]
    no_permissions: bool,

    /// Restore no times; in an archive, all are 1970.
    #[arg(long)]
    pub(super) no_times: bool,

    #[command(flatten)]
    pub(super) filter: XattrArgs,

    /// Write holes as zeros.
    #[arg(long)]
    pub(super) no_sparse: bool,

    /// Stop at the first file that can't be restored or read.
    #[arg(long)]
    pub(super) stop_on_error: bool,

    #[command(flatten)]
    pub(super) jobs: Jobs,

    #[command(flatten)]
    pub(super) words: Words,
}

/// Which extended attributes are restored.
#[derive(Debug, clap::Args)]
pub struct XattrArgs {
    /// Restore no extended attributes.
    #[arg(long, conflicts_with_all = ["xattrs_include", "xattrs_exclude"])]
    no_xattrs: bool,

    /// Restore only attributes of which the name (as in user.x) matches a regular expression, or one of several.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    xattrs_include: Vec<String>,

    /// Restore no attributes of which the name matches a regular expression, whatever --xattrs-include says.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    xattrs_exclude: Vec<String>,
}

impl XattrArgs {
    /// Compiles what was asked.
    pub fn filter(&self) -> Result<XattrFilter> {
        if self.no_xattrs {
            Ok(XattrFilter::none())
        } else {
            XattrFilter::of(&self.xattrs_include, &self.xattrs_exclude)
        }
    }
}

/// Unpacks.
pub fn run(args: &Args) -> Result<ExitCode> {
    let Some(output) = args
        .output
        .as_deref()
        .filter(|_| args.kind.format().is_none())
    else {
        return archive::run(args);
    };
    if output == Path::new("-") {
        let hint = "only an archive goes to standard output: add --tar or --cpio (./- is a directory of that name)";
        return Err(Error::invalid(hint));
    }
    let opened = args.image.open()?;
    let display = Display::start(args.words.show());
    let options = options(args);
    let filter = args.filter.filter()?;
    let image = Filtered::new(&**opened.image(), &filter);
    let report = extract(&image, output, &options, display.observer())?;
    let seconds = display.observer().elapsed().as_secs_f64();
    drop(display);
    if args.words.json {
        text::print(&format!("{:#}\n", as_json(&report, seconds)))?;
    } else if !args.words.quiet {
        messages::line(summary(&report, seconds));
    }
    let complete = report.failed == 0 && report.imperfect == 0 && opened.warnings().is_empty();
    Ok(ExitCode::from(if complete { 0 } else { exit::PARTIAL }))
}

fn options(args: &Args) -> ExtractOptions {
    let defaults = ExtractOptions::default();
    ExtractOptions {
        paths: args.paths.clone(),
        globs: args.glob.clone(),
        strip: args.strip_components,
        threads: args.jobs.threads(),
        owner: (defaults.owner || args.owner) && !args.no_owner,
        permissions: !args.no_permissions,
        times: !args.no_times,
        sparse: !args.no_sparse,
        overwrite: match (args.force, args.keep) {
            (true, _) => Overwrite::Replace,
            (_, true) => Overwrite::Keep,
            _ => Overwrite::Refuse,
        },
        continue_on_error: !args.stop_on_error,
        cached: args.image.options().cache_bytes,
        ..defaults
    }
}

fn summary(report: &ExtractReport, seconds: f64) -> String {
    let mut text = format!(
        "{} files, {} directories, {} symlinks, {} hard links, {} special files; {} in {seconds:.1} s",
        report.files,
        report.directories,
        report.symlinks,
        report.links,
        report.specials,
        human(report.bytes),
    );
    for (count, what) in [
        (report.kept, "kept as they were"),
        (report.failed, "not restored"),
        (
            report.imperfect,
            "restored without some of their attributes",
        ),
    ] {
        if count > 0 {
            text += &format!("; {count} {what}");
        }
    }
    text
}

fn as_json(report: &ExtractReport, seconds: f64) -> serde_json::Value {
    json!({
        "directories": report.directories,
        "files": report.files,
        "hard_links": report.links,
        "symlinks": report.symlinks,
        "specials": report.specials,
        "bytes": report.bytes,
        "kept": report.kept,
        "failed": report.failed,
        "imperfect": report.imperfect,
        "seconds": seconds,
    })
}
