//! The further files of a WIM file: parts that were given or are beside it, and bases of deltas.
//!
//! In: the first part. Out: the others, opened.
//!
//! **Invariant:** a file is taken for a part by its header, whatever its name.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Error, Result};

use crate::layout::WimHeader;
use crate::read::header;

/// The most files beside the first part that are looked at.
const LOOKED_AT: usize = 100_000;

/// Opens the further files.
pub(super) fn open(
    source: &Arc<dyn ReadAt>,
    options: &ReadOptions,
) -> Result<Vec<Arc<dyn ReadAt>>> {
    let mut more: Vec<Arc<dyn ReadAt>> = Vec::new();
    for path in &options.devices {
        more.push(Arc::new(FileSource::open(path)?));
    }
    let first = header(&**source, options.start_offset())?;
    if first.parts > 1
        && !options.is_proven
        && let Some(dir) = &options.beside
    {
        add_parts(&first, dir, &mut more)?;
    }
    Ok(more)
}

/// Adds the parts in a directory that were not given; of two files with the same part, the one
/// whose name comes first.
fn add_parts(first: &WimHeader, dir: &Path, more: &mut Vec<Arc<dyn ReadAt>>) -> Result<()> {
    let mut known = vec![first.part];
    for source in &*more {
        if let Some(part) = part_of(first, &**source) {
            known.push(part);
        }
    }
    let io = |error| Error::io("cannot list the directory of the image", error).path(dir);
    let entries = std::fs::read_dir(dir).map_err(io)?.take(LOOKED_AT);
    let paths = entries.map(|entry| Ok(entry.map_err(io)?.path()));
    let mut paths: Vec<_> = paths.collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        let extension = path.extension().unwrap_or_default();
        let may_be_part = extension.eq_ignore_ascii_case("swm");
        if !may_be_part || !path.is_file() {
            continue;
        }
        let Ok(source) = FileSource::open(&path) else {
            continue;
        };
        if let Some(part) = part_of(first, &source)
            && !known.contains(&part)
        {
            known.push(part);
            more.push(Arc::new(source));
        }
    }
    Ok(())
}

/// Returns the number of the part that a file is; `None` for other files.
fn part_of(first: &WimHeader, source: &dyn ReadAt) -> Option<u16> {
    let found = header(source, 0).ok()?;
    (found.guid == first.guid && found.parts == first.parts).then_some(found.part)
}
