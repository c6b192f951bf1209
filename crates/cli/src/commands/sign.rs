//! `sinter sign`: says with a key which root digest an image has.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use sinterfs::{Error, Result, write_new};

use crate::args::common::JobsArgs;
use crate::progress::{Display, Show};
use crate::text;

/// Sign the root digest of an image with a key of minisign.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  minisign -G -p vendor.pub -s vendor.key               a pair of keys, by minisign(1)
  sinter sign image.dwarfs --key vendor.key             writes image.dwarfs.root.minisig
  sinter sign image.dwarfs --key vendor.key --embed     the signature goes into the image
  sinter mount image.dwarfs /mnt --signed-by vendor.pub refuses anything else

Every byte of the image is compared with its digests before they are signed; without digests in it, the
whole file is. What is signed is one line, so the same can be done and checked without this program:
  sinter digest --statement image.dwarfs > image.dwarfs.root
  minisign -Sm image.dwarfs.root -s vendor.key
  minisign -Vm image.dwarfs.root -p vendor.pub")]
pub struct Args {
    /// The image file.
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// The file of the secret key.
    #[arg(short, long, value_name = "FILE")]
    key: PathBuf,

    /// A file whose first line is the key's password (default: it is asked for).
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// What to say besides, signed as well and shown to whoever verifies: what the image is, its
    /// version (default: the time and the image's name).
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,

    /// The file of the signature (default: IMAGE.root.minisig).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Put the signature into the image, behind its digests (DwarFS, with --with-digest); the image
    /// is copied for that, and stays what it was if anything fails.
    #[arg(long, conflicts_with = "output")]
    embed: bool,

    /// Replace that file if it exists.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    jobs: JobsArgs,
}

/// Signs.
pub fn run(args: &Args) -> Result<ExitCode> {
    let display = Display::start(Show::Progress);
    let root = sinterfs::digest(&args.image, args.jobs.threads(), display.observer())?;
    drop(display);
    let comment = match &args.comment {
        Some(comment) => comment.clone(),
        None => comment(args),
    };
    let signature = sinterfs::sign(root, &args.key, password(args)?, &comment)?;
    match (&args.output, args.embed) {
        (_, true) => sinterfs::embed_signature(&args.image, &signature)?,
        (Some(output), _) => write_new(output, args.force, signature.as_bytes())?,
        (None, _) => {
            let output = sinterfs::signature_beside(&args.image);
            write_new(&output, args.force, signature.as_bytes())?;
        }
    }
    text::print(&format!("{root}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Says what minisign says.
fn comment(args: &Args) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let name = args.image.file_name().unwrap_or_default();
    let name = text::name(name.as_encoded_bytes());
    format!("timestamp:{seconds}\tfile:{name}")
}

fn password(args: &Args) -> Result<Option<String>> {
    let Some(path) = &args.password_file else {
        return Ok(None);
    };
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|error| Error::io("cannot read the password", error).path(path))?;
    Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
}
