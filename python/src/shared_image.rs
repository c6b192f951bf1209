//! An image that survives a fork: each process has a handle of its own.
//!
//! Enters an origin: a file, a URL, bytes, or a file object. Leaves the process's [`Image`].
//! **Invariants:** the mutex here is held only for a moment and with the interpreter attached, so
//! that it is free in a child of `os.fork`; a handle of the parent, whose locks a lost thread may
//! hold, is neither used nor dropped in a child.

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
    origin: ImageSource,
    options: OpenOptions,
    handle: Mutex<Handle>,
}

/// The handle of one process.
struct Handle {
    process: u32,
    image: Option<Image>,
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
        let handle = Handle {
            process: std::process::id(),
            image: Some(image),
        };
        Self {
            origin,
            options,
            handle: Mutex::new(handle),
        }
    }

    /// Returns the path of the image's file, or its URL, if it has one.
    pub fn path(&self) -> Option<&PathBuf> {
        match &self.origin {
            ImageSource::File(_, path) | ImageSource::Url(path) => Some(path),
            ImageSource::Bytes(_) | ImageSource::Object => None,
        }
    }

    /// Returns how the image was opened.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Returns this process's handle; opens it in a child of a fork.
    pub fn image(&self, py: Python<'_>) -> PyResult<Image> {
        {
            let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
            match &handle.image {
                Some(image) if handle.process == std::process::id() => return Ok(image.clone()),
                Some(_) => {}
                None => return Err(closed(py)),
            }
        }
        if matches!(self.origin, ImageSource::Object) {
            let what = "an image of a file object cannot be used by another process: open it there";
            return Err(with_number(py, Errno::BADF, what, None));
        }
        let opened = py.detach(|| open(&self.origin, &self.options));
        let opened = checked(py, opened)?;
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if handle.process != std::process::id() {
            *handle = Handle {
                process: std::process::id(),
                image: Some(opened.clone()),
            };
        }
        Ok(opened)
    }

    /// Closes the handle of this process; files of the image cannot be read any more.
    pub fn close(&self) {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        *handle = Handle {
            process: std::process::id(),
            image: None,
        };
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
