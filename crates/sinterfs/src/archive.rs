//! Writing an image as an archive or a list, to a file or a stream.
//!
//! Enters an image file; leaves an output that is whole or not there, if it is a file. **Invariant:** no
//! block is decoded twice: where the order of names needs more of them at once than fit into the cache,
//! decoded blocks lie in a scratch file, too.

use std::path::{Path, PathBuf};

use ::build::Scratch;
use ::build::source::XattrFilter;
use model::{Observer, Result};
use ops::{Archive, ArchiveOptions, ArchiveReport};

use crate::build::Destination;
use crate::filtered::Filtered;
use crate::input::{enlarged, open_cached, shared_cache};
use crate::open::OpenOptions;

/// Everything that can be asked of an archive.
#[derive(Debug, Clone)]
pub struct ArchiveRequest {
    /// The image file.
    pub image: PathBuf,
    /// How it is opened.
    pub open: OpenOptions,
    /// What goes into the archive; how far to decode ahead follows from the size of the cache.
    pub options: ArchiveOptions,
    /// Which extended attributes stay.
    pub xattrs: XattrFilter,
    /// Where the archive goes.
    pub destination: Destination,
}

/// Writes an archive of an image. What is wrong with parts of the image without which it can be read is
/// told to the observer.
pub fn archive(request: &ArchiveRequest, observer: &dyn Observer) -> Result<ArchiveReport> {
    let cache = shared_cache(request.open.cache_bytes);
    let opened = open_cached(&request.image, &request.open, &cache)?;
    for warning in opened.warnings() {
        observer.warn(&warning.path(&request.image));
    }
    let image = opened.image();
    let infos = [image.info().clone()];
    let capacity = enlarged(&cache, &infos, request.options.threads).capacity();
    let options = ArchiveOptions {
        ahead: capacity / 2,
        ..request.options.clone()
    };
    let image = Filtered::new(&**image, &request.xattrs);
    let archive = Archive::plan(&image, &options, observer)?;
    // what is decoded ahead, and what is kept for later
    let needed = archive.bytes_at_once().saturating_add(options.ahead);
    if needed > capacity && opened.handle().decoded_bytes() > capacity {
        cache.spill_to(Scratch::new(scratch(&request.destination)).file()?);
    }
    let output = request.destination.open(None)?;
    let report = archive.write(&mut output.writer())?;
    output.commit()?;
    Ok(report)
}

/// Chooses the directory for a scratch file: that of the output, if it has one.
fn scratch(destination: &Destination) -> PathBuf {
    let beside = match destination {
        Destination::File { path, .. } => path.parent(),
        Destination::Stdout => None,
    };
    match beside {
        Some(dir) if dir.as_os_str().is_empty() => Path::new(".").to_owned(),
        Some(dir) => dir.to_owned(),
        None => std::env::temp_dir(),
    }
}
