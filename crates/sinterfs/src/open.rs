//! Opening an image file: its format is found, the image validated and ready to serve.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::Result;

use crate::handle::Opened;
use crate::open_options::OpenOptions;
use crate::registry;
use crate::verify::prove::{self, Proven};

/// Opens an image file of any format.
pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Opened> {
    let path = path.as_ref();
    let source = FileSource::open(path)?;
    open_source(Arc::new(source), &options.beside(path)).map_err(|e| e.path(path))
}

/// Opens an image from any bytes.
pub fn open_source(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Opened> {
    open_proven(&prove::prove(source, options)?)
}

/// Opens an image from bytes that were proven, as far as that was required.
pub(crate) fn open_proven(proven: &Proven) -> Result<Opened> {
    let (source, options) = (&proven.source, &proven.options);
    let format = registry::for_image(source, options)?;
    let handle = format.open(Arc::clone(source), options)?;
    let comment = proven.comment.clone();
    Ok(Opened::new(format.name(), handle, proven.root(), comment))
}

/// Opens an image file whose decoded blocks go into a cache that is shared.
pub(crate) fn open_cached(
    path: &Path,
    options: &OpenOptions,
    cache: &Arc<BlockCache>,
) -> Result<Opened> {
    let options = OpenOptions {
        cache: Some(Arc::clone(cache)),
        ..options.clone()
    };
    open(path, &options)
}
