//! Compares the two trees of a disc, of which the one of UDF is read.
//!
//! In: both images. Out: an error for each file that only the ISO 9660 tree has, or has otherwise.
//!
//! **Invariant:** names are compared where those of ISO 9660 are whole: with Rock Ridge. With other
//! names, files are compared by the places of their content, and those without content not at all.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sinterfs_iso9660::read::{Iso9660, NameSource};
use sinterfs_model::{Cursor, ExtentSource, FileType, Image, Ino, Result, Setting};
use sinterfs_udf::read::Udf;

/// The most messages.
const MESSAGES: usize = 1000;

/// The bytes of a sector, by which ISO 9660 has the place of the boot catalog.
const SECTOR: u64 = 2048;

/// A file or directory that is in the ISO 9660 tree.
struct Named {
    path: Vec<u8>,
    ino: Ino,
    kind: FileType,
}

/// Returns what is lost if only the tree of UDF is read.
pub(super) fn differences(iso9660: &Iso9660, udf: &Udf) -> Result<Vec<String>> {
    let is_whole = matches!(iso9660.names(), NameSource::RockRidge(_));
    let mut places = None;
    let mut found = Vec::new();
    let mut waiting = vec![(Vec::new(), iso9660.info().root)];
    while let Some((path, dir)) = waiting.pop() {
        let mut names = Vec::new();
        iso9660.read_dir(dir, Cursor::START, &mut |entry| {
            names.push(Named {
                path: [&path[..], b"/", entry.name].concat(),
                ino: entry.ino,
                kind: entry.kind,
            });
            ControlFlow::Continue(())
        })?;
        for named in names {
            let difference = difference(iso9660, udf, &named, is_whole, &mut places)?;
            if let Some(what) = difference.filter(|_| found.len() < MESSAGES) {
                found.push(told(&named.path, &what));
            }
            if named.kind == FileType::Directory {
                waiting.push((named.path, named.ino));
            }
        }
    }
    Ok(found)
}

/// Returns how a file of the ISO 9660 tree differs.
fn difference(
    iso9660: &Iso9660,
    udf: &Udf,
    named: &Named,
    is_whole: bool,
    places: &mut Option<HashSet<u64>>,
) -> Result<Option<String>> {
    let inode = iso9660.inode(named.ino)?;
    let twin = if is_whole {
        at(udf, &named.path)?
    } else {
        None
    };
    if let Some(twin) = twin {
        let of_udf = udf.inode(twin)?;
        let is_same = of_udf.kind == inode.kind
            && (inode.kind != FileType::File || of_udf.size == inode.size);
        return Ok((!is_same).then(|| {
            let (letter, size) = (of_udf.kind.letter(), of_udf.size);
            format!("has it with another type or size ({letter}, {size} bytes)")
        }));
    }
    let missing = Ok(Some("does not have it".to_owned()));
    if inode.kind != FileType::File {
        return if is_whole { missing } else { Ok(None) };
    }
    let Some(place) = first_place(iso9660, named.ino)? else {
        return if is_whole { missing } else { Ok(None) };
    };
    // the boot catalog is no file of a user
    let catalog = iso9660.volumes().boot_catalog.map(u64::from);
    if catalog.map(|sector| sector * SECTOR) == Some(place) {
        return Ok(None);
    }
    let known = match places {
        Some(known) => known,
        None => places.insert(all_places(udf)?),
    };
    if known.contains(&place) {
        return Ok(None);
    }
    missing
}

/// Finds a path; `None` if there is none.
fn at(image: &dyn Image, path: &[u8]) -> Result<Option<Ino>> {
    let mut ino = image.info().root;
    for name in path
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
    {
        if image.inode(ino)?.kind != FileType::Directory {
            return Ok(None);
        }
        match image.lookup(ino, name)? {
            Some(next) => ino = next,
            None => return Ok(None),
        }
    }
    Ok(Some(ino))
}

/// Returns where the content of a file begins.
fn first_place(image: &dyn Image, file: Ino) -> Result<Option<u64>> {
    let mut first = None;
    image.extents(file, 0, &mut |extent| match extent.source {
        ExtentSource::Block { block, .. } => {
            first = Some(block);
            ControlFlow::Break(())
        }
        ExtentSource::Hole => ControlFlow::Continue(()),
    })?;
    Ok(first)
}

/// Returns where the content of all files begins.
fn all_places(udf: &Udf) -> Result<HashSet<u64>> {
    let mut places = HashSet::new();
    for number in 1..=udf.info().totals.inodes {
        let ino = Ino(number);
        let is_file = udf
            .inode(ino)
            .is_ok_and(|inode| inode.kind == FileType::File);
        // what is damaged is an error when it is read
        if is_file && let Ok(Some(place)) = first_place(udf, ino) {
            places.insert(place);
        }
    }
    Ok(places)
}

fn told(path: &[u8], what: &str) -> String {
    let (path, option) = (String::from_utf8_lossy(path), Setting::ImageInFile);
    format!(
        "the ISO 9660 tree has {path}, but the UDF tree, which is read, {what} ({option} iso9660 \
         reads the other)"
    )
}
