//! `sinter recompress`: an image becomes another one with the same files.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use sinterfs::{Header, Input, Parts, RecompressReport, RecompressRequest, Result, Root};

use super::make_image;
use crate::args::attributes::{self, AttributeArgs, MetadataArgs};
use crate::args::common::{JobsArgs, StageTimingArgs, VerbosityArgs};
use crate::args::input::ImageArgs;
use crate::args::pack::{self, LayoutArgs, TargetArgs};
use crate::build_report;
use crate::progress::Display;
use crate::size::{human, parse as size};
use crate::{messages, text};

/// Make a new image of an image: other compression, block size or metadata, without the source.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter recompress old.dwarfs -o new.dwarfs -l9           the codecs of level 9
  sinter recompress old.dwarfs -o new.dwarfs -C lz4        blocks that decode fast
  sinter recompress old.dwarfs -o new.dwarfs --only metadata --metadata-compression none
                                                           blocks stay as they are
  sinter recompress old.dwarfs -o new.dwarfs -C zstd -C pcmaudio/waveform::lzma
                                                           a codec for one category
  sinter recompress old.dwarfs -o new.dwarfs --only none   the newest version of the format
  sinter recompress old.dwarfs -o new.dwarfs -b 64M -l9    other blocks: all is cut anew

While blocks keep their size they are decoded and encoded one by one; category names, history
(with an entry added), section index, what stands before the image and sections of unknown types
stay. Blocks of incompressible content and of what is needed first, and audio and images with a codec of
their own, stay as they are unless -C names their category. `sinter info` lists the categories.

Another block size, or --rebuild, reads the image as `sinter build` reads a directory: files are
compared, ordered and cut anew. Owners, modes, times and packing are changed in the metadata alone.
Images of SquashFS and EROFS are always cut anew: they need --rebuild.

The new image holds every byte of the old one; a damaged image is an error. SOURCE_DATE_EPOCH, if
set, is recorded in the history. The bytes depend on the image and the options alone.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// The level whose compressions are used, 0 to 9; the block size stays.
    #[arg(short, long, default_value_t = 7, value_parser = clap::value_parser!(u8).range(0..=9))]
    level: u8,

    /// The compression of blocks, or of those of a category, in place of the level's; `sinter build
    /// --help` lists those of each format.
    #[arg(short = 'C', long, value_name = "[CATEGORY::]CODEC[:KEY=VALUE]..")]
    compression: Vec<String>,

    /// The compression of metadata, in place of the level's.
    #[arg(long, value_name = "CODEC[:KEY=VALUE]..")]
    metadata_compression: Option<String>,

    /// Compress only these parts anew; the others keep their bytes.
    #[arg(long, value_enum, default_value_t = Only::All)]
    only: Only,

    /// Compress only blocks of some categories anew, or, with `!` in front, of all but these.
    #[arg(long, value_name = "[!]CATEGORY,..")]
    categories: Option<String>,

    /// Keep a block as it is where its new form is not smaller.
    #[arg(long)]
    keep_smaller: bool,

    /// Make the metadata anew of the tree, as `sinter build` writes it.
    #[arg(long)]
    rebuild_metadata: bool,

    /// Order, compare and cut all files anew; the block size is the level's unless it is given.
    #[arg(long)]
    rebuild: bool,

    /// The size of blocks; another one than the image's means --rebuild.
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    block_size: Option<u64>,

    /// Put the content of a file before the new image in place of what stands before the old one.
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,

    /// Leave out what stands before the old image.
    #[arg(long, conflicts_with = "header")]
    remove_header: bool,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    layout: LayoutArgs,

    #[command(flatten)]
    attributes: AttributeArgs,

    #[command(flatten)]
    metadata: MetadataArgs,

    #[command(flatten)]
    timing: StageTimingArgs,

    #[command(flatten)]
    verbosity: VerbosityArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    /// Blocks and metadata.
    All,
    /// The content of files.
    Blocks,
    /// The tables about them.
    Metadata,
    /// Neither.
    None,
}

/// Recompresses.
pub fn run(args: Args) -> Result<ExitCode> {
    let (verbosity, verbose) = (args.verbosity, args.timing.verbose);
    let request = request(args)?;
    let display = Display::start(verbosity.show());
    let report = sinterfs::recompress(&request, display.observer())?;
    if let Some(built) = &report.rebuilt {
        return build_report::tell(built, verbosity, verbose, display).map(|(code, _)| code);
    }
    let timings = display.observer().timings();
    let seconds = timings.wall.as_secs_f64();
    drop(display);
    if verbosity.json {
        let mut all = as_json(&report, seconds);
        all["timings"] = timings.as_json();
        text::print(&format!("{all:#}\n"))?;
    } else {
        text::losses(report.format, &report.image.losses);
        if verbose {
            messages::write(&timings.as_text());
        }
        if !verbosity.quiet {
            messages::write(&summary(&report, seconds));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn request(args: Args) -> Result<RecompressRequest> {
    let (compression, by_category) = pack::compressions(args.compression)?;
    let open = args.image.options();
    let input = Input::Image {
        path: args.image.image.clone(),
        options: open.clone(),
    };
    let destination = args.target.destination(args.verbosity)?;
    let mut build = make_image::request(input, destination, &args.jobs);
    build.level = args.level;
    build.compression = compression;
    build.by_category = by_category;
    build.metadata_compression = args.metadata_compression;
    build.block_size = args.block_size;
    args.layout.apply(&mut build);
    args.attributes.apply(&mut build)?;
    args.metadata.apply(&mut build);
    build.create_timestamp = attributes::source_date_epoch()?.map(i64::unsigned_abs);
    Ok(RecompressRequest {
        image: args.image.image,
        open,
        build,
        rebuild: args.rebuild,
        rebuild_metadata: args.rebuild_metadata,
        parts: match args.only {
            Only::All => Parts::All,
            Only::Blocks => Parts::Blocks,
            Only::Metadata => Parts::Metadata,
            Only::None => Parts::None,
        },
        categories: args.categories.as_deref().map(selection),
        keep_smaller: args.keep_smaller,
        header: match args.header {
            Some(file) => Header::File(file),
            None if args.remove_header => Header::Remove,
            None => Header::Keep,
        },
    })
}

fn selection(text: &str) -> (Vec<String>, bool) {
    let names = text.strip_prefix('!');
    let inverted = names.is_some();
    let names = names.unwrap_or(text).split(',').map(str::to_owned);
    (names.collect(), inverted)
}

fn summary(report: &RecompressReport, seconds: f64) -> String {
    let image = &report.image;
    let percent = image.image_bytes as f64 * 100.0 / report.old_bytes.max(1) as f64;
    format!(
        "{} of {} blocks compressed anew: {} -> {}; metadata {}\n\
         image: {} -> {} ({percent:.1}%) in {seconds:.1} s\n{}",
        report.recoded,
        image.blocks,
        human(image.raw_bytes),
        human(image.block_bytes),
        human(image.metadata_bytes),
        human(report.old_bytes),
        human(image.image_bytes),
        build_report::root_digest(image),
    )
}

fn as_json(report: &RecompressReport, seconds: f64) -> serde_json::Value {
    let image = &report.image;
    let losses = image
        .losses
        .iter()
        .map(|loss| json!({"what": loss.what, "count": loss.count}));
    let root = image.root_digest.map(|root| Root::from(root).to_string());
    json!({
        "format": report.format,
        "old_bytes": report.old_bytes,
        "image_bytes": image.image_bytes,
        "blocks": image.blocks,
        "recoded_blocks": report.recoded,
        "raw_bytes": image.raw_bytes,
        "block_bytes": image.block_bytes,
        "metadata_bytes": image.metadata_bytes,
        "root_digest": root,
        "losses": losses.collect::<Vec<_>>(),
        "seconds": seconds,
    })
}
