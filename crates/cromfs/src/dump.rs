//! Prints an image as text: the superblock, every fblock and every inode with its names.
//!
//! In: an opened image. Out: lines that depend only on the image.
//!
//! **Invariant:** prints what is stored, and what is damaged; inodes are in the order of the walk
//! from the root.

use std::fmt::Arguments;
use std::io::Write;

use sinterfs_model::{Error, Result};

use crate::read::Cromfs;

/// Writes an image as text.
pub fn dump(image: &Cromfs, out: &mut dyn Write) -> Result<()> {
    let head = image.head();
    let mut line = |line: Arguments<'_>| {
        writeln!(out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    };
    line(format_args!(
        "cromfs version {} at {:#x}, flags {:#x}, fblocks of {} bytes, blocks of {}, {} bytes",
        head.version.name(),
        image.offset(),
        image.features().0,
        head.fblock_size,
        head.block_size,
        head.bytes
    ))?;
    line(format_args!(
        "root {:#x} inode table {:#x} blocks {:#x} ({}) fblocks {:#x}",
        head.root_at,
        head.inotab_at,
        head.blocks_at,
        image.blocks(),
        head.fblocks_at
    ))?;
    for (number, place) in image.content.fblocks.places.iter().enumerate() {
        line(format_args!(
            "fblock {number} at {:#x} stored {} decoded {}",
            place.at, place.stored, place.len
        ))?;
    }
    for node in &image.inodes.nodes {
        let list = match image.inodes.inode(&image.content, node.number) {
            Ok(list) => list,
            Err(error) => {
                line(format_args!("inode {} damaged: {error}", node.number))?;
                continue;
            }
        };
        let fields = &list.fields;
        line(format_args!(
            "inode {} mode {:#o} owner {}:{} time {} links or device {} size {} blocks {} of {}",
            node.number,
            fields.mode,
            fields.uid,
            fields.gid,
            fields.mtime,
            fields.links_or_rdev,
            fields.size,
            list.count(),
            list.block_size
        ))?;
        for index in node.names.clone() {
            let Some(entry) = image.inodes.name(index) else {
                continue;
            };
            let target = image.inodes.nodes.get(entry.node as usize);
            let number = target.map_or(0, |node| node.number);
            let name = String::from_utf8_lossy(&entry.name);
            line(format_args!("  {name:?} {number}"))?;
        }
    }
    Ok(())
}
