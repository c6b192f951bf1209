//! `sinter repair`: restores an image from its parity, or its metadata from their copy.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use sinterfs::verify::{MendRequest, ParityReport, RepairReport, RepairRequest};
use sinterfs::{Error, Kind, Result};

use super::digest::is_same;
use crate::args::input::require_local;
use crate::args::run::{JobsArgs, VerbosityArgs};
use crate::messages;
use crate::progress::Display;
use crate::text;

/// Restore a damaged image from its parity, or from the copy of its metadata.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter repair image.dwarfs
      Restore the image, and image.dwarfs.parity if that is damaged, too.
  sinter repair image.dwarfs -o new.dwarfs
      Write the restored image to a new file.
  sinter repair --metadata-copy image.dwarfs -o new.dwarfs
      Restore the metadata from the copy that `build --metadata-copy` wrote.

The image is replaced only when all of it is restored and verified: the exact bytes of which the \
parity was made. The file as it was is kept as IMAGE.damaged (then IMAGE.damaged.2 and so on); \
remove it yourself. If too much is damaged, nothing is changed and the exit code is 3; \
`sinter extract --salvage` then unpacks what can be read.

An image that differs from its parity but passes its own check is not replaced without --force: it \
may be a newer one. Where a format has no checksums of content, that holds for images written \
after their parity.

Without a parity file, damaged metadata of a DwarFS image is restored from the copy in the image, \
if it has one: the exact bytes, by two checksums. The image is written only if it then passes its \
check; blocks of files have no copies.")]
pub struct Args {
    /// The image file.
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// The parity file (default: IMAGE.parity).
    #[arg(long, value_name = "FILE")]
    parity: Option<PathBuf>,

    /// Restore the metadata from its copy in the image, even if there is parity.
    #[arg(long, conflicts_with = "parity")]
    metadata_copy: bool,

    /// Write the restored image to this file, and change nothing else.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace that file if it exists; without -o, replace an image that may be a newer one.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    verbosity: VerbosityArgs,
}

/// Restores an image.
pub fn run(args: &Args) -> Result<ExitCode> {
    require_local(&args.image)?;
    let default = || sinterfs::verify::parity_path(&args.image);
    let parity = args.parity.clone().unwrap_or_else(default);
    let output = args.output.clone();
    let has_parity = args.parity.is_some() || parity.symlink_metadata().is_ok();
    if (args.metadata_copy || !has_parity)
        && let Some(code) = mend(args)?
    {
        return Ok(code);
    }
    if output
        .as_deref()
        .is_some_and(|output| is_same(output, &parity))
    {
        return Err(Error::invalid("the image would replace its parity").path(parity));
    }
    let display = Display::start(args.verbosity.show());
    let request = RepairRequest {
        image: args.image.clone(),
        parity,
        output,
        force: args.force,
        threads: args.jobs.threads(),
    };
    let report = sinterfs::verify::repair(&request, display.observer())?;
    drop(display);
    if args.verbosity.json {
        let mut all = as_json(&report.found);
        let kept = report.kept.as_ref();
        let kept = kept.map(|kept| text::json_name(kept.as_os_str().as_encoded_bytes()));
        all["kept"] = json!(kept);
        text::print(&format!("{all:#}\n"))?;
    } else if !args.verbosity.quiet {
        messages::write(&summary(&report));
    }
    // the image is as it should be; the caller is to know of the parity
    report.parity_failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Restores metadata from its copy; `None` if the image has none, and may have parity.
fn mend(args: &Args) -> Result<Option<ExitCode>> {
    let display = Display::start(args.verbosity.show());
    let request = MendRequest {
        image: args.image.clone(),
        output: args.output.clone(),
        force: args.force,
        threads: args.jobs.threads(),
    };
    let report = match sinterfs::verify::mend(&request, display.observer()) {
        Ok(Some(report)) => report,
        Ok(None) if args.metadata_copy => {
            let what = "the image has no copy of its metadata";
            return Err(Error::not_found(what).path(&args.image));
        }
        Ok(None) => return Ok(None),
        // any file may have parity
        Err(error) if error.kind() == Kind::Unsupported && !args.metadata_copy => return Ok(None),
        Err(error) if !args.metadata_copy && args.image.exists() => {
            let what = "there is no parity file, and no copy restores the image";
            let both = Error::new(error.kind(), what).because(error);
            return Err(both.path(&args.image));
        }
        Err(error) => return Err(error),
    };
    drop(display);
    let kept = report.kept.as_ref();
    if args.verbosity.json {
        let kept = kept.map(|kept| text::json_name(kept.as_os_str().as_encoded_bytes()));
        let json = json!({ "restored": report.parts, "bytes": report.bytes, "kept": kept });
        text::print(&format!("{json:#}\n"))?;
    } else if !args.verbosity.quiet {
        let done = if report.parts.is_empty() {
            "no metadata is damaged".to_owned()
        } else {
            format!("restored from their copy: {}", report.parts.join(", "))
        };
        messages::write(&format!("{done}\n{}", kept_line(kept)));
    }
    Ok(Some(ExitCode::SUCCESS))
}

fn kept_line(kept: Option<&PathBuf>) -> String {
    let line = kept.map(|kept| {
        let name = text::name(kept.as_os_str().as_encoded_bytes());
        format!("the file as it was: {name}\n")
    });
    line.unwrap_or_default()
}

fn summary(report: &RepairReport) -> String {
    let done = if report.found.damage.is_none() {
        "nothing is damaged".to_owned()
    } else {
        format!("restored; {}", describe(&report.found))
    };
    format!("{done}\n{}", kept_line(report.kept.as_ref()))
}

/// Describes damage that was found.
pub(super) fn describe(report: &ParityReport) -> String {
    let damage = report.damage;
    let mut words = format!(
        "damaged: {} of {} data shards, {} of {} parity shards",
        damage.data, report.data_shards, damage.parity, report.parity_shards
    );
    if damage.tables > 0 {
        words += &format!(", {} copies of headers and checksums", damage.tables);
    }
    if damage.moved || damage.record_moved {
        words += "; bytes are missing or were added";
    }
    words
}

/// Returns the report for programs.
pub(super) fn as_json(report: &ParityReport) -> serde_json::Value {
    json!({
        "data_shards": report.data_shards,
        "parity_shards": report.parity_shards,
        "shard_bytes": report.shard_bytes,
        "damaged_data_shards": report.damage.data,
        "damaged_parity_shards": report.damage.parity,
        "damaged_tables": report.damage.tables,
        "moved": report.damage.moved || report.damage.record_moved,
        "repairable": report.is_repairable,
    })
}
