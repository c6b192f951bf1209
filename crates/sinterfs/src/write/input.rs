//! What a build reads: a directory, an archive, an image, or several of these as one.
//!
//! Enters paths; leaves what each of them is (`Input`), and a source for the pipeline (`OpenInput`).
//! **Invariant:** what a path names is told by its content, never by its name.

mod docker_archive;
mod images;
mod oci;
mod open;
mod stack;

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Result};
use sinterfs_pipeline::source::merge::WhiteoutMarks;
use sinterfs_pipeline::source::{archive, manifest};

use crate::open::OpenOptions;

pub(crate) use images::{open_cached, shared_cache};
pub(crate) use open::{OpenInput, Request};

/// An empty tar is zeros up to this many bytes: GNU tar fills a record of 20 blocks.
const EMPTY_TAR: u64 = 1 << 20;

/// What is packed.
#[derive(Debug, Clone)]
pub enum Input {
    /// The tree below a directory.
    Directory(PathBuf),
    /// The members of an archive, compressed or not; `-` is standard input.
    Archive(PathBuf),
    /// The files that a list (mtree) names, with content that lies elsewhere.
    Manifest(PathBuf),
    /// The files of a composefs-dump(5); `-` is standard input.
    Dump(PathBuf),
    /// The tree in an image.
    Image {
        /// The image file.
        path: PathBuf,
        /// How it is opened.
        options: OpenOptions,
    },
    /// The trees of several of these, later ones on top of earlier ones.
    Merge {
        /// Where each comes from and where it goes.
        parts: Vec<MergePart>,
        /// For layers, that hide what is below them without telling; `None` for trees that only happen to
        /// meet.
        layers: Option<Layering>,
        /// Bytes that decoded blocks of all images may take.
        cache_bytes: u64,
    },
}

impl Input {
    /// Returns the files and directories that are read.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Directory(path)
            | Self::Archive(path)
            | Self::Manifest(path)
            | Self::Dump(path)
            | Self::Image { path, .. } => vec![path],
            Self::Merge { parts, .. } => parts.iter().map(|part| part.path.as_path()).collect(),
        }
    }
}

/// Where the content is that lists of files name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManifestOptions {
    /// The directory that paths are in; `None` means that of each list.
    pub root: Option<PathBuf>,
    /// Whether paths may lead out of it.
    pub anywhere: bool,
}

/// How sources become layers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layering {
    /// What marks names of lower layers that are gone.
    pub whiteouts: Whiteouts,
    /// Which image of a layout of several is taken: `os/architecture`.
    pub platform: Option<String>,
    /// Whether archives of container images (`docker save`) stand for the layers in them.
    pub unpack: bool,
}

/// What marks names of lower layers that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Whiteouts {
    /// In archives both kinds, in directories and images those of overlayfs.
    #[default]
    Auto,
    /// Names that begin with `.wh.`.
    Oci,
    /// Character devices 0/0, and attributes of opaque directories.
    Overlayfs,
    /// Both kinds everywhere.
    All,
    /// Nothing: names and devices stay as they are.
    None,
}

impl Whiteouts {
    /// Returns the marks of a source.
    fn marks(self, what: What) -> WhiteoutMarks {
        let (names, overlay) = match self {
            Self::Auto => (matches!(what, What::Archive | What::Layout), true),
            Self::Oci => (true, false),
            Self::Overlayfs => (false, true),
            Self::All => (true, true),
            Self::None => (false, false),
        };
        WhiteoutMarks { names, overlay }
    }
}

/// One of several trees.
#[derive(Debug, Clone)]
pub struct MergePart {
    /// A directory, an archive or an image file.
    pub path: PathBuf,
    /// Where its root goes: names with slashes between them, none for the common root.
    pub at: Vec<u8>,
}

impl Input {
    /// Finds out what a path names; `options` are for an image.
    ///
    /// # Errors
    /// `Io` for what is not there or can't be read.
    pub fn of(path: &Path, options: &OpenOptions) -> Result<Self> {
        let path = path.to_owned();
        Ok(match What::of(&path, options)? {
            What::Directory => Self::Directory(path),
            What::Layout => Self::layers(vec![path], Layering::default()),
            What::Archive => Self::Archive(path),
            What::Manifest => Self::Manifest(path),
            What::Image => Self::Image {
                path,
                options: options.clone(),
            },
        })
    }

    /// Stacks what several paths name, the lowest first.
    pub fn layers(paths: Vec<PathBuf>, layering: Layering) -> Self {
        let part = |path| MergePart {
            path,
            at: Vec::new(),
        };
        Self::Merge {
            parts: paths.into_iter().map(part).collect(),
            layers: Some(layering),
            cache_bytes: OpenOptions::default().cache_bytes,
        }
    }
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Directory,
    /// A directory with images as OCI lays them out.
    Layout,
    Archive,
    /// A list of files.
    Manifest,
    Image,
}

impl What {
    pub(crate) fn of(path: &Path, options: &OpenOptions) -> Result<Self> {
        if options.proof.is_some() {
            // nothing else has a digest to keep to: it is refused when it is opened
            return Ok(Self::Image);
        }
        if path.as_os_str() == "-" {
            return Ok(Self::Archive);
        }
        let failed = |error| Error::io("cannot read the source", error).path(path);
        let status = std::fs::metadata(path).map_err(failed)?;
        let kind = status.file_type();
        if kind.is_dir() {
            return Ok(match oci::is_layout(path) {
                true => Self::Layout,
                false => Self::Directory,
            });
        }
        if !(kind.is_file() || kind.is_block_device()) {
            // nothing can be looked at twice in a pipe, as images are
            return Ok(Self::Archive);
        }
        if options.offset.is_some() {
            return Ok(Self::Image);
        }
        let file = File::open(path).map_err(failed)?;
        let start = start(&file, archive::START as u64).map_err(failed)?;
        if archive::is_archive(&start) {
            return Ok(Self::Archive);
        }
        if manifest::is_mtree(&start) {
            return Ok(Self::Manifest);
        }
        let may_be_empty = (1024..=EMPTY_TAR).contains(&status.len())
            && status.len().is_multiple_of(archive::START as u64);
        if may_be_empty
            && is_zero(&start)
            && is_zero(&self::start(&file, EMPTY_TAR).map_err(failed)?)
        {
            return Ok(Self::Archive);
        }
        Ok(Self::Image)
    }
}

/// Reads the first bytes of a file.
fn start(file: &File, most: u64) -> std::io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    let len = match len {
        // a device tells no length
        0 => most,
        len => len.min(most),
    };
    let mut start = vec![0; usize::try_from(len).unwrap_or_default()];
    let mut done = 0;
    while let Some(rest) = start.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    start.truncate(done);
    Ok(start)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
