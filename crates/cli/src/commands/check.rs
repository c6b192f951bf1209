//! `sinter check`: verifies the integrity of an image.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sinterfs::verify::{CheckOptions, CheckReport, ParityReport};
use sinterfs::{Error, Kind, Result};

use super::repair::{as_json as parity_json, describe};
use crate::args::input::ImageArgs;
use crate::args::run::{JobsArgs, VerbosityArgs};
use crate::progress::Display;
use crate::text::count;
use crate::{exit, flags, messages, text};

/// Verify checksums and structure of an image, or all of its data.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "verify",
    alias = "test",
    after_help = "\
Examples:
  sinter check image.dwarfs
      Verify the checksums of all sections, and the structure of the metadata.
  sinter check --deep image.dwarfs
      Also decode every block and read every file.
  sinter check --deep *.dwarfs
      Verify several images; the highest exit code counts.
  sinter check --digest HEX image.dwarfs
      Verify that the image has this root digest.
  sinter verify --signed-by vendor.pub image.dwarfs
      Verify the signature of the image, and all data that it covers.
  sinter check --parity image.dwarfs
      Also compare the image with its parity, which `sinter parity` writes.
  sinter check --parity=/other/disk/image.parity image.dwarfs
      Compare it with a parity file that has another name.

Digests in the image are always verified; --digest and --signed-by prove that they are the \
expected ones."
)]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// Further images to verify in the same way.
    #[arg(value_name = "IMAGE", conflicts_with_all = ["digest", "offset", "device", "objects"])]
    more: Vec<PathBuf>,

    /// Decode every block and read every file.
    #[arg(long)]
    deep: bool,

    /// Compare the image with its parity file, IMAGE.parity or this one; any other file, too.
    #[arg(long, value_name = "FILE", require_equals = true)]
    parity: Option<Option<PathBuf>>,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    verbosity: VerbosityArgs,
}

/// Checks images, and prints every problem; continues with the next image after one that cannot be
/// checked.
pub fn run(args: &Args) -> Result<ExitCode> {
    if matches!(args.parity, Some(Some(_))) && !args.more.is_empty() {
        return Err(Error::invalid(
            "--parity=FILE is of one image; there are several",
        ));
    }
    let images = std::iter::once(&args.image.image).chain(&args.more);
    let (mut worst, mut all) = (0, Vec::new());
    for image in images {
        let code = match check(args, image) {
            Ok((code, json)) => {
                all.extend(json);
                code
            }
            Err(error) if args.more.is_empty() || error.kind() == Kind::Cancelled => {
                return Err(error);
            }
            Err(error) => {
                messages::line(format_args!("sinter: {}", flags::message(&error)));
                exit::code(error.kind())
            }
        };
        worst = worst.max(code);
    }
    match (args.verbosity.json, &*all) {
        (true, [one]) if args.more.is_empty() => text::print(&format!("{one:#}\n"))?,
        (true, _) => text::print(&format!("{:#}\n", json!(all)))?,
        _ => {}
    }
    Ok(ExitCode::from(worst))
}

/// Checks one image; returns the exit code, and the report as JSON if requested.
fn check(args: &Args, image: &Path) -> Result<(u8, Option<serde_json::Value>)> {
    let rounds = if args.deep { 2 } else { 1 };
    let display = Display::of_rounds(args.verbosity.show(), rounds);
    let depth = CheckOptions {
        deep: args.deep,
        threads: args.jobs.threads(),
    };
    let options = args.image.options();
    let parity = compare_parity(args, image, &display)?;
    let damaged = parity.filter(|parity| !parity.damage.is_none());
    let report = sinterfs::verify::check(image, &options, depth, display.observer());
    drop(display);
    let mut report = match report {
        Ok(report) => report,
        // any file may have parity; an image of which the beginning is damaged is none, either
        Err(error) if is_other_file(&error, image, parity.as_ref()) => {
            let mut report = CheckReport::default();
            report
                .notes
                .push(format!("only compared with its parity: {}", error.what()));
            report
        }
        Err(error) => {
            // an image that cannot be read at all may still be repaired
            if let Some(parity) = &damaged {
                messages::line(format_args!("sinter: {}", parity_problem(parity)));
            }
            return Err(error);
        }
    };
    let is_sound = report.problems.is_empty();
    let problem = damaged.as_ref().map(|parity| {
        if is_sound && parity.is_image_damaged() {
            other_image(parity)
        } else {
            parity_problem(parity)
        }
    });
    report.problems.extend(problem);
    let code = if report.problems.is_empty() {
        0
    } else {
        exit::PARTIAL
    };
    if args.verbosity.json {
        let json = as_json(args, image, &report, parity.as_ref());
        return Ok((code, Some(json)));
    }
    let name = if args.more.is_empty() {
        String::new()
    } else {
        format!("{}: ", text::name(image.as_os_str().as_encoded_bytes()))
    };
    for problem in &report.problems {
        messages::line(format_args!("sinter: {name}{}", text::one_line(problem)));
    }
    if !args.verbosity.quiet {
        let summary = summary(args.deep, &report);
        let lines = summary.lines().map(|line| format!("{name}{line}\n"));
        text::print(&lines.collect::<String>())?;
    }
    Ok((code, None))
}

/// Returns whether a file, which could not be checked as an image, is none, and as it was when its
/// parity was made.
fn is_other_file(error: &Error, file: &Path, parity: Option<&ParityReport>) -> bool {
    error.kind() == Kind::Unsupported
        && parity.is_some_and(|parity| !parity.is_image_damaged())
        && !sinterfs::verify::is_image(file).unwrap_or(true)
}

/// Compares the image with its parity, if requested.
fn compare_parity(args: &Args, image: &Path, display: &Display) -> Result<Option<ParityReport>> {
    let parity = match &args.parity {
        None => return Ok(None),
        Some(None) => sinterfs::verify::parity_path(image),
        Some(Some(parity)) => parity.clone(),
    };
    let threads = args.jobs.threads();
    sinterfs::verify::check_parity(image, &parity, threads, display.observer()).map(Some)
}

fn parity_problem(report: &ParityReport) -> String {
    let next = if report.is_repairable {
        "`sinter repair` can restore them"
    } else {
        "too many for `sinter repair`"
    };
    format!("parity: {}; {next}", describe(report))
}

/// Describes a parity that does not fit an image in which its own check found nothing.
fn other_image(report: &ParityReport) -> String {
    let next = if report.is_repairable {
        "if it was changed since, `sinter parity --force` writes a new parity; \
             if not, `sinter repair` can restore it"
    } else {
        "if it was changed since, `sinter parity --force` writes a new parity"
    };
    let damage = describe(report);
    format!("parity: {damage}, but the image passes its own check: {next}")
}

fn summary(deep: bool, report: &CheckReport) -> String {
    let notes = report
        .notes
        .iter()
        .map(|note| format!("note: {}\n", text::one_line(note)));
    let depth = if deep {
        let (blocks, files) = (report.blocks, report.files);
        let [blocks, files] = [count(blocks, "block"), count(files, "file")];
        format!(", {blocks} decoded, {files} read")
    } else {
        String::new()
    };
    let damaged = match report.damaged.len() {
        0 => String::new(),
        1 => ", 1 path damaged".to_owned(),
        n => format!(", {n} paths damaged"),
    };
    let verdict = match report.problems.len() {
        0 => "no problem".to_owned(),
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    };
    let parts = [(report.sections, "section"), (report.inodes, "inode")];
    let parts: Vec<_> = parts
        .iter()
        .filter_map(|(number, what)| Some(count((*number)?, what)))
        .collect();
    let what = if parts.is_empty() {
        "the file".to_owned()
    } else {
        parts.join(", ")
    };
    let verdict = format!("{what}{depth}: {verdict}{damaged}\n");
    let root = report.root_digest.filter(|_| report.problems.is_empty());
    let root = root.map(|root| format!("root digest {root}: all data is intact\n"));
    let signed = report.signed.as_deref().filter(|_| root.is_some());
    let signed = signed.map(|comment| format!("signed: {}\n", text::one_line(comment)));
    notes.chain(root).chain(signed).chain([verdict]).collect()
}

fn as_json(
    args: &Args,
    image: &Path,
    report: &CheckReport,
    parity: Option<&ParityReport>,
) -> serde_json::Value {
    json!({
        "image": text::json_name(sinterfs::shown(image).as_os_str().as_encoded_bytes()),
        "deep": args.deep,
        "sections": report.sections,
        "inodes": report.inodes,
        "blocks_decoded": report.blocks,
        "files_read": report.files,
        "root_digest": report.root_digest.map(|root| root.to_string()),
        "parity": parity.map(parity_json),
        "damaged": report.damaged.iter().map(|path| text::json_name(path)).collect::<Vec<_>>(),
        "problems": report.problems,
        "signed": report.signed,
        "notes": report.notes,
    })
}
