//! `sinter keygen`: makes a pair of keys for signatures.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::platform::files;
use sinterfs::verify::{KeyPassword, generate_keys};
use sinterfs::{Error, Result};

use crate::messages;

/// Make a pair of keys to sign images with.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter keygen vendor
      Make vendor.key, which is secret, and vendor.pub.
  sinter sign image.dwarfs --key vendor.key
      Sign an image.
  sinter verify --signed-by vendor.pub image.dwarfs
      Verify the signature, and all data that it covers.

The keys are those of minisign(1): each program takes those of the other. An existing file is \
never replaced.")]
pub struct Args {
    /// The name of the files, without .key and .pub.
    #[arg(value_name = "NAME")]
    name: PathBuf,

    /// Do not protect the secret key by a password (default: ask for one).
    #[arg(long)]
    no_password: bool,

    /// A file whose first line is the password.
    #[arg(long, value_name = "FILE", conflicts_with = "no_password")]
    password_file: Option<PathBuf>,
}

/// Makes the keys.
pub fn run(args: &Args) -> Result<ExitCode> {
    let password = match &args.password_file {
        Some(file) => KeyPassword::Given(super::sign::read_password(file)?),
        None if args.no_password => KeyPassword::Nothing,
        None if std::io::stdin().is_terminal() => KeyPassword::Ask,
        None => {
            let what = "there is no terminal to ask for a password: use --password-file, or \
                        --no-password";
            return Err(Error::invalid(what));
        }
    };
    let [secret, public] = ["key", "pub"].map(|extension| with_extension(&args.name, extension));
    for file in [&secret, &public] {
        if file.symlink_metadata().is_ok() {
            return Err(Error::invalid("the file exists, and keys are not replaced").path(file));
        }
    }
    let keys = generate_keys(password)?;
    write(&secret, &keys.secret, 0o600)?;
    write(&public, &keys.public, 0o644)?;
    let line = keys.public.lines().nth(1).unwrap_or_default();
    messages::line(format_args!(
        "secret key: {}\npublic key: {} ({line})",
        secret.display(),
        public.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Appends an extension to a name that may have one.
fn with_extension(name: &Path, extension: &str) -> PathBuf {
    let mut full = name.as_os_str().to_owned();
    full.push(".");
    full.push(extension);
    full.into()
}

fn write(file: &Path, text: &str, mode: u32) -> Result<()> {
    let failed = |error| Error::io("cannot write the key", error).path(file);
    let mut out = files::make(file, mode).map_err(failed)?;
    out.write_all(text.as_bytes())
        .and_then(|()| out.sync_all())
        .map_err(failed)
}
