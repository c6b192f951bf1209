//! Prints an image as text: every inode with its header, one per line.
//!
//! In: an opened image. Out: lines that depend only on the image.
//!
//! **Invariant:** prints what is stored; inodes are in the order of the walk from the root.

use std::io::Write;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use crate::read::Romfs;

/// Writes an image as text.
pub fn dump(image: &Romfs, out: &mut dyn Write) -> Result<()> {
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    };
    let volume = String::from_utf8_lossy(image.volume());
    line(format_args!(
        "romfs at {:#x}, {} bytes, {volume:?}",
        image.offset(),
        image.window.len()
    ))?;
    for (number, node) in (1u64..).zip(&image.inodes.nodes) {
        let fields = &node.fields;
        line(format_args!(
            "inode {number} at {:#x} type {} executable {} info {:#x} size {} content {:#x}",
            node.at, fields.kind, fields.executable, fields.info, fields.size, fields.content
        ))?;
        for index in node.names.clone() {
            if let Some(entry) = image.inodes.name(index) {
                let name = String::from_utf8_lossy(&entry.name);
                line(format_args!("  {name:?} {}", u64::from(entry.node) + 1))?;
            }
        }
    }
    Ok(())
}
