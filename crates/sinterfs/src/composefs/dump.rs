//! A composefs-dump(5) as an image, whatever becomes of it.
//!
//! Enters a dump and the store of its objects; leaves an image in memory; objects stay in the
//! store. **Invariant:** an object that is read is the one of which the dump has the digest, or an
//! error.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_erofs::composefs::{Composefs, Files, Versions};
use sinterfs_erofs::read::{Erofs, ReadOptions};
use sinterfs_model::{Error, Image, Result, Setting};

use sinterfs_erofs::format::ObjectDirectory;

/// Reads a dump; `-` is standard input.
pub(crate) fn files(dump: &Path) -> Result<Files> {
    let files = if dump == Path::new("-") {
        sinterfs_erofs::composefs::parse(std::io::stdin().lock())
    } else {
        let file = File::open(dump).map_err(|e| Error::io("cannot open the dump", e).path(dump))?;
        sinterfs_erofs::composefs::parse(BufReader::with_capacity(1 << 20, file))
    };
    files.map_err(|error| error.path(dump))
}

/// Makes the image of a dump.
pub(crate) fn image(dump: &Path, store: Option<&Path>) -> Result<Arc<dyn Image>> {
    let files = files(dump)?;
    if files.has_objects() && store.is_none() {
        let store = Setting("digest_store");
        let what = format!("content of files is in a store of objects: name that by {store}");
        return Err(Error::invalid(what).about([store]).path(dump));
    }
    let mut bytes = Vec::new();
    sinterfs_erofs::composefs::write(files, Versions::default(), &mut bytes)?;
    let erofs = Erofs::open(Arc::new(MemorySource(bytes)), &ReadOptions::default())?;
    let objects = Arc::new(ObjectDirectory::new(
        store.unwrap_or(Path::new("")).to_owned(),
    ));
    Ok(Arc::new(Composefs::new(Arc::new(erofs), objects, true)))
}
