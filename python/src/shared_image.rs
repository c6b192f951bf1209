//! An image that survives a fork: each process has a handle of its own.
//!
//! Enters an origin: a file, a URL, bytes, or a file object. Leaves the process's [`Image`].
//! **Invariants:** the mutex here is held only for a moment, with the interpreter attached and
//! without running Python code, so that it is free in a child of `os.fork`; a handle of the parent,
//! whose locks a lost thread may hold, is neither used nor dropped in a child.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use sinterfs::errno::Errno;
use sinterfs::image::{FileSource, OpenOptions, ReadAt};
use sinterfs::{Error, Image};

use crate::error::{checked, with_number};
use crate::source::BytesSource;

/// What an image is opened from again.
pub enum ImageSource {
    /// A file, which stays the same when another one gets its name.
    File(File, PathBuf),
    /// A remote object.
    Url(PathBuf),
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
    /// A file object, whose position processes would share.
    Object,
}

/// An image and how it was opened.
pub struct SharedImage {
    path: Option<PathBuf>,
    options: OpenOptions,
    handle: Mutex<Handle>,
}

/// The handle of one process, and what another process opens its own from; without it, the image
/// is closed.
struct Handle {
    process: u32,
    origin: Option<Arc<ImageSource>>,
    image: Option<Image>,
}

/// What a handle is good for in this process.
enum Usable {
    Now(Image),
    OpenedAgain(Arc<ImageSource>),
    Closed,
}

impl Handle {
    fn new(origin: Option<Arc<ImageSource>>, image: Option<Image>) -> Self {
        Self {
            process: std::process::id(),
            origin,
            image,
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.image.take());
        }
    }
}

impl SharedImage {
    /// Opens an image.
    pub fn new(py: Python<'_>, origin: ImageSource, options: OpenOptions) -> PyResult<Self> {
        let image = py.detach(|| open(&origin, &options));
        Ok(Self::of(checked(py, image)?, origin, options))
    }

    /// Opens an image from a source that only this process can read.
    pub fn from_source(
        py: Python<'_>,
        source: Arc<dyn ReadAt>,
        options: OpenOptions,
    ) -> PyResult<Self> {
        let image = py.detach(|| sinterfs::open_source(source, &options));
        Ok(Self::of(checked(py, image)?, ImageSource::Object, options))
    }

    fn of(image: Image, origin: ImageSource, options: OpenOptions) -> Self {
        let path = match &origin {
            ImageSource::File(_, path) | ImageSource::Url(path) => Some(path.clone()),
            ImageSource::Bytes(_) | ImageSource::Object => None,
        };
        Self {
            path,
            options,
            handle: Mutex::new(Handle::new(Some(Arc::new(origin)), Some(image))),
        }
    }

    /// Returns the path of the image's file, or its URL, if it has one.
    pub fn path(&self) -> Option<&PathBuf> {
        self.path.as_ref()
    }

    /// Returns whether the image is read by a file object of Python.
    #[cfg(target_os = "linux")]
    pub fn is_of_object(&self) -> bool {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(handle.origin.as_deref(), Some(ImageSource::Object))
    }

    /// Returns how the image was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Returns this process's handle; opens it in a child of a fork.
    pub fn image(&self, py: Python<'_>) -> PyResult<Image> {
        let origin = match self.usable() {
            Usable::Now(image) => return Ok(image),
            Usable::OpenedAgain(origin) => origin,
            Usable::Closed => return Err(closed(py)),
        };
        if matches!(*origin, ImageSource::Object) {
            let what = "an image of a file object cannot be used by another process: open it there";
            return Err(with_number(py, Errno::BADF, what, None));
        }
        let opened = py.detach(|| open(&origin, &self.options));
        let opened = checked(py, opened)?;
        self.replace(|handle| {
            let is_wanted = handle.process != std::process::id() && handle.origin.is_some();
            is_wanted.then(|| Handle::new(Some(origin), Some(opened.clone())))
        });
        Ok(opened)
    }

    /// Closes the handle of this process, and what others would open theirs from; files of the
    /// image cannot be read any more.
    pub fn close(&self) {
        self.replace(|_| Some(Handle::new(None, None)));
    }

    /// Returns what the handle is good for. No Python code runs while the lock is held: another
    /// thread would wait for it with the interpreter attached.
    fn usable(&self) -> Usable {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        match (&handle.origin, &handle.image) {
            (None, _) => Usable::Closed,
            (_, Some(image)) if handle.process == std::process::id() => Usable::Now(image.clone()),
            (Some(origin), _) => Usable::OpenedAgain(Arc::clone(origin)),
        }
    }

    /// Replaces the handle by what a function makes of it. The former one is dropped without the
    /// lock, as a file object that it refers to may be, by Python code.
    fn replace(&self, by: impl FnOnce(&Handle) -> Option<Handle>) {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let former = by(&handle).map(|new| std::mem::replace(&mut *handle, new));
        drop(handle);
        drop(former);
    }
}

fn open(origin: &ImageSource, options: &OpenOptions) -> sinterfs::Result<Image> {
    match origin {
        ImageSource::File(file, path) => {
            let again = file.try_clone();
            let again = again.map_err(|error| Error::io("cannot open", error).path(path))?;
            let source = FileSource::from_file(again, path)?;
            let opened = sinterfs::open_source(Arc::new(source), options);
            opened.map_err(|error| error.path(path))
        }
        ImageSource::Url(url) => sinterfs::open_with(url, options),
        ImageSource::Bytes(bytes) => {
            let source = BytesSource(Arc::clone(bytes));
            sinterfs::open_source(Arc::new(source), options)
        }
        ImageSource::Object => Err(Error::unsupported("a file object is opened once")),
    }
}

fn closed(py: Python<'_>) -> PyErr {
    with_number(py, Errno::BADF, "the image is closed", None)
}
