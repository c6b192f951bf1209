//! The directory of objects that a composefs image refers to, for reading.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::{Error, Result};
use sinterfs_platform::names;

use crate::composefs::Objects;

/// A directory of composefs' objects.
#[derive(Debug)]
pub struct ObjectDirectory(PathBuf);

impl ObjectDirectory {
    /// Takes a directory; a relative path is one of the directory that this process is in.
    pub fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    /// Takes a directory, which stays the same when this process changes its own.
    pub fn at(dir: &Path) -> Result<Self> {
        let absolute = std::path::absolute(dir);
        let absolute =
            absolute.map_err(|error| Error::io("cannot resolve the path", error).path(dir))?;
        Ok(Self(absolute))
    }
}

impl Objects for ObjectDirectory {
    fn open(&self, path: &[u8]) -> Result<Arc<dyn ReadAt>> {
        let path = names::path(path);
        // an image names objects of the store, not files of this machine
        if !path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            let what = format!("{} names no object", path.display());
            return Err(Error::corrupt(what));
        }
        Ok(Arc::new(FileSource::open(self.0.join(&path))?))
    }
}
