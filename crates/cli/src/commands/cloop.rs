//! `sinter cloop`: compresses a file into a device image.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::build::{DeviceCodec, DeviceOptions, compress_device};
use sinterfs::{Error, Result};

use super::digest::is_same;
use crate::args::input::require_local;
use crate::args::run::JobsArgs;
use crate::progress::{Display, Show};
use crate::size;
use crate::text;

/// Compress a file (a file system, a disk) into a device image of cloop.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter cloop disk.ext2 -o disk.cloop
      Compress a file system, for the driver of cloop or for `sinter mount`.
  sinter cloop live.iso -o live.cloop -b 128k -l 12
      In larger blocks, and as small as zlib allows.
  sinter cloop live.iso -o live.cloop -C xz
      With xz, as version 4.0.

Version 2.0 is what every driver reads and extract_compressed_fs unpacks; drivers from 4 on read \
version 4.0, too. The other commands open what is in an image (an image of any format, or ext2, \
ext3, ext4) as if it were a file of its own.")]
pub struct Args {
    /// The file to compress.
    #[arg(value_name = "FILE")]
    device: PathBuf,

    /// The image to write.
    #[arg(short, long, value_name = "IMAGE")]
    output: PathBuf,

    /// Replace the image if it exists.
    #[arg(long)]
    force: bool,

    /// Bytes of a block, a multiple of 512.
    #[arg(short, long, value_name = "SIZE", value_parser = size::parse, default_value = "64k")]
    block_size: u64,

    /// The version of the image: 2 or 4; without it, the oldest that has the codec.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=4))]
    version: Option<u8>,

    /// The codec of blocks; all but zlib need version 4.
    #[arg(
        short = 'C',
        long = "compress",
        value_name = "CODEC",
        default_value = "zlib"
    )]
    codec: Codec,

    /// 0 stores, 12 is smallest (9 with xz).
    #[arg(short, long, value_name = "N", default_value_t = 9,
        value_parser = clap::value_parser!(i32).range(0..=12))]
    level: i32,

    #[command(flatten)]
    jobs: JobsArgs,
}

/// The codec of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Codec {
    Zlib,
    Xz,
    Lz4,
    Lzo,
}

/// Returns the codec of an image of a version. `Invalid` if it has none such.
fn codec(version: Option<u8>, codec: Codec) -> Result<DeviceCodec> {
    Ok(match (version, codec) {
        (None | Some(2), Codec::Zlib) => DeviceCodec::Version2,
        (Some(4), Codec::Zlib) => DeviceCodec::Zlib,
        (None | Some(4), Codec::Xz) => DeviceCodec::Xz,
        (None | Some(4), Codec::Lz4) => DeviceCodec::Lz4,
        (None | Some(4), Codec::Lzo) => DeviceCodec::Lzo,
        (Some(2), _) => return Err(Error::invalid("version 2 supports only zlib")),
        (Some(other), _) => {
            let what = format!("version {other} is read, but not written; 2 and 4 are");
            return Err(Error::unsupported(what));
        }
    })
}

/// Compresses the file.
pub fn run(args: &Args) -> Result<ExitCode> {
    require_local(&args.device)?;
    if is_same(&args.output, &args.device) {
        let error = Error::invalid("the image would replace the file that it is made of");
        return Err(error.path(&args.output));
    }
    let display = Display::start(Show::Progress);
    let options = DeviceOptions {
        // what is too large is refused with the others
        block_size: u32::try_from(args.block_size).unwrap_or(u32::MAX),
        codec: codec(args.version, args.codec)?,
        level: args.level,
        threads: args.jobs.threads(),
    };
    let observer = display.observer();
    let report = compress_device(&args.device, &args.output, args.force, options, observer)?;
    drop(display);
    let (len, stored) = (report.device_len, report.stored);
    text::print(&format!(
        "{len} bytes in {} blocks -> {stored} bytes\n",
        report.blocks
    ))?;
    Ok(ExitCode::SUCCESS)
}
