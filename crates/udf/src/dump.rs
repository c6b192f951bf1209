//! Prints a file system as text: the volume, then every inode with its names and extents.
//!
//! In: an opened image. Out: lines that depend on the image only.

use std::io::Write;

use sinterfs_model::{Error, Result};

use crate::read::{UNSTORED, Udf, UdfContent};

/// Writes an image as text.
pub fn dump(image: &Udf, out: &mut dyn Write) -> Result<()> {
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    };
    let volume = &image.volume;
    line(format_args!(
        "UDF {:#06x} at {:#x}, blocks of {} bytes, {:?} in {:?}",
        volume.revision,
        image.offset(),
        volume.block,
        volume.label,
        volume.set
    ))?;
    for partition in &volume.partitions {
        line(format_args!(
            "partition {}: {} blocks from {}",
            partition.number, partition.len, partition.start
        ))?;
    }
    for (number, node) in (1_u64..).zip(&image.nodes.nodes) {
        line(format_args!(
            "inode {number} {} {:04o} {}:{} size {} links {}",
            node.kind.letter(),
            node.meta.mode,
            node.meta.uid,
            node.meta.gid,
            node.size,
            node.links
        ))?;
        if let Some(damage) = &node.damage {
            line(format_args!("  damaged: {}", damage.error()))?;
        }
        if let UdfContent::Inline(at) = node.content {
            line(format_args!("  in its entry at {at:#x}"))?;
        } else {
            for run in image.pieces(&node.content, node.size) {
                let (start, len) = (run.start, run.len);
                if run.at == UNSTORED {
                    line(format_args!("  {len} bytes from {start:#x}: zeros"))?;
                } else {
                    line(format_args!(
                        "  {len} bytes from {start:#x}: at {:#x}",
                        run.at
                    ))?;
                }
            }
        }
        for stream in image.nodes.streams(node) {
            let name = String::from_utf8_lossy(&stream.name);
            line(format_args!("  stream {name:?} of {} bytes", stream.size))?;
        }
        for entry in image.nodes.names(node) {
            let name = String::from_utf8_lossy(&entry.name);
            line(format_args!("  {name:?} {}", u64::from(entry.node) + 1))?;
        }
    }
    Ok(())
}
