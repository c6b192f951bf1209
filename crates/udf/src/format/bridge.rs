//! Compares the two trees of a disc.
//!
//! In: both images. Out: whether the ISO 9660 tree has everything; if not, a message for each file
//! that only this tree has, or has with another type or size.
//!
//! **Invariant:** names are compared only with Rock Ridge, which has whole names. With other names,
//! files are compared by the places of their content, and files without content not at all.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sinterfs_iso9660::read::{Iso9660, NameSource};
use sinterfs_model::{Cursor, ExtentSource, FileType, Image, Ino, Result, Setting};

use crate::read::Udf;

/// The most messages.
const MESSAGES: usize = 1000;

/// The bytes of a sector, by which ISO 9660 has the place of the boot catalog.
const SECTOR: u64 = 2048;

/// A file or directory of one of the trees.
struct NamedFile {
    path: Vec<u8>,
    ino: Ino,
    kind: FileType,
}

/// Returns whether the ISO 9660 tree has everything that the UDF tree has. With Rock Ridge it also
/// has what writers leave out of UDF trees: symlinks, owners and characters of names.
pub(super) fn has_everything(iso9660: &Iso9660, udf: &Udf) -> Result<bool> {
    if !matches!(iso9660.names(), NameSource::RockRidge(_)) {
        return Ok(false);
    }
    let (mut count, places) = survey(iso9660, &|file| iso9660.stored_start(file))?;
    if catalog_place(iso9660).is_some_and(|place| places.contains(&place)) {
        count -= 1;
    }
    let (udf_count, udf_places) = survey(udf, &|file| first_place(udf, file))?;
    Ok(count >= udf_count && udf_places.is_subset(&places))
}

/// Returns the number of names in a tree, and where the stored content of its files begins.
fn survey(
    image: &dyn Image,
    place: &dyn Fn(Ino) -> Result<Option<u64>>,
) -> Result<(u64, HashSet<u64>)> {
    let (mut count, mut places) = (0, HashSet::new());
    let mut waiting = vec![(Vec::new(), image.info().root)];
    while let Some((path, dir)) = waiting.pop() {
        for named in names(image, &path, dir)? {
            count += 1;
            match named.kind {
                FileType::Directory => waiting.push((named.path, named.ino)),
                FileType::File => places.extend(place(named.ino)?),
                _ => {}
            }
        }
    }
    Ok((count, places))
}

/// Returns the place of the boot catalog, which is no file of a user.
fn catalog_place(iso9660: &Iso9660) -> Option<u64> {
    let catalog = iso9660.volumes().boot_catalog;
    catalog.map(|sector| u64::from(sector) * SECTOR)
}

/// Returns what is lost if only the tree of UDF is read.
pub(super) fn differences(iso9660: &Iso9660, udf: &Udf) -> Result<Vec<String>> {
    let is_whole = matches!(iso9660.names(), NameSource::RockRidge(_));
    let mut places = None;
    let mut found = Vec::new();
    let mut waiting = vec![(Vec::new(), iso9660.info().root)];
    while let Some((path, dir)) = waiting.pop() {
        for named in names(iso9660, &path, dir)? {
            let difference = difference(iso9660, udf, &named, is_whole, &mut places)?;
            if let Some(what) = difference.filter(|_| found.len() < MESSAGES) {
                found.push(message(&named.path, &what));
            }
            if named.kind == FileType::Directory {
                waiting.push((named.path, named.ino));
            }
        }
    }
    Ok(found)
}

/// Returns the files and directories in a directory, which has a path.
fn names(image: &dyn Image, path: &[u8], dir: Ino) -> Result<Vec<NamedFile>> {
    let mut names = Vec::new();
    image.read_dir(dir, Cursor::START, &mut |entry| {
        names.push(NamedFile {
            path: [path, b"/", entry.name].concat(),
            ino: entry.ino,
            kind: entry.kind,
        });
        ControlFlow::Continue(())
    })?;
    Ok(names)
}

/// Returns how a file of the ISO 9660 tree differs.
fn difference(
    iso9660: &Iso9660,
    udf: &Udf,
    named: &NamedFile,
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
    let Some(place) = iso9660.stored_start(named.ino)? else {
        return if is_whole { missing } else { Ok(None) };
    };
    if catalog_place(iso9660) == Some(place) {
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

fn message(path: &[u8], what: &str) -> String {
    let (path, option) = (String::from_utf8_lossy(path), Setting("image"));
    format!(
        "the ISO 9660 tree has {path}, but the UDF tree, which is read, {what} ({option} iso9660 \
         reads the other)"
    )
}
