//! Flags of commands that read an image: the file, its offset, the cache, and proofs of integrity.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sinterfs::verify::{Anchor, Root, Trust};
use sinterfs::{Error, Image, Kind, OpenOptions, Result};

use crate::args::remote::RemoteArgs;
use crate::{exit, size, text};

/// The heading of these flags. It is set per flag, because the image itself has no heading.
const OPENING: &str = "Opening the image";

/// The image and how to open it.
#[derive(Debug, clap::Args)]
pub struct ImageArgs {
    /// The image: a file, or a URL (http:, https:, s3:, gs:, az:, oci:). Archives are taken by
    /// `browse`, `cat`, `du`, `extract`, `find`, `grep`, `ls`, `stat` and `tree`, too.
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,

    /// The offset of the image in its file, in bytes; `auto` finds it after any header.
    #[arg(long, help_heading = OPENING, value_name = "BYTES", default_value = "auto", value_parser = offset)]
    pub offset: OffsetArg,

    /// The size of the cache of decoded blocks, at least two blocks of a DwarFS image (default:
    /// 512M; for a mount a sixteenth of the memory of the machine if that is more, and at most a
    /// quarter of what this process may use).
    #[arg(long, help_heading = OPENING, value_name = "SIZE", value_parser = size::parse)]
    pub cache_size: Option<u64>,

    /// A file that contains data of the image (an extra device or blob of EROFS, a part of a split
    /// WIM file, the file that a WIM file is a delta of). Can be repeated, in the order of the
    /// image. Files beside the image are found by the names in the image; parts by their headers.
    #[arg(long, help_heading = OPENING, value_name = "FILE")]
    pub device: Vec<PathBuf>,

    /// The image of a WIM file with several, by its number or its name (default: all of them, as
    /// directories named by their numbers).
    #[arg(long = "image", id = "image_in_file", help_heading = OPENING, value_name = "N|NAME")]
    pub image_in_file: Option<String>,

    /// The partition of a disk image (GPT or MBR) that holds the image, by its number (default: the
    /// only one with a known format). --offset is then an offset in the partition.
    #[arg(long, help_heading = OPENING, value_name = "N")]
    pub partition: Option<u32>,

    /// The object directory of a composefs image. Data read from objects is verified by the digests
    /// in the image (in mounts only with --verify).
    #[arg(long, help_heading = OPENING, value_name = "DIR")]
    pub objects: Option<PathBuf>,

    #[command(flatten)]
    trust: ProofArgs,

    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// How the integrity of the image is proved.
#[derive(Debug, clap::Args)]
pub struct ProofArgs {
    /// Require this root digest, as `build --with-digest`, `info` and `digest` print it; any other
    /// data is an error. An image without digests is read once to verify it.
    #[arg(long, help_heading = OPENING, value_name = "HEX", group = "word")]
    digest: Option<Root>,

    /// Require a root digest that was signed with this key: a minisign public key, or a file that
    /// contains one.
    #[arg(long, help_heading = OPENING, value_name = "KEY", group = "word")]
    signed_by: Option<OsString>,

    /// The signature, as `sinter sign` writes it (default: the one in the image, else
    /// IMAGE.root.minisig, or for oci: one that `push` has attached).
    #[arg(
        long,
        help_heading = OPENING,
        value_name = "FILE",
        requires = "signed_by",
        conflicts_with = "digest"
    )]
    signature: Option<PathBuf>,

    /// A file with the digests of the image, as `sinter digest -o` writes it, if the image has
    /// none.
    #[arg(long, help_heading = OPENING, value_name = "FILE", requires = "word")]
    digest_file: Option<PathBuf>,
}

impl ProofArgs {
    /// Returns the proof that is required of the image.
    pub fn trust(&self) -> Option<Trust> {
        let anchor = match (self.digest, self.signed_by.clone()) {
            (Some(root), _) => Anchor::Digest(root),
            (None, Some(key)) => Anchor::Signature {
                key,
                signature: self.signature.clone(),
            },
            (None, None) => return None,
        };
        Some(Trust {
            anchor,
            digests: self.digest_file.clone(),
            image: None,
        })
    }
}

/// An offset, or `None` to find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetArg(pub Option<u64>);

fn offset(text: &str) -> std::result::Result<OffsetArg, String> {
    if text == "auto" {
        Ok(OffsetArg(None))
    } else {
        size::parse(text).map(|n| OffsetArg(Some(n)))
    }
}

impl ImageArgs {
    /// Opens the image, and prints its warnings.
    pub fn open(&self) -> Result<Image> {
        self.open_with(&self.options())
    }

    /// Opens the image, or an archive as if it were one, and prints its warnings.
    pub fn open_tree(&self) -> Result<Image> {
        self.open_tree_with(&self.options())
    }

    /// Does the same with options that were changed.
    pub fn open_tree_with(&self, options: &OpenOptions) -> Result<Image> {
        self.refuse_directory()?;
        Ok(self.opened_tree(sinterfs::open_tree(&self.image, options)?))
    }

    /// Opens the image or archive, but no pipe, with options that were changed.
    pub fn open_tree_file_with(&self, options: &OpenOptions) -> Result<Image> {
        self.refuse_directory()?;
        Ok(self.opened_tree(sinterfs::open_tree_file(&self.image, options)?))
    }

    /// Prints the warnings of what was opened.
    fn opened_tree(&self, opened: Image) -> Image {
        print_warnings(&opened, &self.image);
        // what a tree cannot hold, such as attributes, is no part of an archive that is missing
        let is_part = |warning: &Error| warning.kind() != Kind::Unsupported;
        let is_incomplete = if opened.is_archive() {
            opened.warnings().iter().any(is_part)
        } else {
            opened.is_incomplete()
        };
        if is_incomplete {
            exit::set_incomplete();
        }
        opened
    }

    /// Opens the image with options that were changed, and prints its warnings.
    pub fn open_with(&self, options: &OpenOptions) -> Result<Image> {
        self.refuse_directory()?;
        let opened = sinterfs::open_with(&self.image, options)?;
        print_warnings(&opened, &self.image);
        if opened.is_incomplete() {
            exit::set_incomplete();
        }
        Ok(opened)
    }

    /// Fails if the image is a directory, with what would make an image of it.
    fn refuse_directory(&self) -> Result<()> {
        if !self.image.is_dir() {
            return Ok(());
        }
        let shown = text::name(self.image.as_os_str().as_encoded_bytes());
        Err(Error::invalid(format!(
            "`{shown}` is a directory; `sinter build {shown} -o IMAGE` packs it"
        )))
    }

    /// Returns the options for opening the image.
    pub fn options(&self) -> OpenOptions {
        let default = OpenOptions::default().cache_bytes;
        OpenOptions {
            offset: self.offset.0,
            cache_bytes: self.cache_size.unwrap_or(default),
            devices: self.device.clone(),
            image: self.image_in_file.clone(),
            partition: self.partition,
            objects: self.objects.clone(),
            trust: self.trust.trust().map(Box::new),
            ..self.remote.open_options()
        }
    }
}

/// Fails if what has to be a file of this machine is a URL.
pub fn require_local(path: &Path) -> Result<()> {
    if !sinterfs::is_url(path) {
        return Ok(());
    }
    let what = "a URL, and this command needs a file: `sinter pull URL -o FILE` makes one";
    Err(Error::unsupported(what).path(sinterfs::shown(path)))
}

/// Prints what is wrong with an image that could be opened all the same.
pub fn print_warnings(opened: &Image, path: &Path) {
    for warning in opened.warnings() {
        let warning = warning.path(sinterfs::shown(path));
        text::warn(&crate::flags::message(&warning));
    }
}
