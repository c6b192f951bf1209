//! What every command that reads an image asks for: the file, where the image begins in it, how
//! much memory decoded blocks may take.

use std::ffi::OsString;
use std::path::PathBuf;

use sinterfs::{OpenOptions, Opened, Proof, Result, Root, Word};

use crate::{size, text};

/// The heading of the flags here; the image itself is an argument without heading.
const OPENING: &str = "Opening the image";

/// Names the image and how to open it.
#[derive(Debug, clap::Args)]
pub struct ImageArgs {
    /// The image file.
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,

    /// Where the image begins in its file, in bytes; `auto` finds it behind any header.
    #[arg(long, help_heading = OPENING, value_name = "BYTES", default_value = "auto", value_parser = offset)]
    pub offset: Offset,

    /// How much memory decoded blocks may take (as in 512M, which is the default; for a mount a sixteenth of
    /// the machine's memory if that is more); at least three blocks of a DwarFS image.
    #[arg(long, help_heading = OPENING, value_name = "SIZE", value_parser = size::parse)]
    pub cache_size: Option<u64>,

    /// A file that holds content of the image (a device or blob of EROFS); several in the image's
    /// order. Files beside the image that it names are found without.
    #[arg(long, help_heading = OPENING, value_name = "FILE")]
    pub device: Vec<PathBuf>,

    /// The directory of the objects that hold the content of a composefs image. What is read of
    /// them is compared with the digests in the image (of a mount with --verify only).
    #[arg(long, help_heading = OPENING, value_name = "DIR")]
    pub objects: Option<PathBuf>,

    #[command(flatten)]
    proof: ProofArgs,
}

/// What the image must be.
#[derive(Debug, clap::Args)]
struct ProofArgs {
    /// Read only bytes that this root digest is of, as `build --with-digest`, `info` and `digest`
    /// print it; anything else is an error. Images without digests are read once to be compared.
    #[arg(long, help_heading = OPENING, value_name = "HEX", group = "word")]
    digest: Option<Root>,

    /// Read only bytes of which somebody with this key has signed the root digest: a public key of
    /// minisign, or the file that holds it.
    #[arg(long, help_heading = OPENING, value_name = "KEY", group = "word")]
    signed_by: Option<OsString>,

    /// The signature, as `sinter sign` writes it (default: the one in the image, or else
    /// IMAGE.root.minisig).
    #[arg(long, help_heading = OPENING, value_name = "FILE", requires = "signed_by")]
    signature: Option<PathBuf>,

    /// The digests of the image, as `sinter digest -o` writes them, if they are not in it.
    #[arg(long, help_heading = OPENING, value_name = "FILE", requires = "word")]
    digest_file: Option<PathBuf>,
}

impl ProofArgs {
    fn proof(&self) -> Option<Proof> {
        let word = match (self.digest, self.signed_by.clone()) {
            (Some(root), _) => Word::Known(root),
            (None, Some(key)) => Word::Signed {
                key,
                signature: self.signature.clone(),
            },
            (None, None) => return None,
        };
        Some(Proof {
            word,
            digests: self.digest_file.clone(),
            image: None,
        })
    }
}

/// An offset that is given or to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset(pub Option<u64>);

fn offset(text: &str) -> std::result::Result<Offset, String> {
    if text == "auto" {
        Ok(Offset(None))
    } else {
        size::parse(text).map(|n| Offset(Some(n)))
    }
}

impl ImageArgs {
    /// Opens the image, and warns of what is wrong with it.
    pub fn open(&self) -> Result<Opened> {
        let opened = sinterfs::open(&self.image, &self.options())?;
        for warning in opened.warnings() {
            text::warn(&warning.path(&self.image).to_string());
        }
        Ok(opened)
    }

    /// Returns the options that the flags ask for.
    pub fn options(&self) -> OpenOptions {
        let default = OpenOptions::default().cache_bytes;
        OpenOptions {
            offset: self.offset.0,
            cache_bytes: self.cache_size.unwrap_or(default),
            devices: self.device.clone(),
            objects: self.objects.clone(),
            proof: self.proof.proof().map(Box::new),
            ..OpenOptions::default()
        }
    }
}
