//! The formats, one row each: how an image is recognised, opened and created.
//!
//! **Invariant:** outside this file and its rows nobody names a format. A new format is a crate and a
//! row here.

mod dwarfs;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use block::ReadAt;
use block::codec::Encoding;
use model::{Error, Image, ImageWriter, Observer, Result};

use crate::check::{CheckReport, Depth};
use crate::details::Details;
use crate::open::OpenOptions;

/// How sure a format is that an image is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bid {
    /// Not its own.
    No,
    /// Its own, behind something else.
    Behind,
    /// Its own from the first byte on.
    Certain,
}

/// One format: what the facade asks of it.
pub trait Format: Sync {
    /// Tells the name for `--format`.
    fn name(&self) -> &'static str;
    /// Tells the extensions of image files, without the dot.
    fn extensions(&self) -> &'static [&'static str];
    /// Tells how sure the format is that an image is its own.
    fn bid(&self, source: &dyn ReadAt, options: &OpenOptions) -> Result<Bid>;
    /// Opens an image.
    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>>;
    /// Verifies an image's own checksums and structure, with `deep` every block.
    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        depth: Depth,
        observer: &dyn Observer,
    ) -> Result<CheckReport>;
    /// Creates an image.
    fn create(
        &self,
        out: Box<dyn Write + Send>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>>;
}

/// How an image is created; each format takes what it has a use for.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    /// Bytes of a block as a power of two.
    pub block_bits: u8,
    /// The compression of blocks.
    pub compression: Encoding,
    /// The compression of metadata.
    pub metadata_compression: Encoding,
    /// The unit of times in nanoseconds.
    pub time_resolution: u64,
    /// Whether times of access and of inode change are kept.
    pub keep_all_times: bool,
    /// The time of creation, in seconds since 1970.
    pub create_timestamp: Option<u64>,
    /// The settings in words, if the image is to tell them.
    pub history: Option<Vec<String>>,
    /// Whether the image has an index of its sections.
    pub section_index: bool,
}

/// What a format can do with an opened image besides reading it.
pub trait Handle: Send + Sync {
    /// Gives the image.
    fn image(&self) -> &Arc<dyn Image>;
    /// Tells what is known of the image.
    fn details(&self) -> Result<Details>;
    /// Writes all structures as text.
    fn dump(&self, out: &mut dyn Write) -> Result<()>;
}

/// All formats; the first is the default.
pub const FORMATS: &[&dyn Format] = &[&dwarfs::DwarfsFormat];

/// Extensions that promise a format which is not written: better refused than disappointed.
const FOREIGN: &[&str] = &[
    "squashfs", "sqfs", "sfs", "snap", "erofs", "cramfs", "iso", "wim", "esd", "cpio", "tar", "zip",
];

/// Finds the format of a new image: by name, else by the extension, else the default.
pub fn for_output(name: Option<&str>, output: Option<&Path>) -> Result<&'static dyn Format> {
    if let Some(name) = name {
        return FORMATS
            .iter()
            .copied()
            .find(|format| format.name() == name)
            .ok_or_else(|| {
                Error::invalid(format!(
                    "unknown format `{name}`; the formats are {}",
                    names()
                ))
            });
    }
    let extension = output
        .and_then(Path::extension)
        .and_then(|extension| extension.to_str());
    let named = extension.and_then(|e| FORMATS.iter().find(|f| f.extensions().contains(&e)));
    match (named, extension) {
        (None, Some(promised)) if FOREIGN.contains(&promised) => Err(Error::unsupported(format!(
            "an image named .{promised} would not be what its name says; the formats are {} \
             (--format {} writes it all the same)",
            names(),
            FORMATS[0].name()
        ))),
        _ => Ok(*named.unwrap_or(&FORMATS[0])),
    }
}

/// Finds the format of an image by who bids most.
pub fn for_image(source: &dyn ReadAt, options: &OpenOptions) -> Result<&'static dyn Format> {
    let mut best = (Bid::No, None);
    for &format in FORMATS {
        let bid = format.bid(source, options)?;
        if bid > best.0 {
            best = (bid, Some(format));
        }
    }
    best.1
        .ok_or_else(|| Error::unsupported(format!("not an image of a known format ({})", names())))
}

fn names() -> String {
    FORMATS
        .iter()
        .map(|format| format.name())
        .collect::<Vec<_>>()
        .join(", ")
}
