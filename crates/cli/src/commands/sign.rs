//! `sinter sign`: signs the root digest of an image.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use sinterfs::build::write_new;
use sinterfs::{Error, Result};

use super::parity;
use crate::args::input::require_local;
use crate::args::run::JobsArgs;
use crate::progress::{Display, Show};
use crate::text;

/// Sign the root digest of an image with a minisign key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter keygen vendor
      Make a pair of keys, as minisign(1) does.
  sinter sign image.dwarfs --key vendor.key
      Write the signature to image.dwarfs.root.minisig.
  sinter sign image.dwarfs --key vendor.key --embed
      Store the signature in the image.
  sinter mount image.dwarfs /mnt --signed-by vendor.pub
      Mount the image only if the signature is valid.

All data of the image is verified by its digests before they are signed; an image without \
digests is hashed as a whole. The signed statement is one line of text, so other programs can \
sign and verify it:

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

    /// A file whose first line is the password of the key (default: ask for it).
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// A comment, which is signed and shown after verification, such as the version of the image
    /// (default: the time and the name of the image).
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,

    /// The file of the signature (default: IMAGE.root.minisig).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Store the signature in the image, which must have digests (DwarFS, --with-digest). The image
    /// is copied and replaced; it is unchanged if anything fails.
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
    require_local(&args.image)?;
    let display = Display::start(Show::Progress);
    let of = sinterfs::verify::signable(&args.image, args.jobs.threads(), display.observer())?;
    drop(display);
    let comment = match &args.comment {
        Some(comment) => comment.clone(),
        None => default_comment(&args.image),
    };
    let signature = sinterfs::verify::sign(of, &args.key, password(args)?, &comment)?;
    match (&args.output, args.embed) {
        (_, true) => {
            sinterfs::verify::embed_signature(&args.image, &signature)?;
            parity::tell_former(&args.image);
        }
        (Some(output), _) => write_new(output, args.force, signature.as_bytes())?,
        (None, _) => {
            let output = sinterfs::verify::signature_path(&args.image);
            write_new(&output, args.force, signature.as_bytes())?;
        }
    }
    text::print(&format!("{}\n", of.root))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the default comment, in minisign's form.
pub fn default_comment(image: &Path) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let name = image.file_name().unwrap_or_default();
    let name = text::name(name.as_encoded_bytes());
    format!("timestamp:{seconds}\tfile:{name}")
}

fn password(args: &Args) -> Result<Option<String>> {
    args.password_file.as_deref().map(read_password).transpose()
}

/// Reads the password in a file: its first line.
pub fn read_password(path: &Path) -> Result<String> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|error| Error::io("cannot read the password", error).path(path))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
