//! The listing of mksquashfs `-info`: the files of an image.
//!
//! Enters an image; leaves lines: first files, with their sizes and shared parts, then the rest,
//! with inode numbers, directories after their entries. **Invariant:** each name is listed once, in
//! the order of the image. Facts: the output of mksquashfs 4.7.5, beside which a test runs. Memory:
//! 24 bytes for each file with content, and a path for each inode with several names.

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;

use sinterfs::model::{ExtentSource, Image, Ino};
use sinterfs::ops::{ListOptions, Row, Unread, WalkStep, list};
use sinterfs::{Error, FileType, Result};

/// Where the first bytes of a file are stored, and how many it has.
type Stored = (u64, u64, u64);

/// Writes the lines. The image was just written: what cannot be read of it is an error.
pub fn write(image: &dyn Image, out: &mut dyn Write) -> Result<()> {
    let options = ListOptions {
        recursive: true,
        itself: false,
    };
    let mut emit = |line: &[u8]| {
        let written = out.write_all(line);
        written.map_err(|error| Error::io("cannot write the list of files", error))
    };
    let root = image.info().root;
    let mut seen = HashSet::new();
    let mut unread = Unread::default();
    list(image, root, b"", options, &mut unread, &mut |row| {
        if row.kind == FileType::File {
            let stored = stored(image, row)?;
            let is_first = stored.is_none_or(|stored| seen.insert(stored));
            emit(&file_line(row, !is_first))?;
        }
        Ok(WalkStep::On)
    })?;
    // directories whose content is being listed
    let mut open: Vec<(Vec<u8>, Ino)> = Vec::new();
    list(image, root, b"", options, &mut unread, &mut |row| {
        while let Some((path, ino)) = open.pop_if(|(path, _)| !is_below(&row.path, path)) {
            emit(&inode_line("directory", &path, ino, false))?;
        }
        let kind = match row.kind {
            FileType::File => return Ok(WalkStep::On),
            FileType::Directory => {
                open.push((row.path.clone(), row.ino));
                return Ok(WalkStep::On);
            }
            FileType::Symlink => "symbolic link",
            FileType::CharDevice => "character device",
            FileType::BlockDevice => "block device",
            FileType::Fifo => "fifo",
            FileType::Socket => "unix domain socket",
        };
        emit(&inode_line(kind, &row.path, row.ino, row.link.is_some()))?;
        Ok(WalkStep::On)
    })?;
    while let Some((path, ino)) = open.pop() {
        emit(&inode_line("directory", &path, ino, false))?;
    }
    emit(&inode_line("directory", b"", root, false))?;
    unread.into_errors().into_iter().next().map_or(Ok(()), Err)
}

/// Returns where content is stored; nothing if it has none, or begins with a hole.
fn stored(image: &dyn Image, row: &Row) -> Result<Option<Stored>> {
    let mut first = None;
    if row.link.is_none() && row.size > 0 {
        image.extents(row.ino, 0, &mut |extent| {
            if let ExtentSource::Block { block, offset } = extent.source {
                first = Some((block, offset, row.size));
            }
            ControlFlow::Break(())
        })?;
    }
    Ok(first)
}

fn file_line(row: &Row, is_duplicate: bool) -> Vec<u8> {
    let shared = match (&row.link, is_duplicate) {
        (Some(_), _) => "LINK",
        (None, true) => "DUPLICATE",
        (None, false) => "",
    };
    let size = format!(", uncompressed size {} bytes {shared}\n", row.size);
    [b"file /", &*row.path, size.as_bytes()].concat()
}

fn inode_line(kind: &str, path: &[u8], ino: Ino, is_link: bool) -> Vec<u8> {
    let link = if is_link { " LINK" } else { "" };
    let inode = format!(" inode 0x{:x}{link}\n", ino.0);
    [kind.as_bytes(), b" /", path, inode.as_bytes()].concat()
}

/// Returns whether a path is below a directory.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with(b"/"))
}
