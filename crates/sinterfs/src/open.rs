//! Opening an image file: its format is found, the image validated and ready to serve.

#[cfg(feature = "write")]
mod archive_image;
#[cfg(feature = "write")]
pub(crate) mod detect;
pub(crate) mod reader_options;
pub(crate) mod shared_options;
pub(crate) mod signature;
pub(crate) mod trusted_source;

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
#[cfg(feature = "write")]
use sinterfs_block::cache::BlockCache;
use sinterfs_model::Result;

use crate::identify;
use crate::image::{Image, InfoRows};
use crate::open_options::OpenOptions;
use crate::place;
#[cfg(feature = "write")]
use detect::What;
use reader_options::format_to_open;
use trusted_source::TrustedSource;

/// Opens an image file of any format.
///
/// # Errors `Unsupported` if the file is no image of a known format, `Corrupt` for one that is
/// damaged, `Io` for a file that cannot be read.
pub fn open(path: impl AsRef<Path>) -> Result<Image> {
    open_with(path, &OpenOptions::default())
}

/// Opens an image of any format, by options; `path` may be a URL, with the feature `remote`.
///
/// # Errors
/// As [`open`], and `Invalid` for an option that images of this format do not have; with a
/// [`crate::verify::Trust`] also `Corrupt` for an image that is another one.
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Image> {
    let path = path.as_ref();
    let source = place::source(path, options)?;
    open_source(source, &options.beside(path)).map_err(|e| e.path(place::shown(path)))
}

/// Opens an image, or an archive (tar, cpio, `.deb`, `.rpm`, compressed or not) as if it were one;
/// `-` is an archive from standard input.
///
/// What is compressed is unpacked once, into a scratch file in the directory of temporary files.
/// Archives on servers are not opened.
///
/// # Errors
/// As [`open_with`], and `Corrupt` for a damaged archive.
#[cfg(feature = "write")]
pub fn open_tree(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Image> {
    let path = path.as_ref();
    if !place::is_url(path) && matches!(What::of(path, options), Ok(What::Archive)) {
        What::Archive.check(path, options)?;
        return archive_image::open(path);
    }
    open_with(path, options)
}

/// Opens an image from any bytes.
///
/// # Errors
/// As [`open`].
pub fn open_source(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Image> {
    open_trusted(&trusted_source::establish(source, options)?)
}

/// Returns what can be said of an image that cannot be opened because it is damaged; `None` if that
/// is nothing.
///
/// # Errors
/// Those of [`open_with`] but for damage.
pub fn survey(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Option<InfoRows>> {
    let path = path.as_ref();
    let list = || {
        let source = place::source(path, options)?;
        let trusted = trusted_source::establish(source, &options.beside(path))?;
        let format = format_to_open(&trusted)?;
        let survey = format
            .surveyed()
            .map(|format| format.survey(&trusted.source, &trusted.options.read()));
        survey.transpose()
    };
    list().map_err(|error| error.path(place::shown(path)))
}

/// Lists the partitions of a disk image, as rows for people and programs; `None` for a file without
/// a partition table.
///
/// # Errors
/// `Corrupt` for a damaged table, and those of [`open_with`].
pub fn partitions(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Option<InfoRows>> {
    let path = path.as_ref();
    let list = || {
        let trusted = trusted_source::prove(place::source(path, options)?, &options.beside(path))?;
        let content = identify::device_content(trusted.source, trusted.options)?;
        identify::partition::list(&content.source, &content.options)
    };
    list().map_err(|error| error.path(place::shown(path)))
}

/// Opens an image from bytes that were proven, as far as that was required.
pub(crate) fn open_trusted(trusted: &TrustedSource) -> Result<Image> {
    let (source, options) = (&trusted.source, &trusted.options);
    let format = format_to_open(trusted)?;
    let handle = format.open(Arc::clone(source), &options.read())?;
    let comment = trusted.comment.clone();
    let disk = trusted.disk.clone();
    // no digest covers what is before an image, so it is not believed where one is required
    let carrier = match trusted.root() {
        Some(_) => None,
        None => carrier(&**source)?,
    };
    Ok(Image::new(
        format.name(),
        handle,
        trusted.root(),
        comment,
        disk,
        carrier,
    ))
}

/// Returns the kind of a program that carries an image, by its first bytes.
fn carrier(source: &dyn ReadAt) -> Result<Option<&'static str>> {
    if source.len() < 11 {
        return Ok(None);
    }
    Ok(match *source.read(0, 11)? {
        [0x7f, b'E', b'L', b'F', _, _, _, _, b'A', b'I', 1] => Some("AppImage, type 1"),
        [0x7f, b'E', b'L', b'F', _, _, _, _, b'A', b'I', 2] => Some("AppImage, type 2"),
        _ => None,
    })
}

/// Opens an image file whose decoded blocks go into a cache that is shared.
#[cfg(feature = "write")]
pub(crate) fn open_cached(
    path: &Path,
    options: &OpenOptions,
    cache: &Arc<BlockCache>,
) -> Result<Image> {
    let options = OpenOptions {
        cache: Some(Arc::clone(cache)),
        ..options.clone()
    };
    open_with(path, &options)
}
