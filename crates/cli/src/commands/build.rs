//! `sinter build`: flags to one build request, and the summary of what was built.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use sinterfs::{BuildReport, BuildRequest, Destination, Error, Order, Result};

use super::work::{Jobs, Words};
use crate::progress::Display;
use crate::size::{human, parse as size};
use crate::{exit, text};

/// Pack a directory into an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter build DIR -o dir.dwarfs                        the default level
  sinter build DIR -o dir.dwarfs -l9                    smaller, slower
  sinter build DIR -o dir.dwarfs -C zstd:level=19 -b 8M own compression and block size
  sinter build DIR -o - | ssh host 'cat > dir.dwarfs'   to a pipe
  SOURCE_DATE_EPOCH=1700000000 sinter build DIR -o dir.dwarfs --set-owner 0 --set-group 0
                                                        the same bytes wherever it is built

Levels: 0 none; 1 lz4; 2, 3 lz4hc; 4, 5, 6, 7 zstd; 8, 9 lzma. Higher levels have larger blocks; 7 is
the default.

Compressions: none, zstd:level=1..22[:window=LOG][:long], lzma:level=0..9[:extreme][:dict=LOG]
[:binary=x86|arm|arm64|...], lzma2:level=1..9[:dict=LOG][:lc=N][:lp=N][:pb=N], lz4[:level=N], lz4hc:level=1..12, brotli:quality=0..11[:lgwin=LOG].

The same input and options give the same image. SOURCE_DATE_EPOCH, if set, is recorded as the time of
creation, and no file gets a later time.")]
pub struct Args {
    /// The directory to pack.
    #[arg(value_name = "DIR")]
    source: PathBuf,

    /// The image to write; `-` is standard output.
    #[arg(short, long, value_name = "IMAGE")]
    output: PathBuf,

    /// Replace the image if it exists; it keeps its permissions.
    #[arg(long)]
    force: bool,

    /// The format of the image (default: by the extension: dwarfs, dff, dwfs; else dwarfs).
    #[arg(short, long, value_name = "FORMAT")]
    format: Option<String>,

    /// How much effort goes into a small image, 0 to 9.
    #[arg(short, long, default_value_t = 7, value_parser = clap::value_parser!(u8).range(0..=9))]
    level: u8,

    /// The compression of blocks, in place of the level's.
    #[arg(short = 'C', long, value_name = "CODEC[:KEY=VALUE]..")]
    compression: Option<String>,

    /// The compression of metadata, in place of the level's.
    #[arg(long, value_name = "CODEC[:KEY=VALUE]..")]
    metadata_compression: Option<String>,

    /// The size of blocks, a power of two from 1k to 1g, in place of the level's.
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    block_size: Option<u64>,

    /// Look for repeats only so many blocks back, not in everything before.
    #[arg(short = 'B', long, value_name = "BLOCKS")]
    lookback: Option<u32>,

    /// The memory that may be taken (default: 512m and as much again for each thread).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,

    /// The directory for what does not fit into memory (default: that of the image).
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,

    /// The order of files in the image, in place of the level's.
    #[arg(long, value_enum)]
    order: Option<OrderArg>,

    #[command(flatten)]
    jobs: Jobs,

    /// Leave out what matches: a name anywhere, or, with a slash, a path from DIR on.
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    exclude: Vec<String>,

    /// Leave out what matches a line of a file; empty lines and lines with # are comments.
    #[arg(long, value_name = "FILE")]
    exclude_from: Vec<PathBuf>,

    /// Leave out what lies on other file systems.
    #[arg(short = 'x', long)]
    one_file_system: bool,

    /// Make every file owned by a user (a number).
    #[arg(long, value_name = "UID")]
    set_owner: Option<u32>,

    /// Make every file belong to a group (a number).
    #[arg(long, value_name = "GID")]
    set_group: Option<u32>,

    /// Give every file one time: seconds since 1970, or `now`.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    set_time: Option<String>,

    /// Change permissions as chmod does (`go-w`, `a=rX`, `0755`, `D` or `F` in front for
    /// directories or files only), or `norm` for what all can read.
    #[arg(long, value_name = "MODE,..", allow_hyphen_values = true)]
    chmod: Option<String>,

    /// The unit of times: 1ns, 1us, 100ms, 1s, 2s, 1min, 1h ...
    #[arg(long, value_name = "UNIT", default_value = "1s")]
    time_resolution: String,

    /// Keep times of access and of inode change, not of modification alone.
    #[arg(long)]
    keep_all_times: bool,

    /// Record when the image was made (then the same input gives other bytes every second).
    #[arg(long)]
    create_timestamp: bool,

    /// Record no time of creation even if SOURCE_DATE_EPOCH is set.
    #[arg(long, conflicts_with = "create_timestamp")]
    no_create_timestamp: bool,

    /// Leave out of the image how it was made (version and settings).
    #[arg(long)]
    no_history: bool,

    /// Leave the section index out of the image.
    #[arg(long)]
    no_section_index: bool,

    /// Fail if anything can't be kept or read.
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    words: Words,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum OrderArg {
    /// As found: the order of the tree.
    None,
    /// By path.
    Path,
    /// By path read backwards: files of one name or extension together.
    Revpath,
    /// Similar files next to each other.
    Similarity,
}

impl From<OrderArg> for Order {
    fn from(order: OrderArg) -> Self {
        match order {
            OrderArg::None => Self::None,
            OrderArg::Path => Self::Path,
            OrderArg::Revpath => Self::ReversePath,
            OrderArg::Similarity => Self::Similarity,
        }
    }
}

/// Builds the image.
pub fn run(args: Args) -> Result<ExitCode> {
    if args.words.json && args.output.as_os_str() == "-" {
        return Err(Error::invalid("--json and -o - both want standard output"));
    }
    let words = args.words;
    let request = request(args)?;
    let display = Display::start(words.show());
    let report = sinterfs::build(&request, display.observer())?;
    let (warnings, seconds) = (
        display.observer().warnings(),
        display.observer().elapsed().as_secs_f64(),
    );
    drop(display);
    if words.json {
        text::print(&format!("{:#}\n", as_json(&report, warnings, seconds)))?;
    } else if !words.quiet {
        for loss in &report.pipeline.image.losses {
            eprintln!(
                "sinter: not kept by {}: {} {}",
                report.format, loss.count, loss.what
            );
        }
        eprint!("{}", summary(&report, seconds));
    }
    Ok(ExitCode::from(if report.is_complete() {
        0
    } else {
        exit::PARTIAL
    }))
}

fn request(args: Args) -> Result<BuildRequest> {
    let epoch = source_date_epoch()?;
    let create_timestamp = match epoch {
        _ if args.no_create_timestamp => None,
        None if args.create_timestamp => Some(now().unsigned_abs()),
        epoch => epoch.map(i64::unsigned_abs),
    };
    Ok(BuildRequest {
        source: args.source,
        destination: if args.output.as_os_str() == "-" {
            Destination::Stdout
        } else {
            Destination::File {
                path: args.output,
                replace: args.force,
            }
        },
        format: args.format,
        level: args.level,
        compression: args.compression,
        metadata_compression: args.metadata_compression,
        block_size: args.block_size,
        lookback: args.lookback,
        memory: args.memory,
        scratch: args.scratch,
        order: args.order.map(Order::from),
        threads: args.jobs.threads(),
        exclude: args.exclude,
        exclude_from: args.exclude_from,
        one_file_system: args.one_file_system,
        set_owner: args.set_owner,
        set_group: args.set_group,
        set_time: args.set_time.as_deref().map(seconds).transpose()?,
        latest_time: epoch,
        chmod: args.chmod,
        time_resolution: args.time_resolution,
        keep_all_times: args.keep_all_times,
        create_timestamp,
        history: !args.no_history,
        section_index: !args.no_section_index,
        strict: args.strict,
    })
}

/// Reads SOURCE_DATE_EPOCH as reproducible-builds.org specifies it; empty means not set.
fn source_date_epoch() -> Result<Option<i64>> {
    let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|&n: &i64| n >= 0);
    let wrong = || Error::invalid("SOURCE_DATE_EPOCH must be seconds since 1970");
    number.map(Some).ok_or_else(wrong)
}

fn seconds(text: &str) -> Result<i64> {
    if text == "now" {
        return Ok(now());
    }
    text.parse()
        .map_err(|_| Error::invalid(format!("`{text}`: a time is seconds since 1970, or `now`")))
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since
        .ok()
        .and_then(|since| i64::try_from(since.as_secs()).ok())
        .unwrap_or(0)
}

/// Says on a few lines what went in, what came out and what was saved where.
fn summary(report: &BuildReport, seconds: f64) -> String {
    let pipeline = &report.pipeline;
    let (tree, image) = (&pipeline.tree, &pipeline.image);
    let percent = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
    let mut text = format!(
        "{} files, {} directories, {} symlinks, {} special files, {} hard links: {}\n",
        tree.files,
        tree.directories,
        tree.symlinks,
        tree.specials,
        tree.hard_links,
        human(tree.bytes),
    );
    text += &format!(
        "equal files saved {} in {} files; repeats saved {}; holes {}\n",
        human(pipeline.duplicate_bytes),
        pipeline.duplicates,
        human(pipeline.matched_bytes),
        human(pipeline.hole_bytes),
    );
    text += &format!(
        "{} in {} blocks -> {} ({:.1}%); metadata {}\n",
        human(image.raw_bytes),
        image.blocks,
        human(image.block_bytes),
        percent(image.block_bytes, image.raw_bytes),
        human(image.metadata_bytes),
    );
    let of_files = match tree.bytes {
        0 => String::new(),
        bytes => format!(" ({:.1}% of the files)", percent(image.image_bytes, bytes)),
    };
    text += &format!(
        "image: {}{} in {seconds:.1} s, {}/s, memory bound {}\n",
        human(image.image_bytes),
        of_files,
        human((tree.bytes as f64 / seconds.max(1e-3)) as u64),
        human(pipeline.memory),
    );
    if !report.is_complete() {
        text += &format!(
            "NOT COMPLETE: {} left out, {} could not be read whole, {} changed while they were read\n",
            pipeline.left_out, pipeline.unreadable, pipeline.changed,
        );
    }
    text
}

fn as_json(report: &BuildReport, warnings: u64, seconds: f64) -> serde_json::Value {
    let pipeline = &report.pipeline;
    let (tree, image) = (&pipeline.tree, &pipeline.image);
    let losses = image
        .losses
        .iter()
        .map(|loss| json!({"what": loss.what, "count": loss.count}));
    json!({
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
        "memory": pipeline.memory,
        "hole_bytes": pipeline.hole_bytes,
        "blocks": image.blocks,
        "raw_bytes": image.raw_bytes,
        "block_bytes": image.block_bytes,
        "metadata_bytes": image.metadata_bytes,
        "image_bytes": image.image_bytes,
        "losses": losses.collect::<Vec<_>>(),
        "left_out": pipeline.left_out,
        "unreadable": pipeline.unreadable,
        "changed": pipeline.changed,
        "warnings": warnings,
        "seconds": seconds,
    })
}
