//! Totals over all files, for `statfs` and upstream's tools.
//!
//! In: the tree and the chunks. Out: totals. **Invariant:** a total above 64 bits is an error.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "rows of the chunk table are those of the numbered files"
)]

use sinterfs_model::{Content, Error, Result, Tree};

use crate::write::chunks::Chunks;
use crate::write::numbering::Numbering;

/// The totals in the metadata, counted as upstream does.
pub(super) struct Totals {
    /// The bytes of files and symlink targets, each inode once.
    pub(super) bytes: u64,
    /// The same without holes.
    pub(super) allocated: u64,
    /// The bytes of files, once for each further link.
    pub(super) hard_links: u64,
}

impl Totals {
    pub(super) fn new(tree: &Tree, numbering: &Numbering, chunks: &Chunks) -> Result<Self> {
        let unique = (0..numbering.unique_files).map(|row| (row, 1));
        let shared = (numbering.unique_files..)
            .zip(&numbering.shared)
            .map(|(row, &n)| (row, n));
        let rows = unique
            .chain(shared)
            .flat_map(|(row, n)| (0..n).map(move |_| row));
        let (mut bytes, mut holes, mut hard_links) = (0_u64, 0_u64, 0_u64);
        let too_much = || Error::limit("files of more than 2^64 bytes in total");
        for (row, id) in rows.zip(&numbering.nodes[numbering.first_file()..]) {
            let size = chunks.sizes[row];
            let further = u64::from(tree.node(*id).links.saturating_sub(1));
            bytes = bytes.checked_add(size).ok_or_else(too_much)?;
            holes += chunks.hole_bytes.get(&(row as u32)).unwrap_or(&0);
            let more = size.checked_mul(further).ok_or_else(too_much)?;
            hard_links = hard_links.checked_add(more).ok_or_else(too_much)?;
        }
        for id in numbering.symlink_nodes() {
            if let Content::Symlink(target) = tree.node(*id).content {
                bytes = bytes
                    .checked_add(tree.bytes(target).len() as u64)
                    .ok_or_else(too_much)?;
            }
        }
        Ok(Self {
            bytes,
            allocated: bytes - holes,
            hard_links,
        })
    }
}
