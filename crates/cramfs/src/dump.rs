//! Prints an image as text: the superblock and every inode with its blocks, one item per line.
//!
//! In: an opened image. Out: lines that depend only on the image, for people and for golden tests.
//!
//! **Invariant:** prints what is stored, and what is damaged; inodes are in the order of the walk
//! from the root.

use std::io::Write;

use sinterfs_model::{Error, FileType, Result};

use crate::layout::InodeFields;
use crate::read::{Cramfs, Stored};

/// Writes an image as text.
pub fn dump(image: &Cramfs, out: &mut dyn Write) -> Result<()> {
    let head = image.head();
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    };
    line(format_args!(
        "cramfs version {} at {:#x}, {} bytes, {}, blocks of {}",
        head.version(),
        image.offset() + head.at,
        head.size,
        head.order.name(),
        image.block_size()
    ))?;
    line(format_args!(
        "flags {:#x} checksum {:#010x} edition {} blocks {} files {} name {:?}",
        head.flags.0,
        head.checksum,
        head.edition,
        head.blocks,
        head.files,
        String::from_utf8_lossy(head.label())
    ))?;
    for (number, node) in (1u64..).zip(image.nodes.all()) {
        let fields = &node.fields;
        line(format_args!(
            "inode {number} at {:#x} in {} mode {:#o} owner {}:{} size {} offset {:#x} {:?}",
            node.at,
            u64::from(node.parent) + 1,
            fields.mode,
            fields.uid,
            fields.gid,
            fields.size,
            fields.offset(),
            String::from_utf8_lossy(image.nodes.name(node))
        ))?;
        if matches!(node.kind, FileType::File | FileType::Symlink) {
            match blocks(image, fields) {
                Ok(blocks) => line(format_args!("  {blocks}"))?,
                Err(error) if error.is_about_image() => line(format_args!("  damaged: {error}"))?,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Returns the stored lengths of the blocks of a file, with the start of each run.
fn blocks(image: &Cramfs, file: &InodeFields) -> Result<String> {
    let (mut shown, mut end) = (String::from("blocks"), None);
    for block in image.blocks.locate(file, 0..image.blocks.count(file))? {
        if end != Some(block.position) {
            shown += &format!(" at {:#x}", block.position);
        }
        end = Some(block.position + u64::from(block.len));
        shown += &match block.stored {
            Stored::Hole => " hole".to_owned(),
            Stored::Raw => format!(" {} raw", block.len),
            Stored::Zlib => format!(" {}", block.len),
        };
    }
    Ok(shown)
}
