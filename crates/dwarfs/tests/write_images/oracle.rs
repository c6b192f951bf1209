//! The `dwarfs` crate as a second reader: versions 2.3 to 2.5 without features, UTF-8 names,
//! modification times in seconds.

use dwarfs_oracle::{Archive, AsChunks, Dir, Inode, InodeKind};
use sinterfs_model::{FileType, Rdev, Time};

use crate::listing::{Entry, Listing, sha256};

/// Lists an image.
pub fn list(image: &[u8]) -> Listing {
    let (index, mut archive) = Archive::new(image).expect("the other reader opens the image");
    let mut listing = Listing::new();
    let root = index.root();
    listing.insert(Vec::new(), entry(root.into(), Vec::new(), &mut archive));
    walk(root, &[], &mut archive, &mut listing);
    listing
}

fn walk(dir: Dir<'_>, path: &[u8], archive: &mut Archive<&[u8]>, listing: &mut Listing) {
    for child in dir.entries() {
        let mut at = path.to_vec();
        if !at.is_empty() {
            at.push(b'/');
        }
        at.extend_from_slice(child.name().as_bytes());
        listing.insert(at.clone(), entry(child.inode(), at.clone(), archive));
        if let Some(dir) = child.inode().as_dir() {
            walk(dir, &at, archive, listing);
        }
    }
}

fn entry(inode: Inode<'_>, path: Vec<u8>, archive: &mut Archive<&[u8]>) -> Entry {
    let metadata = inode.metadata();
    let mode = metadata.file_type_mode();
    let (mut size, mut hash, mut target, mut rdev) = (0, None, Vec::new(), Rdev::default());
    match inode.classify() {
        InodeKind::File(file) => {
            let bytes = file.read_to_vec(archive).unwrap();
            size = bytes.len() as u64;
            hash = Some(sha256(&bytes));
        }
        InodeKind::Symlink(link) => target = link.target().as_bytes().to_vec(),
        InodeKind::Device(device) => rdev = Rdev::from_dev_t(device.device_id()),
        _ => {}
    }
    Entry {
        kind: FileType::from_mode(mode.0).unwrap(),
        mode: (mode.0 & 0o7777) as u16,
        uid: metadata.uid(),
        gid: metadata.gid(),
        modified: Time {
            secs: metadata.mtime() as i64,
            nanos: 0,
        },
        size,
        hash,
        target,
        rdev,
        first: path,
        nlink: 1,
    }
}
