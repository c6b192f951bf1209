//! Writes what others verify: the file of digests beside an image, and the signature in it. Spec:
//! `docs/formats/digest.md`.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::digest::{Root, digest_range};
use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::{Error, Result};

use crate::formats;
use crate::open_options::OpenOptions;
use crate::output::Output;
use crate::output::new_file::write_new;

/// Writes the digests of a whole file to another one, and gives their root.
pub fn write_digests(image: &Path, to: &Path, replace: bool) -> Result<Root> {
    let source = FileSource::open(image)?;
    let digests = digest_range(&source, 0, source.len()).map_err(|error| error.path(image))?;
    write_new(to, replace, digests.stored())?;
    Ok(digests.root())
}

/// Puts a signature into an image, in place of the one that it has. `Unsupported` for formats that
/// hold none, `Invalid` for images without digests.
pub fn embed_signature(image: &Path, signature: &str) -> Result<()> {
    let located = |error: Error| error.path(image);
    let source: Arc<dyn ReadAt> = Arc::new(FileSource::open(image)?);
    if !image.is_file() {
        return Err(located(Error::invalid(
            "no file, which a new one could replace",
        )));
    }
    let format = formats::for_image(&source, &OpenOptions::default()).map_err(located)?;
    let writer = formats::by_name(format.name()).map_err(located)?.pipeline;
    let writer = writer.ok_or_else(|| {
        located(Error::unsupported(
            "images of this format hold no signatures",
        ))
    })?;
    let output = Output::create(image, true)?;
    let mut out = output.writer();
    writer.sign(&source, signature, &mut out).map_err(located)?;
    output.commit()
}
