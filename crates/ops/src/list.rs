//! Turns an image into rows: what `ls`, `ls -l`, `ls -lR` and JSON show.
//!
//! **Invariant:** memory holds one row at a time, and a path for every inode that has several
//! names.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sinterfs_model::{Error, FileType, Image, Ino, Kind, Rdev, Result, Times};

use crate::unread::Unread;
use crate::walk::{Visit, WalkStep, walk};

/// One name in an image with all that is known of its inode.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The path; bytes, as names need not be text.
    pub path: Vec<u8>,
    /// The type.
    pub kind: FileType,
    /// Permission bits, set-id bits and the sticky bit.
    pub mode: u16,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The size in bytes; of a directory the format's own measure.
    pub size: u64,
    /// Bytes that are not in holes.
    pub allocated: u64,
    /// The times.
    pub times: Times,
    /// The number of names.
    pub nlink: u32,
    /// The inode number.
    pub ino: Ino,
    /// The target of a symlink.
    pub target: Option<Vec<u8>>,
    /// The number of a device.
    pub rdev: Option<Rdev>,
    /// The first path in this listing with the same inode, where this is not the first.
    pub link: Option<Vec<u8>>,
}

/// The contents of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListOptions {
    /// Shows everything below a directory and not only its entries.
    pub recursive: bool,
    /// Shows the start itself and not what it holds, as `ls -d` does.
    pub itself: bool,
}

/// Makes the row of an inode under the path that the caller knows it by.
pub fn row(image: &dyn Image, ino: Ino, path: &[u8]) -> Result<Row> {
    let inode = image.inode(ino)?;
    let device = matches!(inode.kind, FileType::CharDevice | FileType::BlockDevice);
    let symlink = inode.kind == FileType::Symlink;
    Ok(Row {
        path: path.to_vec(),
        kind: inode.kind,
        mode: inode.meta.mode,
        uid: inode.meta.uid,
        gid: inode.meta.gid,
        size: inode.size,
        allocated: inode.allocated,
        times: inode.meta.times,
        nlink: inode.nlink,
        ino,
        target: symlink.then(|| image.read_link(ino)).transpose()?,
        rdev: device.then_some(inode.rdev),
        link: None,
    })
}

/// Shows rows in bytewise order of names, depth first, until the visitor stops.
///
/// `path` is the prefix of the names; a start that is not a directory is shown itself. Entries that
/// the listing or the visitor cannot read go to `unread`, and the listing continues.
pub fn list(
    image: &dyn Image,
    start: Ino,
    path: &[u8],
    options: ListOptions,
    unread: &mut Unread,
    show: &mut dyn FnMut(&Row) -> Result<WalkStep>,
) -> Result<()> {
    let itself = row(image, start, path)?;
    if options.itself || itself.kind != FileType::Directory {
        if let Err(error) = show(&itself) {
            unread.note(path, error)?;
        }
        return Ok(());
    }
    let mut first_paths: HashMap<Ino, Vec<u8>> = HashMap::new();
    walk(image, start, &mut |visit| {
        let entry = match visit {
            Visit::Enter(entry) => entry,
            Visit::Broken(entry, error) => {
                unread.note(&join(path, entry.path), error)?;
                return Ok(WalkStep::On);
            }
            Visit::Leave(_) => return Ok(WalkStep::On),
        };
        let path = join(path, entry.path);
        let row = row(image, entry.ino, &path).map_err(Error::into_corrupt_entry);
        let Some(mut row) = unread.settle(&path, row)? else {
            return Ok(WalkStep::Over);
        };
        if row.nlink > 1 && row.kind != FileType::Directory {
            row.link = first_paths.get(&row.ino).cloned();
            if row.link.is_none() {
                first_paths.insert(row.ino, row.path.clone());
            }
        }
        let shown = unread.settle(&path, show(&row))?;
        Ok(match shown.unwrap_or(WalkStep::On) {
            WalkStep::On if !options.recursive => WalkStep::Over,
            step => step,
        })
    })
}

/// Looks at all of an image but content: directories, inodes, targets, attributes and extents. What
/// cannot be read goes to `unread`.
pub fn survey(image: &dyn Image, unread: &mut Unread) -> Result<()> {
    let options = ListOptions {
        recursive: true,
        itself: false,
    };
    let root = image.info().root;
    unread.settle(b"", image.xattrs(root))?;
    list(image, root, b"", options, unread, &mut |row| {
        image.xattrs(row.ino)?;
        if row.kind == FileType::File {
            match image.extents(row.ino, 0, &mut |_| ControlFlow::Continue(())) {
                // content that is elsewhere is no damage
                Err(error) if error.is_about_image() && error.kind() != Kind::Corrupt => {}
                shown => shown?,
            }
        }
        Ok(WalkStep::On)
    })
}

pub(crate) fn join(start: &[u8], path: &[u8]) -> Vec<u8> {
    if start.is_empty() || start.ends_with(b"/") || path.is_empty() {
        return [start, path].concat();
    }
    [start, b"/", path].concat()
}
