//! Whether two trees are equal: names, types, permissions, link targets and every byte.
//!
//! Owners and times are not compared: an extraction without root has others.

use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Fails with the first difference of the second tree from the first.
pub fn equal(expected: &Path, found: &Path) -> Result<(), String> {
    let (a, b) = (status(expected)?, status(found)?);
    let differs = |what: &str| Err(format!("{}: {what} differs", found.display()));
    if kind(&a) != kind(&b) {
        return differs("the type");
    }
    if a.is_symlink() {
        return match (fs::read_link(expected), fs::read_link(found)) {
            (Ok(a), Ok(b)) if a == b => Ok(()),
            _ => differs("the target"),
        };
    }
    if a.mode() & 0o7777 != b.mode() & 0o7777 {
        return differs("the mode");
    }
    if a.is_dir() {
        let (names, others) = (names(expected)?, names(found)?);
        if names != others {
            return differs("the list of names");
        }
        for name in names {
            equal(&expected.join(&name), &found.join(&name))?;
        }
    } else if a.is_file() {
        if a.len() != b.len() || !contents(expected, found)? {
            return differs("the content");
        }
    } else if (kind(&a) == 'b' || kind(&a) == 'c') && a.rdev() != b.rdev() {
        return differs("the device number");
    }
    Ok(())
}

fn status(path: &Path) -> Result<Metadata, String> {
    fs::symlink_metadata(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn kind(status: &Metadata) -> char {
    let kind = status.file_type();
    let kinds = [
        (kind.is_dir(), 'd'),
        (kind.is_file(), 'f'),
        (kind.is_symlink(), 'l'),
        (kind.is_block_device(), 'b'),
        (kind.is_char_device(), 'c'),
        (kind.is_fifo(), 'p'),
    ];
    let found = kinds.into_iter().find(|(is_kind, _)| *is_kind);
    found.map_or('s', |(_, letter)| letter)
}

fn names(dir: &Path) -> Result<Vec<std::ffi::OsString>, String> {
    let error = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(error)? {
        names.push(entry.map_err(error)?.file_name());
    }
    names.sort();
    Ok(names)
}

fn contents(expected: &Path, found: &Path) -> Result<bool, String> {
    let error = |e: std::io::Error| format!("{}: {e}", found.display());
    let (mut a, mut b) = (
        fs::File::open(expected).map_err(error)?,
        fs::File::open(found).map_err(error)?,
    );
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let len = a.read(&mut left).map_err(error)?;
        if len == 0 {
            return Ok(b.read(&mut right).map_err(error)? == 0);
        }
        if b.read_exact(&mut right[..len]).is_err() || left[..len] != right[..len] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn each_kind_of_difference_is_found() {
        let work = crate::workspace::target().join(format!("compare-{}", std::process::id()));
        let make = |name: &str| {
            let dir = work.join(name);
            fs::create_dir_all(dir.join("sub")).unwrap();
            fs::write(dir.join("sub/file"), vec![7; 200_000]).unwrap();
            symlink("sub/file", dir.join("link")).unwrap();
            dir
        };
        let a = make("a");
        type Change = fn(&Path);
        let changes: [(&str, Change); 6] = [
            ("names", |dir| fs::write(dir.join("more"), "").unwrap()),
            ("content", |dir| {
                let mut bytes = vec![7; 200_000];
                bytes[199_999] = 8;
                fs::write(dir.join("sub/file"), bytes).unwrap();
            }),
            ("content", |dir| {
                fs::write(dir.join("sub/file"), "7").unwrap();
            }),
            ("target", |dir| {
                fs::remove_file(dir.join("link")).unwrap();
                symlink("sub", dir.join("link")).unwrap();
            }),
            ("type", |dir| {
                fs::remove_file(dir.join("link")).unwrap();
                fs::create_dir(dir.join("link")).unwrap();
            }),
            ("mode", |dir| {
                fs::set_permissions(dir.join("sub"), fs::Permissions::from_mode(0o700)).unwrap();
            }),
        ];
        fs::set_permissions(a.join("sub"), fs::Permissions::from_mode(0o755)).unwrap();
        for (what, change) in changes {
            let b = make("b");
            fs::set_permissions(b.join("sub"), fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(equal(&a, &b), Ok(()));
            change(&b);
            let message = equal(&a, &b).unwrap_err();
            assert!(message.contains(what), "{message}");
            fs::remove_dir_all(&b).unwrap();
        }
        fs::remove_dir_all(&work).unwrap();
    }
}
