//! Prints a file system as text: every inode with its fields, one per line.
//!
//! In: an opened image. Out: lines that depend only on the image.
//!
//! **Invariant:** prints what is stored; inodes are in the order of the walk from the root.

use std::io::Write;

use sinterfs_model::{Error, Result};

use crate::read::Fat;

/// Writes an image as text.
pub fn dump(image: &Fat, out: &mut dyn Write) -> Result<()> {
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    };
    let boot = &image.boot;
    line(format_args!(
        "FAT{} at {:#x}, {} bytes, {} clusters of {} from {:#x}, table at {:#x}, serial {:08x}, \
         {:?}",
        boot.kind.name(),
        image.offset(),
        boot.len,
        boot.clusters,
        boot.cluster,
        boot.data,
        boot.table,
        boot.serial,
        image.label()
    ))?;
    for (number, node) in (1_u64..).zip(&image.nodes.nodes) {
        line(format_args!(
            "inode {number} directory {} read-only {} size {} modified {}",
            node.is_directory, node.is_read_only, node.size, node.modified.secs
        ))?;
        for run in image.nodes.runs(node) {
            line(format_args!(
                "  clusters {:#x} + {}",
                run.cluster, run.count
            ))?;
        }
        if let Some(damage) = &node.damage {
            line(format_args!("  damaged: {}", damage.what))?;
        }
        for name in image.nodes.names(node) {
            let shown = String::from_utf8_lossy(&name.name);
            line(format_args!("  {shown:?} {}", u64::from(name.node) + 1))?;
        }
    }
    Ok(())
}
