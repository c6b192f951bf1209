//! `sinter push`: puts an image into a registry.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::transfer::PushWith;
use sinterfs::verify::{read_signature, sign};
use sinterfs::{OpenOptions, Result};

use super::sign::{default_comment, read_password};
use crate::args::remote::RemoteArgs;
use crate::args::run::JobsArgs;
use crate::interrupt::Interrupt;
use crate::progress::{Display, Show};
use crate::text;

/// Push an image to an OCI registry.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter push image.dwarfs oci://registry.example/me/image:1
      Push an artifact, which `sinter mount oci://...` reads in place.
  sinter push image.erofs oci://localhost:5000/image:1
      Push a layer of EROFS, as containerd and mount.erofs take it.
  sinter push image.dwarfs oci://registry.example/me/image:1 --sign vendor.key
      Attach a signature, which --signed-by finds there.

Prints the reference with the digest of the manifest. A tag that names another image is an error \
without --force. Credentials are those of `docker login` (\
~/.docker/config.json and its helpers). A registry on this machine is reached without TLS.")]
pub struct Args {
    /// The image: a file, or a URL.
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// Where to: oci://HOST/REPOSITORY:TAG.
    #[arg(value_name = "URL")]
    to: PathBuf,

    /// Replace a tag that names another image.
    #[arg(long)]
    force: bool,

    /// The architecture of the programs in an EROFS image, as registries name it (amd64, arm64;
    /// default: this machine's).
    #[arg(long, value_name = "NAME")]
    architecture: Option<String>,

    /// Sign the root digest of the image with the minisign key in this file, and attach the
    /// signature to the image in the registry.
    #[arg(long, value_name = "KEY", conflicts_with = "signature")]
    sign: Option<PathBuf>,

    /// A file whose first line is the password of the key (default: ask for it).
    #[arg(long, value_name = "FILE", requires = "sign")]
    password_file: Option<PathBuf>,

    /// A comment, which is signed and shown after verification (default: the time and the name of
    /// the image).
    #[arg(long, value_name = "TEXT", requires = "sign")]
    comment: Option<String>,

    /// Attach this signature, as `sinter sign` writes it.
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,

    #[command(flatten)]
    jobs: JobsArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Pushes the image.
pub fn run(args: &Args) -> Result<ExitCode> {
    // an upload that is stopped is cancelled
    let _watching = Interrupt::watch();
    let options = OpenOptions {
        remote: args.remote.options(),
        ..OpenOptions::default()
    };
    let signature = signature(args)?;
    let with = PushWith {
        architecture: args.architecture.as_deref(),
        signature: signature.as_deref(),
        replace: args.force,
    };
    let pushed = sinterfs::transfer::push(&args.image, &args.to, with, &options)?;
    text::print(&format!("{pushed}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes or reads the signature to attach. Before it is made, all data is compared with the digests
/// of the image.
fn signature(args: &Args) -> Result<Option<String>> {
    let Some(key) = &args.sign else {
        return args.signature.as_deref().map(read_signature).transpose();
    };
    let display = Display::start(Show::Progress);
    let of = sinterfs::verify::signable(&args.image, args.jobs.threads(), display.observer())?;
    drop(display);
    let comment = args.comment.clone();
    let comment = comment.unwrap_or_else(|| default_comment(&args.image));
    let password = args.password_file.as_deref().map(read_password);
    sign(of, key, password.transpose()?, &comment).map(Some)
}
