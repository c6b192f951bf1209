//! `sinter extract --tar`, `--cpio`, `--mtree`: writes an image as an archive or a manifest.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use sinterfs::build::Destination;
use sinterfs::ops::{ArchiveFormat, ArchiveOptions, ArchiveReport, ArchiveRequest, archive};
use sinterfs::{Error, Result};

use crate::args::extract::ExtractArgs;
use crate::progress::Display;
use crate::size::human;
use crate::{exit, messages, text};

/// Writes the archive and prints a summary.
pub fn run(args: &ExtractArgs) -> Result<ExitCode> {
    let format = args.archive.format().unwrap_or(ArchiveFormat::Tar);
    let request = ArchiveRequest {
        image: args.image.image.clone(),
        open: args.image.options(),
        options: options(args, format),
        xattrs: args.filter.filter()?,
        part: args.part.options(),
        destination: destination(args)?,
    };
    let display = Display::start(args.verbosity.show());
    let report = archive(&request, display.observer())?;
    let seconds = display.observer().elapsed().as_secs_f64();
    let warnings = display.observer().warnings();
    drop(display);
    if args.verbosity.json {
        text::named_losses(args.archive.name(), &report.losses);
        text::print(&format!("{:#}\n", as_json(&report, seconds)))?;
    } else {
        text::losses(args.archive.name(), &report.losses, args.verbosity.quiet);
        if !args.verbosity.quiet {
            messages::line(summary(&report, seconds));
        }
    }
    let complete = warnings == 0 && report.is_complete();
    Ok(ExitCode::from(if complete { 0 } else { exit::PARTIAL }))
}

/// Returns the selection and its form.
pub(super) fn options(args: &ExtractArgs, format: ArchiveFormat) -> ArchiveOptions {
    ArchiveOptions {
        order: args.archive.order(),
        paths: args.paths.clone(),
        globs: args.glob.clone(),
        exclude: args.exclude.clone(),
        max_depth: args.max_depth,
        strip: args.strip_components,
        threads: args.jobs.threads(),
        owner: !args.no_owner,
        times: !args.no_times,
        sparse: !args.no_sparse,
        max_zeros: args.max_zeros,
        strict: args.archive.strict,
        continue_on_error: !args.stop_on_error,
        ..ArchiveOptions::of(format)
    }
}

fn destination(args: &ExtractArgs) -> Result<Destination> {
    let file = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    if file.is_some_and(|path| sinterfs::build::is_same_file(path, &args.image.image)) {
        return Err(Error::invalid("the archive would replace its image").path(&args.image.image));
    }
    if let Some(path) = file {
        return Ok(Destination::of(path, args.force));
    }
    if args.verbosity.json {
        let what = "--json and the archive both use standard output; name a file with -o";
        return Err(Error::invalid(what));
    }
    if args.output.is_none() && std::io::stdout().is_terminal() {
        let what = "an archive is not written to a terminal: name a file with -o, or use a pipe";
        return Err(Error::invalid(what));
    }
    Ok(Destination::Stdout)
}

pub(super) fn summary(report: &ArchiveReport, seconds: f64) -> String {
    let mut text = format!(
        "{}; {} in {seconds:.1} s",
        text::counts(&[
            (report.files, "file"),
            (report.directories, "directory"),
            (report.symlinks, "symlink"),
            (report.links, "hard link"),
            (report.specials, "special file"),
        ]),
        human(report.length),
    );
    if report.failed > 0 {
        text += &format!("; {} could not be read", report.failed);
    }
    text
}

pub(super) fn as_json(report: &ArchiveReport, seconds: f64) -> serde_json::Value {
    json!({
        "directories": report.directories,
        "files": report.files,
        "hard_links": report.links,
        "symlinks": report.symlinks,
        "specials": report.specials,
        "bytes": report.bytes,
        "length": report.length,
        "failed": report.failed,
        "losses": text::losses_as_json(&report.losses),
        "seconds": seconds,
    })
}
