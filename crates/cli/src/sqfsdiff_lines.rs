//! Differences as sqfsdiff prints them, and the files that differ, unpacked from both sides.
//!
//! Each line has the name of a file that differs, as raw bytes. **Invariant:** of each directory
//! the names that only one side has come first, then what both have, each by name. Facts: the
//! output of sqfsdiff 1.2, with which a test compares each byte.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use sinterfs::model::Observer;
use sinterfs::ops::{Change, DiffReport, ExtractOptions, Field, What, extract};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, OpenOptions, Result};

use crate::text;

/// Prints the differences.
pub fn print(report: &DiffReport) -> Result<()> {
    let lone: HashSet<&[u8]> = report
        .changes
        .iter()
        .filter(|change| matches!(change.what, What::Added | What::Removed))
        .map(|change| &*change.path)
        .collect();
    let mut changes = reported_changes(report);
    changes.sort_by_cached_key(|change| sort_key(&change.path, &lone));
    let mut out = Vec::new();
    changes.iter().for_each(|change| lines(change, &mut out));
    text::print_bytes(&out)
}

/// Returns the changes without those below a directory that is a file of another type on the other
/// side, of which nothing more is reported.
fn reported_changes(report: &DiffReport) -> Vec<&Change> {
    let changes = report.changes.iter();
    let retyped: HashSet<&[u8]> = changes
        .clone()
        .filter(|change| has(change, Field::Type))
        .map(|change| &*change.path)
        .collect();
    changes
        .filter(|change| !parents(&change.path).any(|parent| retyped.contains(parent)))
        .collect()
}

/// Returns the key by which changes are printed: each component, entries of only one side first.
fn sort_key(path: &[u8], lone: &HashSet<&[u8]>) -> Vec<(bool, Vec<u8>)> {
    let prefixes = parents(path).chain([path]).filter(|path| !path.is_empty());
    let key = prefixes.map(|prefix| {
        let name = prefix.rsplit(|&byte| byte == b'/').next();
        (!lone.contains(prefix), name.unwrap_or_default().to_vec())
    });
    key.collect()
}

/// Returns the directories above a path, the root first.
fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let ends = slashes.map(|(end, _)| end);
    let root = (!path.is_empty()).then_some(0);
    root.into_iter()
        .chain(ends)
        .filter_map(|end| path.get(..end))
}

fn has(change: &Change, field: Field) -> bool {
    let What::Changed(differences) = &change.what else {
        return false;
    };
    differences.iter().any(|found| found.field == field)
}

fn lines(change: &Change, out: &mut Vec<u8>) {
    let path = &*change.path;
    let mut line = |before: &str, path: &[u8], after: &str| {
        out.extend(before.bytes());
        out.extend(path);
        out.extend(after.bytes());
        out.push(b'\n');
    };
    match change.what {
        What::Removed => return line("< ", path, ""),
        What::Added => return line("> ", path, ""),
        _ => {}
    }
    if has(change, Field::Type) {
        return line("/", path, " has a different type");
    }
    for (fields, before, after) in [
        (&[Field::Mode][..], "/", " has different permissions"),
        (&[Field::Uid, Field::Gid], "/", " has different ownership"),
        (&[Field::Mtime], "/", " has a different timestamp"),
        (&[Field::Target], "/", " has a different link target"),
        (&[Field::Device], "/", " has different device number"),
        (&[Field::Size, Field::Content], "regular file /", " differs"),
    ] {
        if fields.iter().any(|field| has(change, *field)) {
            line(before, path, after);
        }
    }
}

/// Unpacks the files that differ, or that only one side has, to `old` and `new` in a directory.
pub fn unpack(
    report: &DiffReport,
    trees: [&Path; 2],
    open: &[OpenOptions; 2],
    dir: &Path,
    observer: &dyn Observer,
) -> Result<()> {
    for ((tree, open), side) in trees.into_iter().zip(open).zip(["old", "new"]) {
        let wanted = |change: &&Change| match change.what {
            What::Removed => side == "old" && change.kind == FileType::File,
            What::Added => side == "new" && change.kind == FileType::File,
            _ if has(change, Field::Type) => false,
            _ => has(change, Field::Size) || has(change, Field::Content),
        };
        let changes = reported_changes(report).into_iter().filter(wanted);
        let paths = changes.map(|change| names::path_buf(change.path.clone()));
        let paths: Vec<PathBuf> = paths.collect();
        if paths.is_empty() {
            continue;
        }
        let image = sinterfs::open_with(tree, open)?;
        let options = ExtractOptions {
            paths,
            owner: false,
            permissions: false,
            times: false,
            xattrs: false,
            continue_on_error: false,
            ..ExtractOptions::default()
        };
        let to = dir.join(side);
        std::fs::create_dir_all(&to)
            .map_err(|error| Error::io("cannot create the directory", error).path(&to))?;
        extract(&**image.raw(), &to, &options, observer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_above() {
        let above = |path: &'static [u8]| parents(path).collect::<Vec<_>>();
        assert_eq!(above(b"a/bc/d"), [&b""[..], b"a", b"a/bc"]);
        assert_eq!(above(b"a"), [b""]);
        assert!(above(b"").is_empty());
    }
}
