//! Prints an image as text: the descriptors and every inode with its sections, one item per line.
//!
//! In: an opened image. Out: lines that depend only on the image, for people and for golden tests.
//!
//! **Invariant:** prints what is stored, and what is damaged; inodes are in the order of the walk
//! from the root.

use std::io::Write;

use sinterfs_model::{Error, FileType, Image, Ino, Result};

use crate::layout::VolumeFields;
use crate::read::Iso9660;

/// Writes an image as text. The error of a boot catalog is returned after everything is written.
pub fn dump(image: &Iso9660, out: &mut dyn Write) -> Result<()> {
    let volumes = image.volumes();
    let mut line = |line: String| {
        writeln!(out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    };
    line(format!(
        "iso9660 at {:#x}, names by {:?}",
        image.offset(),
        image.names()
    ))?;
    line(format!("sessions at {:?}", image.sessions()))?;
    line(volume("primary", &volumes.primary))?;
    for (name, fields) in [("joliet", &volumes.joliet), ("enhanced", &volumes.enhanced)] {
        if let Some(fields) = fields {
            line(volume(name, fields))?;
        }
    }
    let mut failed = Ok(());
    if let Some(catalog) = image.boot_catalog() {
        match catalog {
            Ok(catalog) => line(format!("{catalog:?}"))?,
            Err(error) => {
                let kept = Error::new(error.kind(), error.to_string());
                line(damaged(error)?)?;
                failed = Err(kept);
            }
        }
    }
    for (number, node) in (1u64..).zip(image.nodes.all()) {
        let inode = match image.inode(Ino(number)) {
            Ok(inode) => inode,
            Err(error) => {
                line(format!("inode {number} {}", damaged(error)?))?;
                continue;
            }
        };
        line(format!(
            "inode {number} at {:#x} {:?} mode {:#o} owner {}:{} links {} size {}",
            node.record, node.kind, node.mode, node.uid, node.gid, inode.nlink, inode.size
        ))?;
        match node.kind {
            FileType::Directory => {
                for entry in image.nodes.entries(node) {
                    let name = String::from_utf8_lossy(image.nodes.name(entry));
                    line(format!("  {} {name:?}", u64::from(entry.node) + 1))?;
                }
            }
            FileType::File => {
                for section in image.nodes.sections(node).iter() {
                    line(format!("  block {} bytes {}", section.block, section.len))?;
                }
                if let Err(error) = image.stored_blocks(Ino(number), &mut |_, _, _| {}) {
                    line(format!("  {}", damaged(error)?))?;
                }
            }
            _ => {}
        }
    }
    failed
}

/// Returns the words for what is damaged; an error that is not about the image is returned.
fn damaged(error: Error) -> Result<String> {
    if error.is_about_image() {
        return Ok(format!("damaged: {error}"));
    }
    Err(error)
}

fn volume(name: &str, fields: &VolumeFields) -> String {
    format!(
        "{name} version {} {:?} blocks {} of {} root at {} volume {:?}",
        fields.version,
        fields.characters,
        fields.blocks,
        fields.block_size,
        fields.root().block,
        String::from_utf8_lossy(&fields.volume)
    )
}
