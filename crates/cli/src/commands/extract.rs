//! `sinter extract`: restores an image, or a part of it, below a directory or as an archive.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sinterfs::build::AttributeChanges;
use sinterfs::model::Image;
use sinterfs::ops::{
    ExtractOptions, ExtractReport, FilteredImage, Overwrite, PartialImage, Unread, extract,
};
use sinterfs::platform::names;
use sinterfs::{Error, Observer, OpenOptions, Result};

use super::{archive, oci, pseudo_file};
use crate::args::extract::ExtractArgs;
use crate::progress::Display;
use crate::shell_pattern::literal_pattern;
use crate::size::human;
use crate::{exit, messages, text};

/// Unpacks.
pub fn run(args: &ExtractArgs) -> Result<ExitCode> {
    if args.archive.oci {
        return oci::run(args);
    }
    if args.archive.pseudo_file {
        return pseudo_file::run(args);
    }
    let Some(output) = args
        .output
        .as_deref()
        .filter(|_| args.archive.format().is_none())
    else {
        return archive::run(args);
    };
    if output == Path::new("-") {
        let hint = "only archives can be written to standard output: add --tar or --cpio \
                    (./- is a directory of that name)";
        return Err(Error::invalid(hint));
    }
    let opened = args.image.open_tree_with(&OpenOptions {
        salvage: args.salvage,
        ..args.image.options()
    })?;
    let display = Display::start(args.verbosity.show());
    let mut options = options(args);
    let missing = choose(args, &**opened.raw(), &mut options)?;
    for error in &missing {
        display.observer().warn(error);
    }
    if options.paths.is_empty() && !missing.is_empty() {
        // without paths everything would be unpacked
        return Ok(ExitCode::from(exit::PARTIAL));
    }
    let filter = args.filter.filter()?;
    refuse_many(args, &**opened.raw())?;
    let image = FilteredImage::new(&**opened.raw(), &filter).changed(&AttributeChanges {
        owner: args.set_owner,
        group: args.set_group,
        chmod: args.chmod.clone(),
        ..AttributeChanges::default()
    })?;
    let part = args.part.options();
    let part = part
        .map(|part| PartialImage::new(&image, &part))
        .transpose()?;
    let image = part.as_ref().map_or(&image as &dyn Image, |part| part);
    let mut report = extract(image, output, &options, display.observer())?;
    if args.paths.is_empty() && args.glob.is_empty() {
        // the root, which `sinter build` counts, too
        report.directories += 1;
    }
    let seconds = display.observer().elapsed().as_secs_f64();
    drop(display);
    if args.verbosity.json {
        text::print(&format!("{:#}\n", as_json(&report, seconds)))?;
    } else if !args.verbosity.quiet {
        messages::line(summary(&report, seconds));
    }
    report.failed += missing.len() as u64;
    let complete = report.failed == 0
        && report.impossible == 0
        && report.imperfect == 0
        && opened.warnings().is_empty();
    Ok(ExitCode::from(match (report.damaged, complete) {
        (0, true) => 0,
        (0, false) => exit::PARTIAL,
        _ => exit::SALVAGED,
    }))
}

/// Fails if the image has more files than are wanted, directories not counted.
fn refuse_many(args: &ExtractArgs, image: &dyn Image) -> Result<()> {
    let Some(most) = args.max_files else {
        return Ok(());
    };
    let totals = image.info().totals;
    let files = totals.inodes;
    if files > most {
        let what = format!("the image has {files} files and directories, and {most} are allowed");
        return Err(Error::limit(what).path(&args.image.image));
    }
    Ok(())
}

/// Finds the selected paths by the rules of unsquashfs, if requested; returns an error for each
/// that is missing.
fn choose(
    args: &ExtractArgs,
    image: &dyn Image,
    options: &mut ExtractOptions,
) -> Result<Vec<Error>> {
    // what cannot be listed is reported by the extraction, which lists everything
    let mut unread = Unread::default();
    let left_out = args.chosen.left_out(image, &mut unread)?;
    let literal = left_out.iter().map(|path| {
        let path = literal_pattern(&names::bytes(&path));
        String::from_utf8(path).map_err(|_| Error::unsupported("a name that is not UTF-8"))
    });
    options.exclude.extend(literal.collect::<Result<Vec<_>>>()?);
    if args.chosen.names.is_none() || args.paths.is_empty() {
        return Ok(Vec::new());
    }
    let typed: Vec<OsString> = args.paths.iter().map(OsString::from).collect();
    let (found, missing) = args.chosen.chosen(image, &typed, &mut unread)?;
    options.paths = found.into_iter().map(PathBuf::from).collect();
    Ok(missing)
}

fn options(args: &ExtractArgs) -> ExtractOptions {
    let defaults = ExtractOptions::default();
    ExtractOptions {
        paths: args.paths.clone(),
        globs: args.glob.clone(),
        exclude: args.exclude.clone(),
        max_depth: args.max_depth,
        strip: args.strip_components,
        threads: args.jobs.threads(),
        owner: (defaults.owner || args.owner) && !args.no_owner,
        report_owner: !args.no_owner,
        permissions: !args.no_permissions,
        usual_modes: args.usual_modes,
        rights: args.rights,
        times: !args.no_times,
        time: args.set_time,
        sparse: !args.no_sparse,
        max_zeros: args.max_zeros.unwrap_or(defaults.max_zeros),
        overwrite: match (args.force, args.keep) {
            (true, _) => Overwrite::Replace,
            (_, true) => Overwrite::Keep,
            _ => Overwrite::Refuse,
        },
        sync: args.sync,
        continue_on_error: !args.stop_on_error,
        salvage: args.salvage,
        strict: args.archive.strict,
        cached: args.image.options().cache_bytes,
        ..defaults
    }
}

fn summary(report: &ExtractReport, seconds: f64) -> String {
    let mut text = format!(
        "{}; {} in {seconds:.1} s",
        text::counts(&[
            (report.files, "file"),
            (report.directories, "directory"),
            (report.symlinks, "symlink"),
            (report.links, "hard link"),
            (report.specials, "special file"),
        ]),
        human(report.bytes),
    );
    for (count, what) in [
        (report.kept, "existing files kept"),
        (report.failed, "not restored"),
        (
            report.impossible,
            "not restored, which this system cannot have",
        ),
        (report.renamed, "restored under other names"),
        (
            report.unkept,
            "with owners, permissions or attributes that this system does not keep",
        ),
        (report.damaged, "restored in part"),
        (
            report.imperfect,
            "restored without some of their attributes",
        ),
        (report.without_set_id, "restored without set-id permissions"),
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
        "impossible": report.impossible,
        "renamed": report.renamed,
        "unkept": report.unkept,
        "damaged": report.damaged,
        "imperfect": report.imperfect,
        "unowned": report.unowned,
        "without_set_id": report.without_set_id,
        "seconds": seconds,
    })
}
