//! Flags of commands that write images: the destination, format, compression and layout.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use sinterfs::build::{BuildRequest, Categorizers, Destination, NewHeader, Order};
use sinterfs::{Error, Result};

use super::run::VerbosityArgs;
use super::self_mount::SelfMountArgs;
use crate::format_flags::{GivenOption, with_level};
use crate::size::parse as size;

/// The destination of an image.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct TargetArgs {
    /// The image to write: a file, an object of a store (s3://, gs://, az://), an image in a
    /// registry (oci://HOST/REPOSITORY:TAG), or `-` for standard output.
    #[arg(short, long, value_name = "IMAGE")]
    output: PathBuf,

    /// Replace the image if it exists, and keep its permissions. The contents of a block device are
    /// replaced, too.
    #[arg(long)]
    force: bool,
}

impl TargetArgs {
    /// Returns the destination; fails if image and JSON would both go to standard output, or the
    /// image to a terminal.
    pub fn destination(self, verbosity: VerbosityArgs) -> Result<Destination> {
        if self.output.as_os_str() != "-" {
            return Ok(Destination::of(self.output, self.force));
        }
        if verbosity.json {
            return Err(Error::invalid("--json and -o - both use standard output"));
        }
        if std::io::stdout().is_terminal() {
            let what = "an image is not written to a terminal: name a file with -o, or use a pipe";
            return Err(Error::invalid(what));
        }
        Ok(Destination::Stdout)
    }
}

/// Describes the choice of a format: names, and extensions that choose one.
fn format_help() -> String {
    let formats = sinterfs::build::formats();
    let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
    let extensions = formats.iter().map(|format| format.extensions.join(", "));
    let extensions: Vec<String> = extensions.collect();
    format!(
        "The format of the image: {} (default: by the extension: {}; else {})",
        names.join(", "),
        extensions.join("; "),
        names.first().copied().unwrap_or_default()
    )
}

/// Returns the names of the formats that are written; extensions of their images are further ones.
fn format_names() -> PossibleValuesParser {
    let formats = sinterfs::build::formats();
    formats
        .iter()
        .map(|format| PossibleValue::new(format.name).aliases(format.extensions.iter().copied()))
        .collect::<Vec<_>>()
        .into()
}

/// Format, compression and layout of an image.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct PackArgs {
    /// The format of the image.
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        help = format_help(),
        value_parser = format_names(),
        hide_possible_values = true
    )]
    format: Option<String>,

    /// The compression level, 0 (none, fastest) to 9 (smallest).
    #[arg(short, long, default_value_t = 7, value_parser = clap::value_parser!(u8).range(0..=9))]
    level: u8,

    /// The codec of blocks, or of the blocks of one category, instead of the level's codec; `sinter
    /// build --help` lists the codecs of each format.
    #[arg(
        short = 'C',
        long,
        visible_alias = "comp",
        value_name = "[CATEGORY::]CODEC[:KEY=VALUE].."
    )]
    compression: Vec<String>,

    /// The block size, a power of two from 1k to 1g (SquashFS, EROFS: 4k to 1m), instead of the
    /// level's.
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    block_size: Option<u64>,

    /// Prepend the content of a file to the image: a program that mounts it, a boot loader,
    /// padding.
    #[arg(long, value_name = "FILE", group = "before_image")]
    header: Option<PathBuf>,

    /// Begin with this many zero bytes, as room for a header that is written later.
    #[arg(long, value_name = "SIZE", value_parser = size, group = "before_image")]
    header_size: Option<u64>,

    #[command(flatten)]
    self_mount: SelfMountArgs,

    #[command(flatten)]
    layout: LayoutArgs,

    /// Print the fs-verity digest of the image to standard output.
    #[arg(long, help_heading = "composefs")]
    print_digest: bool,
}

/// The order of files, and how repeated data is found.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Order and deduplication")]
pub struct LayoutArgs {
    /// The limit of memory (default: 512m, and as much for each thread).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,

    /// The most bytes of holes that are stored as zeros where a format has no holes; more are an
    /// error (default: 256g).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_zeros: Option<u64>,

    /// The directory of temporary files (default: the directory of the image).
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,

    /// The order of files in the image, instead of the level's.
    #[arg(long, value_enum)]
    order: Option<OrderArg>,

    /// Store files in the order of priorities in this file: lines of a path and a number from
    /// -32768 to 32767, highest first (default: 0).
    #[arg(long, value_name = "FILE")]
    sort: Option<PathBuf>,

    /// Store the files of a list first, in its order and in small blocks that decode quickly, such
    /// as the files a program needs when it starts. The list has one path per line, as `sinter
    /// mount --record` writes it.
    #[arg(long, value_name = "FILE")]
    hot: Option<PathBuf>,

    /// Store equal files separately (not for WIM).
    #[arg(long)]
    no_duplicates: bool,

    /// Recognize only these categories of content: pcmaudio, fits, binary, text, incompressible
    /// (default: all; for SquashFS and EROFS binary and text; none where no block has content of
    /// several files, as in CRAMFS, ISO 9660 and most WIM images).
    #[arg(long, value_name = "KIND,..", num_args = 0..=1, require_equals = true)]
    categorize: Option<Option<Categorizers>>,

    /// Recognize no categories: all content goes into one stream.
    #[arg(long, conflicts_with = "categorize")]
    no_categorize: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum OrderArg {
    /// The order of the directory tree.
    None,
    /// By path.
    Path,
    /// By reversed path, which groups files by name and extension.
    Revpath,
    /// Similar files next to each other, where blocks have content of several files.
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

impl PackArgs {
    /// Sets these options in a request; `given` gets options of a format.
    pub fn apply(self, request: &mut BuildRequest, given: &mut Vec<GivenOption>) -> Result<()> {
        let zeros = self.header_size.map(NewHeader::Zeros);
        let program = self.self_mount.program().map(NewHeader::Program);
        request.header = self.header.map(NewHeader::File).or(zeros).or(program);
        request.level = self.level;
        request.compression = compressions(self.compression, given)?;
        request.block_size = self.block_size;
        self.layout.apply(request);
        Ok(())
    }

    /// Returns the name of the format, if it is given.
    pub fn format(&self) -> Option<String> {
        self.format.clone()
    }

    /// Returns whether the digest of the image is printed.
    pub fn prints_digest(&self) -> bool {
        self.print_digest
    }
}

/// Returns the codec of all blocks, and adds the codecs of categories to the options of a format;
/// fails if there are several of the former.
pub fn compressions(
    compressions: Vec<String>,
    given: &mut Vec<GivenOption>,
) -> Result<Option<String>> {
    let mut general = None;
    for text in compressions {
        match text.split_once("::") {
            Some((category, codec)) => {
                let rule = format!("{category}::{}", with_level(codec));
                given.push(("category_compression".to_owned(), rule.into()));
            }
            None if general.is_none() => general = Some(with_level(&text)),
            None => {
                return Err(Error::invalid(format!(
                    "-C {text}: only one codec can apply to all blocks, others need CATEGORY::"
                )));
            }
        }
    }
    Ok(general)
}

impl LayoutArgs {
    /// Sets these options in a request.
    pub fn apply(self, request: &mut BuildRequest) {
        request.memory = self.memory;
        request.max_zeros = self.max_zeros;
        request.scratch = self.scratch;
        request.order = self.order.map(Order::from);
        request.sort = self.sort;
        request.hot = self.hot;
        request.duplicates = !self.no_duplicates;
        request.categorizers = match self.categorize {
            _ if self.no_categorize => Some(Categorizers::NONE),
            Some(None) => Some(Categorizers::ALL),
            chosen => chosen.flatten(),
        };
    }
}
