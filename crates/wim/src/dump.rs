//! Prints an image as text: headers, resources, blobs and every inode, one item per line.
//!
//! In: an opened image. Out: lines that depend only on the image, for people and for golden tests.
//!
//! **Invariant:** prints what is stored; inodes are in the order of the walk from the root.

use std::io::Write;

use sinterfs_model::{Error, Result};

use crate::read::{ResourceKind, Wim};

/// Writes an image as text.
pub fn dump(image: &Wim, out: &mut dyn Write) -> Result<()> {
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(out, "{line}").map_err(|error| Error::io("cannot write the dump", error))
    };
    for file in &image.contents.parts {
        let header = &file.header;
        line(format_args!(
            "wim version {:#x} flags {:#x} chunks of {} part {} of {} images {} boot {} guid {}",
            header.version,
            header.flags.0,
            header.chunk_size,
            header.part,
            header.parts,
            header.images,
            header.boot_image,
            hex(&header.guid)
        ))?;
    }
    for image in &image.images {
        line(format_args!("image {} {:?}", image.number, image.name))?;
    }
    let table = &image.contents.table;
    for (number, resource) in table.resources.iter().enumerate() {
        let kind = match resource.kind {
            ResourceKind::Raw => "raw",
            ResourceKind::Chunks(_) => "chunks",
            ResourceKind::Pipable(_) => "pipable",
            ResourceKind::Solid(_) => "solid",
        };
        let encoding = resource.encoding();
        line(format_args!(
            "resource {number} part {} at {:#x} stored {} decoded {} {kind} {} {}",
            resource.part,
            resource.at,
            resource.stored,
            resource.len,
            encoding.map_or("none", |encoding| encoding.codec.name()),
            encoding.map_or(0, |encoding| encoding.chunk_size)
        ))?;
    }
    for (number, blob) in table.blobs.iter().enumerate() {
        line(format_args!(
            "blob {number} resource {} at {:#x} size {} references {} sha1 {}",
            blob.resource,
            blob.at,
            blob.len,
            blob.references,
            hex(&blob.digest)
        ))?;
    }
    for (number, node) in (1..).zip(&image.nodes.all) {
        line(format_args!(
            "inode {number} {} mode {:#o} owner {}:{} rdev {:#x} time {} links {} attributes {:#x} \
             tag {:#x} blob {} in {}",
            node.kind.letter(),
            node.mode,
            node.uid,
            node.gid,
            node.rdev,
            node.modified,
            node.links,
            node.attributes,
            node.tag,
            i64::from(node.blob.cast_signed()),
            node.parent + 1
        ))?;
        for entry in node.names.clone() {
            if let Some((name, index)) = image.nodes.name(entry) {
                let name = String::from_utf8_lossy(name);
                line(format_args!("  {} {name:?}", u64::from(index) + 1))?;
            }
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
