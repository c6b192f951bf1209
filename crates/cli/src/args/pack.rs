//! Flags of commands that write images: the destination, compression, layout, and flags of one
//! format.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sinterfs::build::{
    BuildRequest, Categorizers, ComposefsOptions, Destination, NewHeader, Order, PerFileOptions,
    Purpose, ReadCost, TailPlacement, VolumeOptions,
};
use sinterfs::{Error, Result};

use super::run::VerbosityArgs;
use super::self_mount::SelfMountArgs;
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

    /// The codec of metadata, instead of the level's.
    #[arg(long, value_name = "CODEC[:KEY=VALUE]..")]
    metadata_compression: Option<String>,

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

    #[command(flatten)]
    squashfs: SquashfsArgs,

    #[command(flatten)]
    erofs: ErofsArgs,

    #[command(flatten)]
    composefs: ComposefsArgs,
}

/// The flags of composefs images, whose content is in an object directory.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "composefs")]
struct ComposefsArgs {
    /// Store the content of files of more than 64 bytes in this object directory, named by its
    /// fs-verity digest; existing objects are kept (default: the content is only hashed). With
    /// --from-dump and another format, read content from this object directory.
    #[arg(long, value_name = "DIR")]
    digest_store: Option<PathBuf>,

    /// Print the fs-verity digest of the image to standard output.
    #[arg(long)]
    print_digest: bool,

    /// The lowest version of the format, 0 or 1 (default: 0).
    #[arg(long, value_name = "VERSION")]
    min_version: Option<u32>,

    /// The highest version of the format, 0 or 1, which is used if there are whiteouts (default:
    /// 1).
    #[arg(long, value_name = "VERSION")]
    max_version: Option<u32>,

    /// Exclude device nodes.
    #[arg(long)]
    skip_devices: bool,

    /// Keep only extended attributes that begin with `user.`.
    #[arg(long, conflicts_with = "no_xattrs")]
    user_xattrs: bool,
}

/// The flags of EROFS images.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "EROFS")]
struct ErofsArgs {
    /// The oldest version of Linux that can mount the image: 5.4, 5.10, 5.15, 5.17, 6.1, 6.6, 6.10,
    /// 6.12, 6.15, 6.17 or 6.18 (default: 6.15).
    #[arg(long, value_name = "VERSION")]
    target_kernel: Option<String>,

    /// Divide files into chunks of this size, a power of two from 4k to 4m, and store equal chunks
    /// once. Not with compression; needs Linux 5.15.
    #[arg(long, visible_alias = "chunksize", value_name = "SIZE", value_parser = size)]
    chunk_size: Option<u64>,

    /// Store all data in a separate file, whose name the image records. Such an image is mounted
    /// with `-o device=FILE`; needs Linux 5.16.
    #[arg(long, visible_alias = "blobdev", value_name = "FILE")]
    blob_device: Option<PathBuf>,

    /// Store this prefix of names of extended attributes once, as in `user.name.`. Can be repeated;
    /// needs Linux 6.4 (default: prefixes that save space).
    #[arg(long, value_name = "NAME", conflicts_with = "no_xattrs")]
    xattr_prefix: Vec<String>,

    /// Extended features, as mkfs.erofs -E: dedupe (repeated data is stored once; needs Linux 6.1),
    /// ztailpacking (tails are stored after inodes; needs 5.17, default), fragments (tails are
    /// packed together; needs 6.1, default), all-fragments (whole files are packed together; needs
    /// 6.1), legacy-compress (LZ4 for Linux before 5.4), inline_data (tails of uncompressed files
    /// are stored after inodes; default), index (no content, only references to the tar archive;
    /// with block=512), block=N (EROFS blocks of 512, 1024, 2048 or 4096 bytes; sizes other than
    /// 4096 without compression). A ^ in front disables a feature.
    /// Of CRAMFS: big-endian, front-padding (512 bytes before the superblock), edition=N, boot=FILE
    /// (boot code after the superblock). Of ISO 9660: boot=FILE, efi-boot=FILE, boot-load-size=N,
    /// boot-info-table, system-area=FILE, partitions, no-joliet, joliet-long, zisofs2,
    /// publisher=TEXT and more (docs/formats/iso9660.md).
    #[arg(short = 'E', long, value_name = "OPTION,..")]
    extended: Option<String>,

    /// The UUID of the volume (default: derived from the content).
    #[arg(long, value_name = "UUID")]
    uuid: Option<String>,

    /// The name of the volume, up to 16 bytes (CRAMFS, too); up to 32 of ISO 9660.
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
}

/// The flags of SquashFS images, some of which apply to EROFS, too.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "SquashFS")]
struct SquashfsArgs {
    /// Pack tails of large files into fragments, not only small files.
    #[arg(long, visible_alias = "always-use-fragments")]
    tailends: bool,

    /// Do not use fragments.
    #[arg(long, conflicts_with = "tailends")]
    no_fragments: bool,

    /// Do not compress these parts: inodes, data, fragments, xattrs, ids, or all (also --noI,
    /// --noD, --noF, --noX, --noId, --no-compression).
    #[arg(long, value_name = "PART,..")]
    no_compress: Option<String>,

    #[command(flatten)]
    uncompressed: UncompressedArgs,

    /// Store holes as zeros (EROFS and CRAMFS, too).
    #[arg(long)]
    no_sparse: bool,

    /// Do not store extended attributes (EROFS and composefs, too).
    #[arg(long, visible_alias = "skip-xattrs")]
    no_xattrs: bool,

    /// Do not write the export table, which NFS needs.
    #[arg(long)]
    no_exports: bool,

    /// Do not pad the image to a multiple of 4 KiB (CRAMFS, too).
    #[arg(long, visible_alias = "nopad")]
    no_pad: bool,
}

/// The parts of `--no-compress`, spelled as in mksquashfs.
#[derive(Debug, clap::Args)]
struct UncompressedArgs {
    #[arg(long = "noI", alias = "noInodeCompression", hide = true)]
    inodes: bool,
    #[arg(long = "noD", alias = "noDataCompression", hide = true)]
    data: bool,
    #[arg(long = "noF", alias = "noFragmentCompression", hide = true)]
    fragments: bool,
    #[arg(long = "noX", alias = "noXattrCompression", hide = true)]
    xattrs: bool,
    #[arg(long = "noId", alias = "noIdTableCompression", hide = true)]
    ids: bool,
    #[arg(long = "no-compression", hide = true)]
    all: bool,
}

/// The order of files, and how repeated data is found.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Order and deduplication")]
pub struct LayoutArgs {
    /// The purpose of the image: `mount` (default) to read single files from it; `archive` to keep
    /// it and unpack it, as small as it gets; `remote` to read it over a network (blocks of 1 MiB;
    /// name the files that are needed first with --hot).
    #[arg(
        long = "for",
        value_name = "PURPOSE",
        value_parser = PossibleValuesParser::new(["mount", "archive", "remote"])
            .try_map(|text| text.parse::<Purpose>())
    )]
    purpose: Option<Purpose>,

    /// Search for repeated data only in this number of preceding blocks, not in all of them.
    #[arg(short = 'B', long, value_name = "BLOCKS")]
    lookback: Option<u32>,

    /// How much reads of the image may cost, instead of the choice of --for: `free` packs smallest;
    /// `mount` refers to data in another block only where that saves more than it costs readers;
    /// `remote` also keeps the files of a directory together, and begins blocks with large ones.
    #[arg(
        long,
        value_name = "COST",
        value_parser = PossibleValuesParser::new(["free", "mount", "remote"])
            .try_map(|text| text.parse::<ReadCost>())
    )]
    read_cost: Option<ReadCost>,

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
    /// Sets these options in a request.
    pub fn apply(self, request: &mut BuildRequest) -> Result<()> {
        request.format = self.format;
        let zeros = self.header_size.map(NewHeader::Zeros);
        let program = self.self_mount.program().map(NewHeader::Program);
        request.header = self.header.map(NewHeader::File).or(zeros).or(program);
        request.blob_device = self.erofs.blob_device;
        request.level = self.level;
        (request.compression, request.by_category) = compressions(self.compression)?;
        request.metadata_compression = self.metadata_compression.as_deref().map(with_level);
        request.block_size = self.block_size;
        self.layout.apply(request);
        request.per_file = PerFileOptions {
            chunk_size: self.erofs.chunk_size,
            xattr_prefixes: self.erofs.xattr_prefix,
            ..self.squashfs.options()
        };
        request.volume = VolumeOptions {
            uuid: self.erofs.uuid,
            label: self.erofs.label,
            target_kernel: self.erofs.target_kernel,
            extended: self.erofs.extended,
        };
        request.composefs = ComposefsOptions {
            digest_store: self.composefs.digest_store,
            min_version: self.composefs.min_version,
            max_version: self.composefs.max_version,
            skip_devices: self.composefs.skip_devices,
            user_xattrs: self.composefs.user_xattrs,
        };
        Ok(())
    }

    /// Returns whether the digest of the image is printed.
    pub fn prints_digest(&self) -> bool {
        self.composefs.print_digest
    }
}

impl SquashfsArgs {
    /// Returns the options without the EROFS options.
    fn options(self) -> PerFileOptions {
        let tails = match (self.tailends, self.no_fragments) {
            (true, _) => Some(TailPlacement::Shared),
            (_, true) => Some(TailPlacement::Alone),
            _ => None,
        };
        PerFileOptions {
            tails,
            chunk_size: None,
            xattr_prefixes: Vec::new(),
            raw: self.uncompressed.with(self.no_compress),
            no_holes: self.no_sparse,
            no_xattrs: self.no_xattrs,
            no_export: self.no_exports,
            no_padding: self.no_pad,
        }
    }
}

impl UncompressedArgs {
    /// Returns these parts and the parts of `--no-compress`.
    fn with(&self, named: Option<String>) -> Option<String> {
        let parts = [
            (self.inodes, "inodes"),
            (self.data, "data"),
            (self.fragments, "fragments"),
            (self.xattrs, "xattrs"),
            (self.ids, "ids"),
            (self.all, "all"),
        ];
        let mut names: Vec<_> = named.into_iter().collect();
        let selected = parts.iter().filter(|(is_selected, _)| *is_selected);
        names.extend(selected.map(|(_, part)| (*part).to_owned()));
        (!names.is_empty()).then(|| names.join(","))
    }
}

/// The codec of all blocks, and the codecs of categories.
type Compressions = (Option<String>, Vec<(String, String)>);

/// Separates the codec of all blocks from the codecs of categories; fails if there are several of
/// the former.
pub fn compressions(given: Vec<String>) -> Result<Compressions> {
    let (mut general, mut by_category) = (None, Vec::new());
    for text in given {
        match text.split_once("::") {
            Some((category, codec)) => by_category.push((category.to_owned(), with_level(codec))),
            None if general.is_none() => general = Some(with_level(&text)),
            None => {
                return Err(Error::invalid(format!(
                    "-C {text}: only one codec can apply to all blocks, others need CATEGORY::"
                )));
            }
        }
    }
    Ok((general, by_category))
}

/// Names the level of a codec that is given as `zstd:19`.
pub fn with_level(codec: &str) -> String {
    let parts = codec.split(':').enumerate().map(|(index, part)| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if index == 1 && is_number {
            format!("level={part}")
        } else {
            part.to_owned()
        }
    });
    parts.collect::<Vec<_>>().join(":")
}

impl LayoutArgs {
    /// Sets these options in a request.
    pub fn apply(self, request: &mut BuildRequest) {
        request.lookback = self.lookback;
        request.purpose = self.purpose;
        request.read_cost = self.read_cost;
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
