//! The formats, one row each: how an image is recognised, opened and created.
//!
//! **Invariant:** outside this file and its rows nobody names a format. A new format is a crate and a
//! row here.

mod asked;
pub(crate) mod composefs;
mod dwarfs;
mod erofs;
mod squashfs;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::codec::Encoding;
use sinterfs_block::digest::Digests;
use sinterfs_block::{Bytes, ReadAt, Sink};
use sinterfs_model::{
    ContentMap, Error, Image, ImageWriter, Ino, Loss, Observer, Result, Summary, Tails, Tree,
};
use sinterfs_ops::StoredBlock;
use sinterfs_pipeline::Categorizers;

use crate::verify::check::{CheckReport, Depth};

use crate::info::Details;
use crate::open::OpenOptions;
use crate::write::levels::Level;

pub use asked::Asked;
pub use dwarfs::FormerRuns;
pub(crate) use erofs::Store;

/// How sure a format is that an image is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bid {
    /// Not its own.
    No,
    /// Its own, behind so many bytes of something else.
    Behind(u64),
    /// Its own from the first byte on.
    Certain,
}

impl Bid {
    /// Returns whether this is better: of images behind something else, the one that starts first can
    /// hold the others, not the reverse.
    fn beats(self, other: Self) -> bool {
        match (self, other) {
            (Self::No, _) | (_, Self::Certain) => false,
            (_, Self::No) | (Self::Certain, _) => true,
            (Self::Behind(this), Self::Behind(that)) => this < that,
        }
    }
}

/// One format: what the facade asks of it.
pub trait Format: Sync {
    /// Returns the name for `--format`.
    fn name(&self) -> &'static str;
    /// Returns the extensions of image files, without the dot.
    fn extensions(&self) -> &'static [&'static str];
    /// Returns how sure the format is that an image is its own.
    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid>;
    /// Reads the digests that an image has of its own bytes; nothing of them is trusted.
    fn digest(&self, _: &Arc<dyn ReadAt>, _: &OpenOptions) -> Result<Option<OwnDigests>> {
        Ok(None)
    }
    /// Writes an image, with what stands before it, anew with a signature in it.
    fn sign(&self, _: &Arc<dyn ReadAt>, _: &str, _: &mut dyn Write) -> Result<()> {
        let what = format!("{} images hold no signatures", self.name());
        Err(Error::unsupported(what))
    }
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
    /// Returns what a level from 0 to 9 means for such a volume; higher numbers mean 9.
    fn level(&self, level: u8, volume: &VolumeOptions) -> Result<&'static Level>;
    /// Returns what kinds of content are told apart unless something else is asked for.
    fn categorizers(&self) -> Categorizers {
        Categorizers::ALL
    }
    /// Returns whether an option that is no matter of course means something for new images.
    fn knows(&self, option: Asked) -> bool;
    /// Returns whether the beginning of an image is written last.
    fn patches(&self) -> bool;
    /// Creates an image; `blob` takes its content if that was asked for, which `knows` says.
    fn create(
        &self,
        out: Box<dyn Sink>,
        blob: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>>;
}

/// What an image says of its own bytes.
#[derive(Debug)]
pub struct OwnDigests {
    /// Where in the source the bytes begin.
    pub start: u64,
    /// Their digests.
    pub digests: Digests,
    /// A signature of the root, or why it cannot be read.
    pub signature: Option<Result<Bytes>>,
}

/// A device of its own for the content of an image.
pub struct Blob {
    /// What the image calls it.
    pub name: std::ffi::OsString,
    /// Where it goes.
    pub sink: Box<dyn Sink>,
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Blob");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

/// How an image is created: what all formats have a use for, and what some have.
#[derive(Debug, Clone)]
pub struct CreateOptions {
    /// The compression of blocks, in the format's words.
    pub compression: String,
    /// Bytes of a block: a power of two.
    pub block_size: u64,
    /// The time of creation, in seconds since 1970.
    pub create_timestamp: Option<u64>,
    /// Threads that may encode metadata.
    pub threads: usize,
    /// Whether equal files are stored once.
    pub duplicates: bool,
    /// For formats whose blocks hold many files.
    pub solid: SolidOptions,
    /// For formats that cut each file for itself.
    pub per_file: PerFileOptions,
    /// For formats whose images are volumes.
    pub volume: VolumeOptions,
}

/// How an image is created whose blocks hold many files.
#[derive(Debug, Clone)]
pub struct SolidOptions {
    /// The compression of blocks of some categories, by name; the first that names one counts.
    pub by_category: Vec<(String, Encoding)>,
    /// The level of FLAC for audio, if audio and images have codecs of their own.
    pub flac_level: Option<u32>,
    /// The compression of what looks incompressible.
    pub incompressible: Encoding,
    /// The compression of what is needed first, if it is another than that of all else.
    pub hot: Option<Encoding>,
    /// The compression of metadata.
    pub metadata_compression: Encoding,
    /// The unit of times in nanoseconds.
    pub time_resolution: u64,
    /// Whether times of access and of inode change are kept.
    pub keep_all_times: bool,
    /// The settings in words, if the image is to tell them.
    pub history: Option<Vec<String>>,
    /// The runs that made the image that is read, for the history.
    pub former: FormerRuns,
    /// Which tables of the metadata are packed, in the format's words; `None` means all.
    pub packing: Option<String>,
    /// Whether the image has an index of its sections.
    pub section_index: bool,
    /// Whether it has digests of all its bytes.
    pub digest: bool,
}

/// How an image is created whose files are cut each for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerFileOptions {
    /// What becomes of the ends of files; `None` means what the format's users expect.
    pub tails: Option<Tails>,
    /// What is stored without compression, in the format's words.
    pub raw: Option<String>,
    /// Bytes of chunks that are stored once wherever they are equal.
    pub chunk_size: Option<u64>,
    /// Whether blocks of zeros are data.
    pub no_holes: bool,
    /// Whether extended attributes are left out.
    pub no_xattrs: bool,
    /// What names of extended attributes begin with.
    pub xattr_prefixes: Vec<String>,
    /// Whether the table of all inodes is left out.
    pub no_export: bool,
    /// Whether the image ends where its content ends.
    pub no_padding: bool,
}

/// What an image tells as a volume, and to whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeOptions {
    /// Its UUID; `None` means one made of its content.
    pub uuid: Option<String>,
    /// Its name.
    pub label: Option<String>,
    /// The oldest version of Linux that is to mount it.
    pub target_kernel: Option<String>,
    /// What more the format can do, in its words.
    pub extended: Option<String>,
}

/// What a format can do with an opened image besides reading it.
pub trait Handle: Send + Sync {
    /// Returns the image.
    fn image(&self) -> &Arc<dyn Image>;
    /// Returns what is known of the image.
    fn details(&self) -> Result<Details>;
    /// Writes all structures as text.
    fn dump(&self, out: &mut dyn Write) -> Result<()>;
    /// Returns where the image begins in its file, in bytes.
    fn offset(&self) -> u64;
    /// Returns what the image holds besides what `Image` shows: it is lost where metadata is made
    /// anew.
    fn untold(&self) -> Result<Vec<Loss>> {
        Ok(Vec::new())
    }
    /// Returns what is wrong with parts of the image without which it can be read, too.
    fn warnings(&self) -> Vec<Error> {
        Vec::new()
    }
    /// Returns the cache of decoded blocks.
    fn cache(&self) -> &Arc<BlockCache>;
    /// Makes other processors decode ahead of whoever waits much for it.
    fn decode_ahead(&self) {
        self.cache().decode_ahead(None);
    }
    /// Returns how many bytes all decoded blocks may take.
    fn decoded_bytes(&self) -> u64;
    /// Shows blocks as they are stored: for `None` all, if the format knows them at once; for a file
    /// those that it refers to, if the format knows them by files only.
    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()>;
    /// Returns the runs that made the image.
    fn former_runs(&self) -> Result<FormerRuns> {
        Ok(FormerRuns::default())
    }
    /// Creates another image on the blocks that this one has, whose files have their content where the
    /// map says; the path is for messages.
    fn create_on(
        &self,
        _: Box<dyn Sink>,
        _: &CreateOptions,
        _: ContentMap,
        _: &Path,
    ) -> Result<Box<dyn ImageWriter>> {
        let format = self.image().info().format;
        Err(Error::unsupported(format!(
            "no image is built on one of {format}: only DwarFS keeps content in blocks that any file may \
             refer to"
        )))
    }
    /// Writes the image anew around the content that it has.
    fn rewrite(
        &self,
        _: Box<dyn Write + Send>,
        _: &RewriteOptions<'_>,
        _: &dyn Observer,
    ) -> Result<Rewritten> {
        let format = self.image().info().format;
        Err(Error::unsupported(format!(
            "{format} images are not written anew around their blocks; --rebuild cuts all content anew"
        )))
    }
}

/// How an image is written anew around the content that it has.
#[derive(Debug, Clone)]
pub struct RewriteOptions<'a> {
    /// The compression of blocks; `None` leaves them as they are.
    pub compression: Option<Encoding>,
    /// The compression of blocks of some categories.
    pub by_category: Vec<(String, Encoding)>,
    /// The categories whose blocks may change, or, if true, all but these.
    pub selection: Option<(Vec<String>, bool)>,
    /// Whether a block stays as it is where it would not become smaller.
    pub keep_smaller: bool,
    /// What becomes of the metadata.
    pub metadata: MetadataPlan<'a>,
    /// What is written around the blocks.
    pub create: CreateOptions,
    /// Threads that work.
    pub threads: usize,
}

/// What becomes of the metadata of an image that is written anew.
#[derive(Debug, Clone, Copy)]
pub enum MetadataPlan<'a> {
    /// It stays as it is stored.
    Keep,
    /// It is compressed anew.
    Encode,
    /// It is made anew of the tree, whose content is where the map says.
    Rebuild(&'a Tree, &'a ContentMap),
}

/// An image that was written anew.
#[derive(Debug, Clone, Default)]
pub struct Rewritten {
    /// The new image.
    pub image: Summary,
    /// Blocks that were compressed anew.
    pub recoded: u64,
}

/// What is told apart where a block holds one file or a fragment. What looks incompressible is tried
/// all the same: a SquashFS image of a desktop is 1.5 % smaller with zstd 3.
const CODE_AND_TEXT: Categorizers = Categorizers {
    code: true,
    text: true,
    ..Categorizers::NONE
};

/// All formats; the first is the default.
pub const FORMATS: &[&dyn Format] = &[
    &dwarfs::DwarfsFormat,
    &squashfs::SquashfsFormat,
    &erofs::ErofsFormat,
];

/// Extensions that promise a format which is not written: better refused than disappointed.
const FOREIGN: &[&str] = &["cramfs", "iso", "wim", "esd", "cpio", "tar", "zip"];

/// Finds a format by its name.
pub fn by_name(name: &str) -> Result<&'static dyn Format> {
    let found = FORMATS.iter().copied().find(|f| f.name() == name);
    found.ok_or_else(|| {
        Error::invalid(format!(
            "unknown format `{name}`; the formats are {}, {}",
            names(),
            composefs::NAME
        ))
    })
}

/// Finds the format of a new image: by name, else by the extension, else the default.
pub fn for_output(name: Option<&str>, output: Option<&Path>) -> Result<&'static dyn Format> {
    if let Some(name) = name {
        return by_name(name);
    }
    let extension = output
        .and_then(Path::extension)
        .and_then(|extension| extension.to_str());
    let named = extension.and_then(|e| FORMATS.iter().find(|f| f.extensions().contains(&e)));
    match (named, extension) {
        (None, Some(promised)) if FOREIGN.contains(&promised) => Err(Error::unsupported(format!(
            "an image named .{promised} would not be what its name says; the formats are {}, {} \
             (--format {} writes it all the same)",
            names(),
            composefs::NAME,
            FORMATS[0].name()
        ))),
        _ => Ok(*named.unwrap_or(&FORMATS[0])),
    }
}

/// Finds the format of an image by who bids most. Only where no format knows the first bytes is the
/// whole file searched.
pub fn for_image(source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<&'static dyn Format> {
    let here = OpenOptions {
        offset: Some(options.offset.unwrap_or(0)),
        ..options.clone()
    };
    for &format in FORMATS {
        if format.bid(source, &here)? == Bid::Certain {
            return Ok(format);
        }
    }
    let mut best = (Bid::No, None);
    for &format in FORMATS {
        let bid = format.bid(source, options)?;
        if bid.beats(best.0) {
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
