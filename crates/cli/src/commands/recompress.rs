//! `sinter recompress`: rewrites an image with the same files.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use sinterfs::Result;
use sinterfs::build::{
    HeaderSource, Input, Loss, RecompressParts, RecompressReport, RecompressRequest,
};
use sinterfs::verify::Root;

use super::make_image;
use crate::args::attributes::{self, AttributeArgs, MetadataArgs};
use crate::args::input::ImageArgs;
use crate::args::pack::{self, LayoutArgs, TargetArgs};
use crate::args::parity::{ParityArgs, PendingParity};
use crate::args::run::{JobsArgs, StageTimingArgs, VerbosityArgs};
use crate::args::self_mount::SelfMountArgs;
use crate::build_report;
use crate::format_flags::FormatArgs;
use crate::progress::Display;
use crate::size::{human, parse as size};
use crate::{exit, messages, text};

/// Change compression, block size or metadata of an image without its source.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter recompress old.dwarfs -o new.dwarfs -l9
      Use the codecs of level 9.
  sinter recompress old.dwarfs -o new.dwarfs -C lz4
      Make blocks that decode quickly.
  sinter recompress old.dwarfs -o new.dwarfs --only metadata \\
      --metadata-compression none
      Decompress the metadata, and copy the blocks.
  sinter recompress old.dwarfs -o new.dwarfs -C zstd \\
      -C pcmaudio/waveform::lzma
      Choose the codec of one category.
  sinter recompress old.dwarfs -o new.dwarfs --only none
      Write the newest version of the format.
  sinter recompress old.dwarfs -o new.dwarfs -b 64M -l9
      Change the block size, which divides all content again.

If the block size stays the same, blocks are decoded and encoded one by one. Category names, the \
history (with a new entry), the section index, the header and sections of unknown types are \
kept. Blocks of incompressible content, of hot files, and of audio and images with codecs of \
their own are copied unless -C names their category. `sinter info` lists the categories.

With another block size, with --for or with --rebuild, the image is read as `sinter build` reads a \
directory: files are compared, ordered and divided into blocks again. Changes of owners, \
permissions, times and packing affect only the metadata. SquashFS and EROFS images always need \
--rebuild.

The new image contains all data of the old one; a damaged image is an error. SOURCE_DATE_EPOCH, \
if set, is recorded in the history. The result depends only on the image and the options.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    parity: ParityArgs,

    /// The compression level, 0 (none) to 9 (smallest); it does not change the block size.
    #[arg(short, long, default_value_t = 7, value_parser = clap::value_parser!(u8).range(0..=9))]
    level: u8,

    /// The codec of blocks, or of the blocks of one category, instead of the level's codec; `sinter
    /// build --help` lists the codecs of each format.
    #[arg(short = 'C', long, value_name = "[CATEGORY::]CODEC[:KEY=VALUE]..")]
    compression: Vec<String>,

    /// Compress only these parts again, and copy the others.
    #[arg(long, value_enum, default_value_t = Only::All)]
    only: Only,

    /// Compress only blocks of these categories again, or with `!` in front of all others.
    #[arg(long, value_name = "[!]CATEGORY,..")]
    categories: Option<String>,

    /// Copy blocks that would not become smaller.
    #[arg(long)]
    keep_smaller: bool,

    /// Rewrite the metadata from the directory tree, as `sinter build` does.
    #[arg(long)]
    rebuild_metadata: bool,

    /// Compare, order and divide all files again, with the block size of the level unless it is
    /// given. --for implies this.
    #[arg(long)]
    rebuild: bool,

    /// The block size; a size that differs from the image's implies --rebuild.
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    block_size: Option<u64>,

    /// Replace the header of the image by the content of a file.
    #[arg(long, value_name = "FILE", group = "before_image")]
    header: Option<PathBuf>,

    /// Remove the header of the image.
    #[arg(long, group = "before_image")]
    remove_header: bool,

    #[command(flatten)]
    self_mount: SelfMountArgs,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    layout: LayoutArgs,

    #[command(flatten)]
    formats: FormatArgs<false>,

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
    /// The blocks of file data.
    Blocks,
    /// The metadata.
    Metadata,
    /// Neither.
    None,
}

/// Recompresses.
pub fn run(args: Args) -> Result<ExitCode> {
    let (verbosity, verbose) = (args.verbosity, args.timing.verbose);
    let parity = args.parity;
    let mut request = request(args)?;
    let destination = &request.build.destination;
    let protecting = parity.begin(destination, [request.image.as_path()])?;
    request.build.former_parity = protecting.as_ref().map(PendingParity::path);
    let destination = &request.build.destination;
    let display = Display::start(verbosity.show());
    let report = sinterfs::build::recompress(&request, display.observer())?;
    let finish = || match protecting {
        Some(pending) => pending.write(request.build.threads, verbosity).map(Some),
        None => {
            make_image::tell_former_parity(destination, verbosity);
            Ok(None)
        }
    };
    if let Some(built) = &report.rebuilt {
        let (code, _) = build_report::print(built, verbosity, verbose, display, finish)?;
        return Ok(code);
    }
    let timings = display.observer().timings();
    let seconds = timings.wall.as_secs_f64();
    drop(display);
    if verbosity.json {
        let mut all = as_json(&report, seconds);
        all["timings"] = timings.as_json();
        text::named_losses(report.format, &report.image.losses);
        // the image exists even if its parity fails
        let parity = finish();
        if let Ok(Some(bytes)) = parity {
            all["parity_bytes"] = bytes.into();
        }
        text::print(&format!("{all:#}\n"))?;
        parity?;
    } else {
        text::losses(report.format, &report.image.losses, verbosity.quiet);
        if verbose {
            messages::write(&timings.as_text());
        }
        if !verbosity.quiet {
            messages::write(&summary(&report, seconds));
        }
        finish()?;
    }
    let is_complete = !report.image.losses.iter().any(Loss::is_of_entries);
    Ok(ExitCode::from(if is_complete { 0 } else { exit::PARTIAL }))
}

fn request(args: Args) -> Result<RecompressRequest> {
    let mut options = args.formats.given;
    let compression = pack::compressions(args.compression, &mut options)?;
    let open = args.image.options();
    let input = Input::Image {
        path: args.image.image.clone(),
        options: open.clone(),
    };
    let destination = args.target.destination(args.verbosity)?;
    let mut build = make_image::new_request(input, destination, &args.jobs);
    build.level = args.level;
    build.compression = compression;
    build.block_size = args.block_size;
    args.layout.apply(&mut build);
    args.attributes.apply(&mut build)?;
    args.metadata.apply(&mut build);
    build.create_timestamp = attributes::source_date_epoch()?.map(i64::unsigned_abs);
    Ok(RecompressRequest {
        image: args.image.image,
        open,
        build,
        options,
        rebuild: args.rebuild,
        rebuild_metadata: args.rebuild_metadata,
        parts: match args.only {
            Only::All => RecompressParts::All,
            Only::Blocks => RecompressParts::Blocks,
            Only::Metadata => RecompressParts::Metadata,
            Only::None => RecompressParts::None,
        },
        categories: args.categories.as_deref().map(selection),
        keep_smaller: args.keep_smaller,
        header: match args.header {
            Some(file) => HeaderSource::File(file),
            None if args.remove_header => HeaderSource::Remove,
            None => args
                .self_mount
                .program()
                .map_or(HeaderSource::Keep, HeaderSource::Program),
        },
    })
}

/// Parses a list of categories; `!` in front inverts it.
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
        "{} of {} blocks compressed again: {} -> {}; metadata {}\n\
         image: {} -> {} ({percent:.1}%) in {seconds:.1} s\n{}{}",
        report.recoded,
        image.blocks,
        human(image.raw_bytes),
        human(image.block_bytes),
        human(image.metadata_bytes),
        human(report.old_bytes),
        human(image.image_bytes),
        build_report::root_digest(image),
        build_report::pushed(report.pushed.as_deref()),
    )
}

fn as_json(report: &RecompressReport, seconds: f64) -> serde_json::Value {
    let image = &report.image;
    let root = image.root_digest.map(|root| Root::from(root).to_string());
    let mut all = json!({
        "format": report.format,
        "old_bytes": report.old_bytes,
        "image_bytes": image.image_bytes,
        "blocks": image.blocks,
        "recoded_blocks": report.recoded,
        "raw_bytes": image.raw_bytes,
        "block_bytes": image.block_bytes,
        "metadata_bytes": image.metadata_bytes,
        "root_digest": root,
        "losses": text::losses_as_json(&image.losses),
        "seconds": seconds,
    });
    if let Some(name) = &report.pushed {
        all["pushed"] = name.as_str().into();
    }
    all
}
