//! The requested input of a build, and its kind by content.

use std::path::{Path, PathBuf};

use sinterfs_model::Result;
use sinterfs_source::merge::WhiteoutMarks;

use crate::open::detect::What;
use crate::open_options::OpenOptions;

/// The input.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one a build, and its options are built in place"
)]
pub enum Input {
    /// The tree below a directory.
    Directory(PathBuf),
    /// The members of an archive, compressed or not; `-` is standard input.
    Archive(PathBuf),
    /// The files that a list (mtree) names, with content in other places.
    Manifest(PathBuf),
    /// The files of a composefs-dump(5).
    Dump {
        /// The dump; `-` is standard input.
        path: PathBuf,
        /// The store of objects with the content of files.
        objects: Option<PathBuf>,
    },
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
        /// For layers, which hide entries of lower ones silently; `None` for trees that only happen
        /// to meet.
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
            | Self::Dump { path, .. }
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
    /// The marks of names of lower layers that are removed.
    pub whiteouts: Whiteouts,
    /// Which image of a layout of several is taken: `os/architecture`.
    pub platform: Option<String>,
    /// Whether archives of container images (`docker save`) are replaced by their layers.
    pub unpack: bool,
}

/// The marks of names of lower layers that are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
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

/// One of several trees.
#[derive(Debug, Clone)]
pub struct MergePart {
    /// A directory, an archive or an image file.
    pub path: PathBuf,
    /// Where its root goes: names with slashes between them, none for the common root.
    pub at: Vec<u8>,
    /// Of a directory, the names in it that alone are taken, each as it is, and the path of each in
    /// the common tree; if empty, everything.
    pub picks: Vec<(Vec<u8>, Vec<u8>)>,
}

impl MergePart {
    /// Takes everything of a source; its root goes to a path.
    pub fn whole(path: impl Into<PathBuf>, at: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            at: at.into(),
            picks: Vec::new(),
        }
    }
}

impl Input {
    /// Stacks the trees of several paths, the lowest first.
    pub fn layers(paths: Vec<PathBuf>, layering: Layering) -> Self {
        let part = |path| MergePart::whole(path, Vec::new());
        Self::Merge {
            parts: paths.into_iter().map(part).collect(),
            layers: Some(layering),
            cache_bytes: OpenOptions::default().cache_bytes,
        }
    }
}

impl Whiteouts {
    /// Returns the marks of a source.
    pub(super) fn marks(self, what: What) -> WhiteoutMarks {
        let (names, overlay) = match self {
            Self::Auto => (
                matches!(what, What::Archive | What::Layout | What::Registry),
                true,
            ),
            Self::Oci => (true, false),
            Self::Overlayfs => (false, true),
            Self::All => (true, true),
            Self::None => (false, false),
        };
        WhiteoutMarks { names, overlay }
    }
}

impl Input {
    /// Detects the kind of a file; `options` apply to an image.
    ///
    /// # Errors
    /// `Io` if it does not exist or cannot be read, `Invalid` for options of images where it is
    /// none.
    pub fn of(path: &Path, options: &OpenOptions) -> Result<Self> {
        let path = path.to_owned();
        let what = What::of(&path, options)?;
        what.check(&path, options)?;
        Ok(match what {
            What::Directory => Self::Directory(path),
            What::Layout | What::Registry => Self::layers(vec![path], Layering::default()),
            What::Archive => Self::Archive(path),
            What::Manifest => Self::Manifest(path),
            What::Image => Self::Image {
                path,
                options: options.clone(),
            },
        })
    }
}
