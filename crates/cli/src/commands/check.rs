//! `sinter check`: verifies the integrity of an image.

use std::process::ExitCode;

use serde_json::json;
use sinterfs::Result;
use sinterfs::verify::{CheckOptions, CheckReport, ParityReport};

use super::repair::{as_json as parity_json, describe};
use crate::args::input::ImageArgs;
use crate::args::run::{JobsArgs, VerbosityArgs};
use crate::progress::Display;
use crate::{exit, messages, text};

/// Verify checksums and structure of an image, or all of its data.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter check image.dwarfs
      Verify the checksums of all sections, and the structure of the metadata.
  sinter check --deep image.dwarfs
      Also decode every block and read every file.
  sinter check --digest HEX image.dwarfs
      Verify that the image has this root digest.
  sinter check --parity image.dwarfs
      Also compare the image with image.dwarfs.parity, which `sinter parity` writes.

Digests in the image are always verified; --digest and --signed-by prove that they are the \
expected ones.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// Decode every block and read every file.
    #[arg(long)]
    deep: bool,

    /// Compare the image with its parity file, IMAGE.parity.
    #[arg(long)]
    parity: bool,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    verbosity: VerbosityArgs,
}

/// Checks an image, and prints every problem.
pub fn run(args: &Args) -> Result<ExitCode> {
    let display = Display::start(args.verbosity.show());
    let depth = CheckOptions {
        deep: args.deep,
        threads: args.jobs.threads(),
    };
    let options = args.image.options();
    let parity = compare_parity(args, &display)?;
    let damaged = parity.filter(|parity| !parity.damage.is_none());
    let report = sinterfs::verify::check(&args.image.image, &options, depth, display.observer());
    drop(display);
    let mut report = match report {
        Ok(report) => report,
        Err(error) => {
            // an image that cannot be read at all may still be repaired
            if let Some(parity) = &damaged {
                messages::line(format_args!("sinter: {}", parity_problem(parity)));
            }
            return Err(error);
        }
    };
    report.problems.extend(damaged.as_ref().map(parity_problem));
    if args.verbosity.json {
        text::print(&format!("{:#}\n", as_json(args, &report, parity.as_ref())))?;
    } else {
        for problem in &report.problems {
            messages::line(format_args!("sinter: {}", text::one_line(problem)));
        }
        if !args.verbosity.quiet {
            text::print(&summary(args.deep, &report))?;
        }
    }
    Ok(if report.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::PARTIAL)
    })
}

/// Compares the image with its parity, if asked to.
fn compare_parity(args: &Args, display: &Display) -> Result<Option<ParityReport>> {
    if !args.parity {
        return Ok(None);
    }
    let image = &args.image.image;
    let parity = sinterfs::verify::parity_path(image);
    let threads = args.jobs.threads();
    sinterfs::verify::check_parity(image, &parity, threads, display.observer()).map(Some)
}

fn parity_problem(report: &ParityReport) -> String {
    let next = match report.is_repairable {
        true => "`sinter repair` restores them",
        false => "too many for `sinter repair`",
    };
    format!("parity: {}: {next}", describe(report))
}

fn summary(deep: bool, report: &CheckReport) -> String {
    let notes = report
        .notes
        .iter()
        .map(|note| format!("note: {}\n", text::one_line(note)));
    let depth = if deep {
        format!(
            ", {} blocks decoded, {} files read",
            report.blocks, report.files
        )
    } else {
        String::new()
    };
    let verdict = match report.problems.len() {
        0 => "no problem".to_owned(),
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    };
    let parts = [(report.sections, "sections"), (report.inodes, "inodes")];
    let parts: Vec<_> = parts
        .iter()
        .filter_map(|(count, what)| Some(format!("{} {what}", (*count)?)))
        .collect();
    let verdict = format!("{}{depth}: {verdict}\n", parts.join(", "));
    let root = report.root_digest.filter(|_| report.problems.is_empty());
    let root = root.map(|root| format!("root digest {root}: all data is intact\n"));
    let signed = report.signed.as_deref().filter(|_| root.is_some());
    let signed = signed.map(|comment| format!("signed: {}\n", text::one_line(comment)));
    notes.chain(root).chain(signed).chain([verdict]).collect()
}

fn as_json(args: &Args, report: &CheckReport, parity: Option<&ParityReport>) -> serde_json::Value {
    json!({
        "image": text::json_name(args.image.image.as_os_str().as_encoded_bytes()),
        "deep": args.deep,
        "sections": report.sections,
        "inodes": report.inodes,
        "blocks_decoded": report.blocks,
        "files_read": report.files,
        "root_digest": report.root_digest.map(|root| root.to_string()),
        "parity": parity.map(parity_json),
        "problems": report.problems,
        "signed": report.signed,
        "notes": report.notes,
    })
}
