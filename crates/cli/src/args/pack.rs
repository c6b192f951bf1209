//! What every command that makes an image asks for: where it goes, and how it is packed.

use std::io::IsTerminal;
use std::path::PathBuf;

use sinterfs::{
    BuildRequest, Categorizers, ComposefsOptions, Destination, Error, Order, PerFileOptions,
    Result, TailPlacement, VolumeOptions,
};

use super::common::VerbosityArgs;
use crate::size::parse as size;

/// Where an image goes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct TargetArgs {
    /// The image to write; `-` is standard output.
    #[arg(short, long, value_name = "IMAGE")]
    output: PathBuf,

    /// Replace the image if it exists; it keeps its permissions.
    #[arg(long)]
    force: bool,
}

impl TargetArgs {
    /// Returns the destination; both an image and JSON on standard output are refused.
    pub fn destination(self, verbosity: VerbosityArgs) -> Result<Destination> {
        if self.output.as_os_str() != "-" {
            return Ok(Destination::File {
                path: self.output,
                replace: self.force,
            });
        }
        if verbosity.json {
            return Err(Error::invalid("--json and -o - both want standard output"));
        }
        if std::io::stdout().is_terminal() {
            let what = "an image is nothing for a terminal: name a file by -o, or a pipe";
            return Err(Error::invalid(what));
        }
        Ok(Destination::Stdout)
    }
}

/// How files are packed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct PackArgs {
    /// The format of the image: dwarfs, squashfs, erofs or composefs (default: by the extension:
    /// dwarfs, dff, dwfs; squashfs, sqfs, sfs, snap; erofs; composefs, cfs; else dwarfs).
    #[arg(short, long, value_name = "FORMAT")]
    format: Option<String>,

    /// How much effort goes into a small image, 0 to 9.
    #[arg(short, long, default_value_t = 7, value_parser = clap::value_parser!(u8).range(0..=9))]
    level: u8,

    /// The compression of blocks, or of those of a category, in place of the level's; `sinter build
    /// --help` lists those of each format.
    #[arg(
        short = 'C',
        long,
        visible_alias = "comp",
        value_name = "[CATEGORY::]CODEC[:KEY=VALUE].."
    )]
    compression: Vec<String>,

    /// The compression of metadata, in place of the level's.
    #[arg(long, value_name = "CODEC[:KEY=VALUE]..")]
    metadata_compression: Option<String>,

    /// The size of blocks, a power of two from 1k to 1g (SquashFS, EROFS: 4k to 1m), in place of the level's.
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    block_size: Option<u64>,

    /// Put the content of a file before the image: a program that runs it, a boot loader, zeros.
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,

    #[command(flatten)]
    layout: LayoutArgs,

    #[command(flatten)]
    squashfs: SquashfsArgs,

    #[command(flatten)]
    erofs: ErofsArgs,

    #[command(flatten)]
    composefs: ComposefsArgs,
}

/// What composefs images are, whose content is elsewhere.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "composefs")]
struct ComposefsArgs {
    /// Store the content of files of more than 64 bytes in this directory, each named by its
    /// fs-verity digest; what is there already stays (default: the content is only hashed). With --from-dump
    /// and another format, the directory where content is.
    #[arg(long, value_name = "DIR")]
    digest_store: Option<PathBuf>,

    /// Print the fs-verity digest of the image on standard output.
    #[arg(long)]
    print_digest: bool,

    /// The lowest version of the format, 0 or 1 (default: 0).
    #[arg(long, value_name = "VERSION")]
    min_version: Option<u32>,

    /// The highest version of the format, 0 or 1, which is taken if there are whiteouts (default: 1).
    #[arg(long, value_name = "VERSION")]
    max_version: Option<u32>,

    /// Leave out devices.
    #[arg(long)]
    skip_devices: bool,

    /// Leave out extended attributes that do not begin with `user.`.
    #[arg(long, conflicts_with = "no_xattrs")]
    user_xattrs: bool,
}

/// How EROFS images are laid out, what they tell as volumes, and to whom.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "EROFS")]
struct ErofsArgs {
    /// Write what this version of Linux and newer ones mount: 5.4, 5.10, 5.15, 5.17, 6.1, 6.6, 6.10, 6.12,
    /// 6.15, 6.17 or 6.18 (default: 6.15).
    #[arg(long, value_name = "VERSION")]
    target_kernel: Option<String>,

    /// Cut content into chunks of this size, a power of two from 4k to 4m, and store equal ones once; without
    /// compression, from Linux 5.15 on.
    #[arg(long, visible_alias = "chunksize", value_name = "SIZE", value_parser = size)]
    chunk_size: Option<u64>,

    /// Put all content into a file of its own, whose name the image tells; mount the image with
    /// `-o device=FILE`, from Linux 5.16 on.
    #[arg(long, visible_alias = "blobdev", value_name = "FILE")]
    blob_device: Option<PathBuf>,

    /// Store what names of extended attributes begin with once, as `user.name.`; may be given several times;
    /// from Linux 6.4 on (default: what pays).
    #[arg(long, value_name = "NAME", conflicts_with = "no_xattrs")]
    xattr_prefix: Vec<String>,

    /// What more the image may have, as mkfs.erofs' -E: dedupe (files refer to what earlier ones have in
    /// common with them; from Linux 6.1 on), ztailpacking (last clusters behind inodes; from 5.17 on, there
    /// by default), fragments (ends of files share clusters; from 6.1 on, there by default), all-fragments
    /// (whole files do, of any length; from 6.1 on); with ^ before it, not.
    #[arg(short = 'E', long, value_name = "OPTION,..")]
    extended: Option<String>,

    /// The UUID of the volume (default: one that is made of its content).
    #[arg(long, value_name = "UUID")]
    uuid: Option<String>,

    /// The name of the volume, up to 16 bytes.
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
}

/// How images are laid out whose files are cut each for itself.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "SquashFS")]
struct SquashfsArgs {
    /// Pack the ends of large files into fragments, too, not only small files.
    #[arg(long, visible_alias = "always-use-fragments")]
    tailends: bool,

    /// Pack nothing into fragments.
    #[arg(long, conflicts_with = "tailends")]
    no_fragments: bool,

    /// Compress nothing of these parts: inodes, data, fragments, xattrs, ids, or all (also
    /// --noI, --noD, --noF, --noX, --noId, --no-compression).
    #[arg(long, value_name = "PART,..")]
    no_compress: Option<String>,

    #[command(flatten)]
    uncompressed: UncompressedArgs,

    /// Store zeros instead of holes (EROFS, too).
    #[arg(long)]
    no_sparse: bool,

    /// Leave out extended attributes (EROFS and composefs, too).
    #[arg(long, visible_alias = "skip-xattrs")]
    no_xattrs: bool,

    /// Leave out the table of inodes that NFS needs.
    #[arg(long)]
    no_exports: bool,

    /// Let the image end with its content, not at a multiple of 4 KiB.
    #[arg(long, visible_alias = "nopad")]
    no_pad: bool,
}

/// The parts of `--no-compress` in the words of mksquashfs.
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

/// How content is ordered and cut.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Order and deduplication")]
pub struct LayoutArgs {
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

    /// Store files before and after all others as a file says: lines of a path and a number from
    /// -32768 to 32767, highest first.
    #[arg(long, value_name = "FILE")]
    sort: Option<PathBuf>,

    /// Store the files of a list before all others, in its order and in small blocks that decode at once: what
    /// a program needs when it starts. A path a line, as `sinter mount --record` writes them.
    #[arg(long, value_name = "FILE")]
    hot: Option<PathBuf>,

    /// Store equal files as often as there are.
    #[arg(long)]
    no_duplicates: bool,

    /// Tell only these kinds of content apart: pcmaudio, fits, binary, text, incompressible
    /// (default: all; for SquashFS and EROFS binary and text).
    #[arg(long, value_name = "KIND,..", num_args = 0..=1, require_equals = true)]
    categorize: Option<Option<Categorizers>>,

    /// Tell no kinds of content apart: everything goes into one stream.
    #[arg(long, conflicts_with = "categorize")]
    no_categorize: bool,
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

impl PackArgs {
    /// Adds what was asked to a request.
    pub fn apply(self, request: &mut BuildRequest) -> Result<()> {
        request.format = self.format;
        request.header = self.header;
        request.blob_device = self.erofs.blob_device;
        request.level = self.level;
        (request.compression, request.by_category) = compressions(self.compression)?;
        request.metadata_compression = self.metadata_compression;
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

    /// Returns whether the digest of the image is to be printed.
    pub fn prints_digest(&self) -> bool {
        self.composefs.print_digest
    }
}

impl SquashfsArgs {
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
    /// Adds these parts to those that are named.
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
        let asked = parts.iter().filter(|(is_asked, _)| *is_asked);
        names.extend(asked.map(|(_, part)| (*part).to_owned()));
        (!names.is_empty()).then(|| names.join(","))
    }
}

/// The compression of all blocks, and those of categories.
type Compressions = (Option<String>, Vec<(String, String)>);

/// Returns the compression of all blocks from those of categories.
pub fn compressions(given: Vec<String>) -> Result<Compressions> {
    let (mut general, mut by_category) = (None, Vec::new());
    for text in given {
        match text.split_once("::") {
            Some((category, codec)) => by_category.push((category.to_owned(), codec.to_owned())),
            None if general.is_none() => general = Some(text),
            None => {
                return Err(Error::invalid(format!(
                    "-C {text}: one compression is for all blocks, others need CATEGORY::"
                )));
            }
        }
    }
    Ok((general, by_category))
}

impl LayoutArgs {
    /// Adds what was asked to a request.
    pub fn apply(self, request: &mut BuildRequest) {
        request.lookback = self.lookback;
        request.memory = self.memory;
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
