//! Open images: paths are looked up, listed and opened.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rustix::fs::OFlags;
use sinterfs::Image;
use sinterfs::errno::Errno;
use sinterfs::image::OpenOptions;
use sinterfs::model::Ino;

use crate::descriptor::duplicate;
use crate::error::{checked, not_opened, numbered, raised};
use crate::file::{RawFile, read_range};
use crate::info::dictionary;
use crate::options::RawOptions;
use crate::parts::thread_count;
use crate::read_many::read_many;
use crate::shared_image::{ImageSource, SharedImage};
use crate::source::ObjectSource;
use crate::stat::{StatTuple, stat_tuple};
use crate::walk::RawWalk;

/// An opened image.
#[pyclass(frozen, module = "sinterfs._sinterfs")]
pub struct RawImage(Arc<SharedImage>);

#[pymethods]
impl RawImage {
    /// Opens an image file.
    #[staticmethod]
    fn open_path(py: Python<'_>, path: PathBuf, options: RawOptions) -> PyResult<Self> {
        let mut options = OpenOptions::from(options);
        let beside = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        options.beside = Some(beside.unwrap_or(Path::new(".")).to_owned());
        // opened once by its name, which can be another file's later
        let file = py.detach(|| open_file(&path));
        let origin = ImageSource::File(checked(py, file)?, path);
        Ok(Self(Arc::new(SharedImage::new(py, origin, options)?)))
    }

    /// Opens a remote image.
    #[staticmethod]
    fn open_url(py: Python<'_>, url: PathBuf, options: RawOptions) -> PyResult<Self> {
        let origin = ImageSource::Url(url);
        Ok(Self(Arc::new(SharedImage::new(
            py,
            origin,
            options.into(),
        )?)))
    }

    /// Opens an image by the descriptor of its file, which is duplicated.
    #[staticmethod]
    fn open_descriptor(
        py: Python<'_>,
        descriptor: i32,
        name: PathBuf,
        options: RawOptions,
    ) -> PyResult<Self> {
        let origin = ImageSource::File(checked(py, duplicate(descriptor))?, name);
        Ok(Self(Arc::new(SharedImage::new(
            py,
            origin,
            options.into(),
        )?)))
    }

    /// Opens an image from its bytes.
    #[staticmethod]
    fn open_bytes(
        py: Python<'_>,
        content: &Bound<'_, PyBytes>,
        options: RawOptions,
    ) -> PyResult<Self> {
        let origin = ImageSource::Bytes(Arc::from(content.as_bytes()));
        Ok(Self(Arc::new(SharedImage::new(
            py,
            origin,
            options.into(),
        )?)))
    }

    /// Opens an image from a file object with `seek` and `read`.
    #[staticmethod]
    fn open_object(
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        options: RawOptions,
    ) -> PyResult<Self> {
        let source = Arc::new(ObjectSource::new(object)?);
        Ok(Self(Arc::new(SharedImage::from_source(
            py,
            source,
            options.into(),
        )?)))
    }

    /// The name of the format.
    fn format(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.0.image(py)?.format())
    }

    /// Facts about the image.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.with(py, Image::info)?;
        dictionary(py, &rows)
    }

    /// Damage that does not keep the image from being read.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let image = self.0.image(py)?;
        Ok(image.warnings().iter().map(ToString::to_string).collect())
    }

    /// Closes this process's handle.
    fn close(&self) {
        self.0.close();
    }

    /// The metadata of a path.
    fn stat(&self, py: Python<'_>, path: PathBuf, follow: bool) -> PyResult<StatTuple> {
        let metadata = self.with(py, |image| {
            if follow {
                image.metadata(&path)
            } else {
                image.symlink_metadata(&path)
            }
        })?;
        Ok(stat_tuple(&metadata))
    }

    /// Names and types of the entries of a directory.
    fn list(&self, py: Python<'_>, path: PathBuf) -> PyResult<Vec<(OsString, u32)>> {
        self.require_directory(py, &path)?;
        self.with(py, |image| {
            let entries = image.read_dir(&path)?;
            let rows = entries.map(|entry| {
                let entry = entry?;
                Ok((entry.name().to_owned(), entry.file_type().bits()))
            });
            rows.collect()
        })
    }

    /// Everything below a directory, in batches.
    fn walk(&self, py: Python<'_>, path: PathBuf) -> PyResult<RawWalk> {
        self.require_directory(py, &path)?;
        let walk = self.with(py, |image| image.walk_below(&path))?;
        Ok(RawWalk::new(walk))
    }

    /// The target of a symlink.
    fn readlink(&self, py: Python<'_>, path: PathBuf) -> PyResult<OsString> {
        self.with(py, |image| Ok(image.read_link(&path)?.into_os_string()))
    }

    /// The extended attributes of a path.
    fn xattrs<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
        let xattrs = self.with(py, |image| image.xattrs(&path))?;
        let made = PyDict::new(py);
        for (name, value) in xattrs {
            made.set_item(name, PyBytes::new(py, &value))?;
        }
        Ok(made)
    }

    /// The contents of regular files, read in the order of the image.
    fn read_many<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<PathBuf>,
        threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        read_many(py, &self.0.image(py)?, &paths, thread_count(threads))
    }

    /// The content of a regular file.
    fn read<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
        let image = self.0.image(py)?;
        let found = py.detach(|| image.file(&path));
        let found = found.map_err(|error| not_opened(py, &image, &path, &error))?;
        let ino = Ino(found.metadata().ino());
        let read = read_range(py, &image, ino, 0, found.len())?;
        read.map_err(|error| raised(py, &error.path(&path)))
    }

    /// Opens a regular file.
    fn file(&self, py: Python<'_>, path: PathBuf) -> PyResult<RawFile> {
        let image = self.0.image(py)?;
        let opened = py.detach(|| RawFile::open(&self.0, &image, path.clone()));
        opened.map_err(|error| not_opened(py, &image, &path, &error))
    }
}

impl RawImage {
    /// Returns the image of this process, and its path.
    pub fn parts(&self, py: Python<'_>) -> PyResult<(Image, Option<PathBuf>)> {
        Ok((self.0.image(py)?, self.0.path().cloned()))
    }

    /// Returns the image of this process and its path, to be mounted.
    #[cfg(target_os = "linux")]
    pub fn mounted_parts(&self, py: Python<'_>) -> PyResult<(Image, Option<PathBuf>)> {
        if self.0.is_of_object() {
            let what = "an image of a file object cannot be mounted: each read would need the \
                        interpreter, which may be waiting for that read";
            return Err(raised(py, &sinterfs::Error::unsupported(what)));
        }
        self.parts(py)
    }

    /// Returns how many bytes of decoded blocks are kept.
    pub fn cache_bytes(&self) -> u64 {
        self.0.options().cache_bytes
    }

    /// Asks the image while the interpreter is released.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&Image) -> sinterfs::Result<T> + Send,
    ) -> PyResult<T> {
        let image = self.0.image(py)?;
        let answer = py.detach(|| ask(&image));
        checked(py, answer)
    }

    fn require_directory(&self, py: Python<'_>, path: &Path) -> PyResult<()> {
        if self.with(py, |image| image.metadata(path))?.is_dir() {
            return Ok(());
        }
        Err(numbered(py, Errno::NOTDIR, "not a directory", path))
    }
}

fn open_file(path: &Path) -> sinterfs::Result<File> {
    let failed = |error| sinterfs::Error::io("cannot open", error).path(path);
    // a fifo without a writer would block here, and is refused when the image is opened
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(flags).open(path);
    let file = file.map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        Err(failed(Errno::ISDIR.into()))
    } else {
        Ok(file)
    }
}

/// Returns whether a path is the URL of a remote object.
#[pyfunction]
pub fn is_url(path: PathBuf) -> bool {
    sinterfs::is_url(&path)
}
