//! `sinter pull`: downloads a remote image.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::transfer::PullTo;
use sinterfs::{OpenOptions, Result};

use crate::args::input::ProofArgs;
use crate::args::remote::RemoteArgs;
use crate::{size, text};

/// Download a remote image to a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter pull oci://registry.example/me/image:1 -o image.dwarfs
      Download an image from a registry, and compare its digest.
  sinter pull https://host/image.dwarfs -o image.dwarfs
      Download an image from a web server.

  sinter pull oci://registry.example/me/image:2 -o new.dwarfs --from old
      Take what both images have from the old one.

Bytes come in large ranges, several at once. What an interrupted download has fetched is in the \
cache, and is not fetched again.")]
pub struct Args {
    /// The image: oci://HOST/REPOSITORY:TAG, or another URL.
    #[arg(value_name = "URL")]
    from: PathBuf,

    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Replace that file if it exists.
    #[arg(long)]
    force: bool,

    /// An older image: blocks that both have are taken from it, and only the rest is fetched. Of a
    /// DwarFS image these are sections, of any other leaves of 64 KiB by the digests of the image:
    /// URL.digest, or those in a registry.
    #[arg(long = "from", value_name = "OLD")]
    older: Option<PathBuf>,

    #[command(flatten)]
    proof: ProofArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Downloads the image.
pub fn run(args: &Args) -> Result<ExitCode> {
    let options = OpenOptions {
        remote: args.remote.options(),
        trust: args.proof.trust().map(Box::new),
        ..OpenOptions::default()
    };
    let to = PullTo {
        output: &args.output,
        replace: args.force,
        older: args.older.as_deref(),
    };
    let pulled = sinterfs::transfer::pull(&args.from, to, &options)?;
    if pulled.wrong_mirror {
        text::warn("a mirror sent wrong bytes: all of them came from the registry");
    }
    let name = text::name(args.output.as_os_str().as_encoded_bytes());
    let mut line = format!("{name}: {} (", size::human(pulled.len));
    if args.older.is_some() {
        line += &format!("{} from the older image, ", size::human(pulled.older));
    }
    text::print(&format!("{line}{} fetched)\n", size::human(pulled.fetched)))?;
    Ok(ExitCode::SUCCESS)
}
