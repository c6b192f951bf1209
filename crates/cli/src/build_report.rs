//! The report of a build: a few lines, or JSON.

use std::process::ExitCode;

use serde_json::json;
use sinterfs::Result;
use sinterfs::build::{BuildReport, Conflicts, ObjectsReport, PipelineReport, Summary};
use sinterfs::verify::Root;
use sinterfs::verify::verity::hex;

use crate::args::run::VerbosityArgs;
use crate::progress::Display;
use crate::size::human;
use crate::timings::Timings;
use crate::{exit, messages, text};

/// Ends the display, does the last work, which returns the bytes of parity that it wrote, and
/// prints the report; returns the exit code and the elapsed time.
pub fn print(
    report: &BuildReport,
    verbosity: VerbosityArgs,
    verbose: bool,
    display: Display,
    last: impl FnOnce() -> Result<Option<u64>>,
) -> Result<(ExitCode, Timings)> {
    let warnings = display.observer().warnings();
    let timings = display.observer().timings();
    let seconds = timings.wall.as_secs_f64();
    drop(display);
    if verbosity.json {
        let mut all = as_json(report, warnings, seconds);
        all["timings"] = timings.as_json();
        text::named_losses(report.format, &report.pipeline.image.losses);
        // the image exists even if its parity fails
        let parity = last();
        if let Ok(Some(bytes)) = parity {
            all["parity_bytes"] = bytes.into();
        }
        text::print(&format!("{all:#}\n"))?;
        parity?;
    } else {
        tell_conflicts(&report.conflicts);
        if verbose {
            messages::write(&timings.as_text());
        }
        if !verbosity.quiet {
            messages::write(&summary(report, seconds, verbose));
        }
        // after the numbers: most often this is no reason to build again
        let losses = &report.pipeline.image.losses;
        text::losses(report.format, losses, verbosity.quiet);
        last()?;
    }
    let code = if report.is_complete() {
        0
    } else {
        exit::PARTIAL
    };
    Ok((ExitCode::from(code), timings))
}

fn tell_conflicts(conflicts: &Conflicts) {
    for conflict in &conflicts.first {
        messages::line(format_args!(
            "sinter: {}: the entry of {} hides that of {}",
            text::name(&conflict.path),
            text::one_line(&conflict.kept),
            text::one_line(&conflict.hidden)
        ));
    }
    let more = conflicts.count.saturating_sub(conflicts.first.len() as u64);
    if more > 0 {
        messages::line(format_args!("sinter: {more} further names were hidden"));
    }
}

/// Prints a few lines: input, output, and what each step saved.
fn summary(report: &BuildReport, seconds: f64, verbose: bool) -> String {
    let pipeline = &report.pipeline;
    let (tree, image) = (&pipeline.tree, &pipeline.image);
    let percent = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
    let mut text = format!(
        "{}: {}\n",
        text::counts(&[
            (tree.files, "file"),
            (tree.directories, "directory"),
            (tree.symlinks, "symlink"),
            (tree.specials, "special file"),
            (tree.hard_links, "hard link"),
        ]),
        human(tree.bytes),
    );
    if let Some(objects) = &report.objects {
        text += &of_objects(objects, image.image_bytes, seconds);
        return text + &pushed(report.pushed.as_deref()) + &incomplete(report);
    }
    text += &savings(pipeline);
    text += &format!(
        "{} in {} -> {} ({:.1}%); metadata {}\n",
        human(image.raw_bytes),
        text::count(image.blocks, "block"),
        human(image.block_bytes),
        percent(image.block_bytes, image.raw_bytes),
        human(image.metadata_bytes),
    );
    text += &of_base(pipeline);
    // of files that are smaller than the metadata, a ratio says nothing
    let of_files = if tree.bytes > image.metadata_bytes {
        format!(
            " ({:.1}% of the files)",
            percent(image.image_bytes, tree.bytes)
        )
    } else {
        String::new()
    };
    text += &format!(
        "image: {}{} in {seconds:.1} s, {}/s\n",
        human(image.image_bytes),
        of_files,
        human((tree.bytes as f64 / seconds.max(1e-3)) as u64),
    );
    if verbose {
        text += &format!(
            "memory bound {}: stages {}, names and metadata {}\n",
            human(pipeline.memory + pipeline.metadata_memory),
            human(pipeline.memory),
            human(pipeline.metadata_memory),
        );
    }
    text += &root_digest(image);
    text += &pushed(report.pushed.as_deref());
    if report.conflicts.count > 0 {
        text += &format!("{} names hidden by later sources\n", report.conflicts.count);
    }
    text + &incomplete(report)
}

/// Prints what is stored once, or not at all, if there is any.
fn savings(pipeline: &PipelineReport) -> String {
    let mut parts = Vec::new();
    if pipeline.duplicate_bytes > 0 {
        parts.push(format!(
            "equal files saved {} in {}",
            human(pipeline.duplicate_bytes),
            text::count(pipeline.duplicates, "file")
        ));
    }
    for (bytes, what) in [
        (pipeline.matched_bytes, "repeats saved"),
        (pipeline.hole_bytes, "holes"),
    ] {
        if bytes > 0 {
            parts.push(format!("{what} {}", human(bytes)));
        }
    }
    if parts.is_empty() {
        String::new()
    } else {
        parts.join("; ") + "\n"
    }
}

/// Prints what was reused of a base.
fn of_base(pipeline: &PipelineReport) -> String {
    if pipeline.reused_blocks == 0 {
        return String::new();
    }
    let unused = pipeline.unused_bytes as f64 * 100.0 / pipeline.reused_bytes.max(1) as f64;
    format!(
        "taken over: {} blocks, {}; {unused:.1}% of that is in no file any more\n",
        pipeline.reused_blocks,
        human(pipeline.reused_bytes),
    )
}

/// Prints the root digest of an image, if it has one.
pub fn root_digest(image: &Summary) -> String {
    let root = image.root_digest.map(Root::from);
    root.map_or(String::new(), |root| format!("root digest: {root}\n"))
}

/// Prints the name of an image in a registry, if it was pushed to one.
pub fn pushed(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("pushed: {name}\n"))
}

/// Prints counts of content outside the image.
fn of_objects(objects: &ObjectsReport, image_bytes: u64, seconds: f64) -> String {
    format!(
        "{} objects, {}; new in the store: {}, {}\n\
         image: {} in {seconds:.1} s, version {}, digest {}\n",
        objects.objects,
        human(objects.bytes),
        objects.new_objects,
        human(objects.new_bytes),
        human(image_bytes),
        objects.version,
        hex(&objects.digest),
    )
}

fn incomplete(report: &BuildReport) -> String {
    if report.is_complete() {
        return String::new();
    }
    let pipeline = &report.pipeline;
    format!(
        "NOT COMPLETE: {} left out, {} could not be read whole, {} changed while they were read, \
         {} read at a second attempt only\n",
        pipeline.left_out + report.not_kept(),
        pipeline.unreadable,
        pipeline.changed,
        pipeline.retried,
    )
}

pub fn as_json(report: &BuildReport, warnings: u64, seconds: f64) -> serde_json::Value {
    let pipeline = &report.pipeline;
    let (tree, image) = (&pipeline.tree, &pipeline.image);
    let mut all = json!({
        "format": report.format,
        "files": tree.files,
        "directories": tree.directories,
        "symlinks": tree.symlinks,
        "specials": tree.specials,
        "hard_links": tree.hard_links,
        "bytes": tree.bytes,
        "duplicate_files": pipeline.duplicates,
        "duplicate_bytes": pipeline.duplicate_bytes,
        "matched_bytes": pipeline.matched_bytes,
        "reused_blocks": pipeline.reused_blocks,
        "reused_bytes": pipeline.reused_bytes,
        "unused_bytes": pipeline.unused_bytes,
        "memory": pipeline.memory,
        "hole_bytes": pipeline.hole_bytes,
        "blocks": image.blocks,
        "raw_bytes": image.raw_bytes,
        "block_bytes": image.block_bytes,
        "metadata_bytes": image.metadata_bytes,
        "image_bytes": image.image_bytes,
        "losses": text::losses_as_json(&image.losses),
        "left_out": pipeline.left_out,
        "unreadable": pipeline.unreadable,
        "changed": pipeline.changed,
        "retried": pipeline.retried,
        "hidden_names": report.conflicts.count,
        "warnings": warnings,
        "seconds": seconds,
    });
    if let Some(root) = image.root_digest {
        all["root_digest"] = Root::from(root).to_string().into();
    }
    if let Some(name) = &report.pushed {
        all["pushed"] = name.as_str().into();
    }
    if let Some(objects) = &report.objects {
        all["digest"] = hex(&objects.digest).into();
        all["version"] = objects.version.into();
        all["objects"] = objects.objects.into();
        all["object_bytes"] = objects.bytes.into();
        all["new_objects"] = objects.new_objects.into();
        all["new_object_bytes"] = objects.new_bytes.into();
    }
    all
}
