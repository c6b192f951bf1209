//! Our own reader: everything, to the last extent.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_dwarfs::read::{Dwarfs, ReadOptions};
use sinterfs_model::{Cursor, ExtentSource, FileType, Image, Ino};

use crate::listing::{Entry, HASHED, Listing, sha256};
use crate::sample::Piece;

/// Opens an image.
pub fn open(image: &[u8]) -> Dwarfs {
    let source = Arc::new(MemorySource(image.to_vec()));
    Dwarfs::open(source, &ReadOptions::default()).expect("our reader opens the image")
}

/// Lists an image.
pub fn list(image: &dyn Image) -> Listing {
    let mut listing = Listing::new();
    let mut inodes = Vec::new();
    let mut stack = vec![(Vec::new(), image.info().root)];
    while let Some((path, ino)) = stack.pop() {
        if image.inode(ino).unwrap().kind == FileType::Directory {
            for (name, ino) in names(image, ino) {
                let mut child = path.clone();
                if !child.is_empty() {
                    child.push(b'/');
                }
                child.extend_from_slice(&name);
                stack.push((child, ino));
            }
        }
        listing.insert(path.clone(), entry(image, ino, path.clone()));
        inodes.push((path, ino));
    }
    let mut first: BTreeMap<Ino, Vec<u8>> = BTreeMap::new();
    inodes.sort();
    for (path, ino) in &inodes {
        first.entry(*ino).or_insert_with(|| path.clone());
    }
    for (path, ino) in inodes {
        if let Some(entry) = listing.get_mut(&path) {
            entry.first = first[&ino].clone();
        }
    }
    listing
}

/// Lists a directory, checking on the way that its entries are sorted and found by name.
fn names(image: &dyn Image, dir: Ino) -> Vec<(Vec<u8>, Ino)> {
    let mut names = Vec::new();
    image
        .read_dir(dir, Cursor::START, &mut |entry| {
            names.push((entry.name.to_vec(), entry.ino));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(names.is_sorted());
    for (name, ino) in &names {
        assert_eq!(image.lookup(dir, name).unwrap(), Some(*ino));
        if image.inode(*ino).unwrap().kind == FileType::Directory {
            assert_eq!(image.parent(*ino).unwrap(), dir);
        }
    }
    names
}

fn entry(image: &dyn Image, ino: Ino, path: Vec<u8>) -> Entry {
    let inode = image.inode(ino).unwrap();
    let is_file = inode.kind == FileType::File;
    let is_link = inode.kind == FileType::Symlink;
    let hash = (is_file && inode.size <= HASHED).then(|| {
        let mut bytes = vec![0; inode.size as usize + 1];
        assert_eq!(
            image.read_at(ino, 0, &mut bytes).unwrap() as u64,
            inode.size
        );
        bytes.pop();
        sha256(&bytes)
    });
    Entry {
        kind: inode.kind,
        mode: inode.meta.mode,
        uid: inode.meta.uid,
        gid: inode.meta.gid,
        modified: inode.meta.times.modified,
        size: if is_file { inode.size } else { 0 },
        hash,
        target: if is_link {
            image.read_link(ino).unwrap()
        } else {
            Vec::new()
        },
        rdev: inode.rdev,
        first: path,
        nlink: if is_file { inode.nlink } else { 1 },
    }
}

/// Reads a file as data and holes, neighbours joined.
pub fn pieces(image: &dyn Image, ino: Ino) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut extents = Vec::new();
    image
        .extents(ino, 0, &mut |extent| {
            extents.push(extent);
            ControlFlow::Continue(())
        })
        .unwrap();
    for extent in extents {
        let piece = match extent.source {
            ExtentSource::Hole => Piece::Hole(extent.len),
            ExtentSource::Block { .. } => {
                let mut bytes = vec![0; extent.len as usize];
                assert_eq!(
                    image.read_at(ino, extent.offset, &mut bytes).unwrap(),
                    bytes.len()
                );
                Piece::Data(bytes)
            }
        };
        match (pieces.last_mut(), piece) {
            (Some(Piece::Hole(last)), Piece::Hole(len)) => *last += len,
            (Some(Piece::Data(last)), Piece::Data(bytes)) => last.extend(bytes),
            (_, piece) => pieces.push(piece),
        }
    }
    pieces
}
