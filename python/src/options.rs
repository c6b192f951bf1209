//! How an image is opened.
//!
//! Enters a dictionary that has all options; leaves those of the library. What an option that is
//! not given means is the library's decision.

use std::path::PathBuf;

use pyo3::Borrowed;
use pyo3::prelude::*;
use sinterfs::image::OpenOptions;

/// The options of opening by their names; none is left out.
pub struct RawOptions {
    offset: Option<u64>,
    cache_bytes: Option<u64>,
    devices: Vec<PathBuf>,
    objects: Option<PathBuf>,
    image: Option<String>,
    partition: Option<u32>,
}

impl<'py> FromPyObject<'_, 'py> for RawOptions {
    type Error = PyErr;

    // not derived: what a derived one raises is always a TypeError, also for a negative number
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            offset: given.get_item("offset")?.extract()?,
            cache_bytes: given.get_item("cache_bytes")?.extract()?,
            devices: given.get_item("devices")?.extract()?,
            objects: given.get_item("objects")?.extract()?,
            image: given.get_item("image")?.extract()?,
            partition: given.get_item("partition")?.extract()?,
        })
    }
}

impl From<RawOptions> for OpenOptions {
    fn from(given: RawOptions) -> Self {
        let default = Self::default();
        Self {
            offset: given.offset,
            cache_bytes: given.cache_bytes.unwrap_or(default.cache_bytes),
            devices: given.devices,
            objects: given.objects,
            image: given.image,
            partition: given.partition,
            ..default
        }
    }
}
