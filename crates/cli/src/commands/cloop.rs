//! `sinter cloop`: compresses a file into a device image.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::build::{DeviceOptions, compress_device};
use sinterfs::{Error, Result};

use super::digest::is_same;
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

The image is of version 2.0, which every driver reads and extract_compressed_fs unpacks. The other \
commands open what is in it (an image of any format, or ext2, ext3, ext4) as if it were a file of \
its own.")]
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

    /// 0 stores, 12 is smallest.
    #[arg(short, long, value_name = "N", default_value_t = 9,
        value_parser = clap::value_parser!(i32).range(0..=12))]
    level: i32,

    #[command(flatten)]
    jobs: JobsArgs,
}

/// Compresses the file.
pub fn run(args: &Args) -> Result<ExitCode> {
    if is_same(&args.output, &args.device) {
        let error = Error::invalid("the image would replace the file that it is made of");
        return Err(error.path(&args.output));
    }
    let display = Display::start(Show::Progress);
    let options = DeviceOptions {
        // what is too large is refused with the others
        block_size: u32::try_from(args.block_size).unwrap_or(u32::MAX),
        level: args.level,
        threads: args.jobs.threads(),
    };
    let observer = display.observer();
    let report = compress_device(&args.device, &args.output, args.force, options, observer)?;
    drop(display);
    let (len, stored) = (report.device_len, report.stored);
    text::print(&format!(
        "{len} bytes in {} blocks, {stored} stored\n",
        report.blocks
    ))?;
    Ok(ExitCode::SUCCESS)
}
