//! `sinter push`: puts an image into a registry.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::{OpenOptions, Result};

use crate::args::remote::RemoteArgs;
use crate::text;

/// Push an image to an OCI registry.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter push image.dwarfs oci://registry.example/me/image:1
      Push an artifact, which `sinter mount oci://...` reads in place.
  sinter push image.erofs oci://localhost:5000/image:1
      Push a layer of EROFS, as containerd and mount.erofs take it.

Prints the reference with the digest of the manifest. Credentials are those of `docker login` (\
~/.docker/config.json and its helpers). A registry on this machine is reached without TLS.")]
pub struct Args {
    /// The image: a file, or a URL.
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// Where to: oci://HOST/REPOSITORY:TAG.
    #[arg(value_name = "URL")]
    to: PathBuf,

    /// The architecture of the programs in an EROFS image, as registries name it (amd64, arm64;
    /// default: that of this machine).
    #[arg(long, value_name = "NAME")]
    architecture: Option<String>,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Pushes the image.
pub fn run(args: &Args) -> Result<ExitCode> {
    let options = OpenOptions {
        remote: args.remote.options(),
        ..OpenOptions::default()
    };
    let architecture = args.architecture.as_deref();
    let pushed = sinterfs::transfer::push(&args.image, &args.to, architecture, &options)?;
    text::print(&format!("{pushed}\n"))?;
    Ok(ExitCode::SUCCESS)
}
