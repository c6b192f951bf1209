//! Encodes the section of extended attributes.
//!
//! In: the attribute set of each inode, and the hash of the metadata. Out: the section's content.
//! **Invariant:** sets are numbered in the order of first use, so the bytes depend only on the
//! inodes. Spec: `docs/formats/dwarfs-extensions.md`.

#![expect(
    clippy::cast_possible_truncation,
    reason = "there are at most as many as inodes, whose number has 31 bits"
)]

use std::collections::HashMap;

use sinterfs_model::{Error, Result, XattrSet, XattrSets};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

use crate::layout::xattrs::{MAGIC, Pair, VERSION, XattrTableHeader, XattrTableRow, is_name};

/// Encodes `(inode, set)` pairs, ascending by inode, for metadata of the given hash. `Limit` for
/// more than 4 GiB of different sets. Attributes with invalid names are left out.
pub(crate) fn encode(
    inodes: &[(u32, XattrSet)],
    sets: &XattrSets,
    metadata: u64,
) -> Result<Vec<u8>> {
    let storable = |pair: &(&[u8], &[u8])| is_name(pair.0);
    let mut numbers = HashMap::new();
    let mut order = Vec::new();
    let mut rows = Vec::with_capacity(inodes.len());
    for &(inode, set) in inodes {
        let number = *numbers.entry(set).or_insert_with(|| {
            order.push(set);
            order.len() as u32 - 1
        });
        rows.push(XattrTableRow {
            inode: U32::new(inode),
            set: U32::new(number),
        });
    }
    let mut starts = Vec::with_capacity(order.len() + 1);
    let mut bytes = Vec::new();
    for &set in &order {
        starts.push(offset(bytes.len())?);
        for (name, value) in sets.pairs(set).filter(storable) {
            let pair = Pair {
                name: offset(name.len())?,
                value: offset(value.len())?,
            };
            bytes.extend_from_slice(pair.as_bytes());
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(value);
        }
    }
    starts.push(offset(bytes.len())?);
    let header = XattrTableHeader {
        magic: MAGIC,
        version: U32::new(VERSION),
        inodes: U32::new(rows.len() as u32),
        metadata: U64::new(metadata),
        sets: U32::new(order.len() as u32),
        reserved: U32::new(0),
    };
    let tables = [
        header.as_bytes(),
        rows.as_bytes(),
        starts.as_bytes(),
        &bytes,
    ];
    Ok(tables.concat())
}

fn offset(len: usize) -> Result<U32> {
    let len = u32::try_from(len);
    len.map(U32::new)
        .map_err(|_| Error::limit("more than 4 GiB of extended attributes in a DwarFS image"))
}
