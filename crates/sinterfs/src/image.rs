//! Reading images: open one, look paths up, walk it, read its files.
//!
//! Enters an image file; leaves an [`Image`], which is cheap to clone and can be used by many
//! threads at once. Paths are relative to the image's root, with or without a leading slash;
//! symlinks are followed within the image only. **Invariant:** nothing here depends on a format.

#[cfg(feature = "write")]
pub(crate) mod container_config;
mod directory;
pub(crate) mod disk;
mod file;
mod metadata;
mod walk;

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::digest::Root;
use sinterfs_format::{Handle, StartFirst};
use sinterfs_model::{Error, Ino, Kind, Result};
use sinterfs_ops::{Follow, resolve};
use sinterfs_platform::names;

use crate::image::disk::ChosenPartition;

pub use crate::open_options::OpenOptions;
pub use directory::{Directory, Entries, Entry};
pub use file::File;
pub use metadata::Metadata;
pub use walk::Walk;

pub use sinterfs_block::cache::BlockCache;
pub use sinterfs_block::{FileSource, MemorySource, ReadAt};
pub use sinterfs_format::{DAMAGE, InfoRows, InfoValue};
pub use sinterfs_model::{FileType, Limits, Rdev, Time, Times};

/// An opened image.
///
/// Clones share the image and its cache of decoded blocks.
#[derive(Clone)]
pub struct Image(Arc<Inner>);

struct Inner {
    format: &'static str,
    handle: Box<dyn Handle>,
    /// The root digest with which all that is read was compared.
    root: Option<Root>,
    /// The trusted comment of the signature.
    comment: Option<String>,
    /// The disk, if the image is in a partition of one.
    disk: Option<ChosenPartition>,
    /// The program before the image, if it is one that carries images.
    carrier: Option<&'static str>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("format", &self.0.format)
            .finish_non_exhaustive()
    }
}

/// Files and directories.
impl Image {
    /// Returns the root directory.
    pub fn root(&self) -> Directory {
        let image = self.raw();
        Directory::new(Arc::clone(image), image.info().root, PathBuf::new())
    }

    /// Returns a directory.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist, `Invalid` for one that is no directory.
    pub fn directory(&self, path: impl AsRef<Path>) -> Result<Directory> {
        let path = path.as_ref();
        let ino = self.find(path, Follow::All)?;
        if self.raw().inode(ino)?.kind != FileType::Directory {
            return Err(Error::invalid("not a directory").path(path));
        }
        Ok(Directory::new(Arc::clone(self.raw()), ino, relative(path)))
    }

    /// Lists a directory, in bytewise order of names.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist, `Invalid` for one that is no directory.
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<Entries> {
        let path = path.as_ref();
        let ino = self.find(path, Follow::All)?;
        let directory = Directory::new(Arc::clone(self.raw()), ino, relative(path));
        directory.entries().map_err(|error| error.path(path))
    }

    /// Visits everything below the root, a directory before its entries, in bytewise order of names
    /// within each directory. Symlinks are not followed.
    pub fn walk(&self) -> Walk {
        self.walk_from(self.root())
    }

    /// Visits everything below a directory, as [`Image::walk`] does.
    ///
    /// # Errors
    /// As [`Image::directory`].
    pub fn walk_below(&self, path: impl AsRef<Path>) -> Result<Walk> {
        Ok(self.walk_from(self.directory(path)?))
    }

    fn walk_from(&self, directory: Directory) -> Walk {
        Walk::new(directory, self.raw().info().totals.inodes)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist, `Invalid` for one that is no file.
    pub fn file(&self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        let ino = self.find(path, Follow::All)?;
        File::open(Arc::clone(self.raw()), ino).map_err(|error| error.path(path))
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    /// As [`Image::file`], and errors of reading: `Corrupt` for a block that is damaged.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        let path = path.as_ref();
        let content = self.file(path)?.read_all();
        content.map_err(|error| error.path(path))
    }

    /// Returns the metadata of a path; symlinks are followed.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist.
    pub fn metadata(&self, path: impl AsRef<Path>) -> Result<Metadata> {
        self.stat(path.as_ref(), Follow::All)
    }

    /// Returns the metadata of a path without following a final symlink.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist.
    pub fn symlink_metadata(&self, path: impl AsRef<Path>) -> Result<Metadata> {
        self.stat(path.as_ref(), Follow::Parents)
    }

    /// Returns the stored target of a symlink.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist, `Invalid` for one that is no symlink.
    pub fn read_link(&self, path: impl AsRef<Path>) -> Result<PathBuf> {
        let path = path.as_ref();
        let ino = self.find(path, Follow::Parents)?;
        let target = self.raw().read_link(ino);
        let target = target.map_err(|error| error.path(path))?;
        Ok(names::path_buf(target))
    }

    /// Returns the extended attributes of a path without following a final symlink: full names
    /// (`user.x`) and values, sorted by name.
    ///
    /// # Errors
    /// `NotFound` for a path that does not exist.
    pub fn xattrs(&self, path: impl AsRef<Path>) -> Result<Vec<(OsString, Vec<u8>)>> {
        let path = path.as_ref();
        let ino = self.find(path, Follow::Parents)?;
        let xattrs = self.raw().xattrs(ino).map_err(|error| error.path(path))?;
        let xattrs = xattrs.into_iter();
        Ok(xattrs
            .map(|(name, value)| (names::os_string(name), value))
            .collect())
    }

    fn stat(&self, path: &Path, follow: Follow) -> Result<Metadata> {
        let ino = self.find(path, follow)?;
        let inode = self.raw().inode(ino).map_err(|error| error.path(path))?;
        Ok(Metadata::new(inode))
    }

    fn find(&self, path: &Path, follow: Follow) -> Result<Ino> {
        resolve(&**self.raw(), &names::bytes(path), follow)
    }
}

/// The image as a whole.
impl Image {
    /// Wraps an image that a format has opened.
    pub(crate) fn new(
        format: &'static str,
        handle: Box<dyn Handle>,
        root: Option<Root>,
        comment: Option<String>,
        disk: Option<ChosenPartition>,
        carrier: Option<&'static str>,
    ) -> Self {
        Self(Arc::new(Inner {
            format,
            handle,
            root,
            comment,
            disk,
            carrier,
        }))
    }

    /// Returns the name of the format.
    pub fn format(&self) -> &'static str {
        self.0.format
    }

    /// Returns the image as the functions of [`crate::ops`] and [`crate::mount`] take it: inodes by
    /// number.
    pub fn raw(&self) -> &Arc<dyn sinterfs_model::Image> {
        self.0.handle.image()
    }

    /// Returns the root digest with which all that is read is compared, if the image was opened
    /// with a [`crate::verify::Trust`].
    pub fn verified_root(&self) -> Option<Root> {
        self.0.root
    }

    /// Returns information about the image, as rows for people and programs. What is damaged and
    /// does not keep the rest from being shown is in the row [`DAMAGE`].
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata.
    pub fn info(&self) -> Result<InfoRows> {
        let mut rows = self.0.handle.details()?;
        if let Some(root) = self.0.root {
            let at = rows.len().min(3);
            rows.insert(at, ("verified digest".to_owned(), root.to_string().into()));
            let comment = self.0.comment.as_deref();
            rows.extend(comment.map(|comment| ("signed".to_owned(), comment.into())));
        }
        rows.extend(self.0.disk.iter().flat_map(ChosenPartition::rows));
        let carrier = self.0.carrier;
        rows.extend(carrier.map(|carrier| ("in a program".to_owned(), carrier.into())));
        let damage = self.0.handle.damage();
        if !damage.is_empty() && !rows.iter().any(|(name, _)| name == DAMAGE) {
            let damage = damage.iter().map(|error| error.to_string().into());
            rows.push((DAMAGE.to_owned(), InfoValue::List(damage.collect())));
        }
        Ok(rows)
    }

    /// Returns facts about how an inode is stored, with the places of its content and the entries
    /// of a directory; `None` where the format shows none. By now that is only EROFS.
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata.
    pub fn inode_info(&self, ino: Ino) -> Result<Option<InfoRows>> {
        self.0
            .handle
            .inode_facts()
            .map(|facts| facts.inode_details(ino))
            .transpose()
    }

    /// Returns damage to parts of the image that are not needed to read it, and which partition was
    /// opened where none was named.
    pub fn warnings(&self) -> Vec<Error> {
        let notes = self.0.disk.iter().flat_map(ChosenPartition::notes);
        let mut warnings: Vec<Error> = notes.map(Error::invalid).collect();
        warnings.extend(self.0.handle.warnings());
        warnings
    }

    /// Returns whether some of the warnings are about what is damaged and cannot be read.
    pub fn is_incomplete(&self) -> bool {
        let harmless = self.0.handle.damage().len();
        let mut others = self.0.handle.warnings().into_iter().skip(harmless);
        others.any(|warning| warning.kind() != Kind::Unsupported)
    }

    /// Raises the capacity of the cache to two decoded blocks of this image, at most 1 GiB, if it
    /// is less: a block that is evicted while it is decoded would be decoded anew by each read. An
    /// image that does not share its cache has room for them anyway.
    pub fn reserve_cache(&self) {
        let cache = self.0.handle.cache();
        let block = self.raw().info().totals.block_size;
        let least = block.saturating_mul(2).min(1 << 30);
        if cache.capacity() < least {
            cache.set_capacity(least);
        }
    }

    /// Lets idle processors decode ahead of readers that wait often: for an image that is served.
    pub fn decode_ahead(&self) {
        self.0.handle.decode_ahead();
    }

    /// Returns the ranges of the file that a start needs first, if the image names them (`--hot`).
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata.
    pub fn start_ranges(&self) -> Result<Vec<Range<u64>>> {
        let start = self.0.handle.start_first();
        start.map_or(Ok(Vec::new()), StartFirst::start_ranges)
    }

    /// Decodes the blocks of a category of content (`hotness` for a hot list) into the cache,
    /// and returns how many there are.
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata or a damaged block.
    pub fn preload(&self, category: &str) -> Result<u64> {
        let handle = self.0.handle.start_first();
        handle.map_or(Ok(0), |handle| handle.preload(category))
    }

    /// Has these fetched at once, if the image is remote.
    ///
    /// # Errors
    /// As of [`Self::start_ranges`].
    pub fn announce_start(&self) -> Result<()> {
        let start = self.0.handle.start_first();
        start.map_or(Ok(()), StartFirst::announce_start)
    }

    /// Measures the use of space in the image. What cannot be read goes to `unread`.
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata.
    pub fn usage(&self, unread: &mut sinterfs_ops::Unread) -> Result<sinterfs_ops::Usage> {
        let show = |of, visit: &mut dyn FnMut(sinterfs_ops::StoredBlock<'_>)| {
            self.0.handle.stored_blocks(of, visit)
        };
        sinterfs_ops::usage(&**self.raw(), &show, unread)
    }

    /// Measures directories: what they have, and what of it they take in the image. The rows are
    /// shown in the order of the tree. What cannot be read goes to `unread`.
    ///
    /// # Errors
    /// `Corrupt` for damaged metadata.
    pub fn disk_usage(
        &self,
        options: &sinterfs_ops::DuOptions,
        unread: &mut sinterfs_ops::Unread,
        visit: &mut dyn FnMut(sinterfs_ops::DuRow) -> Result<()>,
    ) -> Result<()> {
        let show = |of, visit: &mut dyn FnMut(sinterfs_ops::StoredBlock<'_>)| {
            self.0.handle.stored_blocks(of, visit)
        };
        sinterfs_ops::disk_usage(&**self.raw(), &show, options, unread, visit)
    }

    /// Writes all structures as text. What cannot be read goes to `unread`.
    ///
    /// # Errors
    /// Errors of writing and of the system.
    pub fn dump(&self, out: &mut dyn Write, unread: &mut sinterfs_ops::Unread) -> Result<()> {
        let dumped = match self.0.handle.dump(out) {
            Err(error) if !error.is_about_image() => return Err(error),
            dumped => dumped,
        };
        sinterfs_ops::survey(&**self.raw(), unread)?;
        match dumped {
            // in what has no path
            Err(error) if unread.is_empty() => unread.note(b"", error),
            _ => Ok(()),
        }
    }

    /// Returns the capabilities of the format.
    #[cfg(any(feature = "write", all(feature = "mount", target_os = "linux")))]
    pub(crate) fn handle(&self) -> &dyn Handle {
        &*self.0.handle
    }
}

impl From<&Image> for Arc<dyn sinterfs_model::Image> {
    fn from(image: &Image) -> Self {
        Arc::clone(image.raw())
    }
}

/// Returns a path as entries have it: without a leading slash.
fn relative(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}
