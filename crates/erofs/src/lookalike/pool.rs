//! Extended attributes: attributes of several inodes are shared in one place, the rest follow their
//! inode.
//!
//! In: the attributes of one inode after the other. Out: the bytes after each inode, and the shared
//! attributes. **Invariant:** memory for attributes that were seen once is bounded; those that come
//! later are then not shared.

#![expect(
    clippy::cast_possible_truncation,
    reason = "every region of the address space is limited before a value is stored"
)]

use std::collections::HashMap;

use sinterfs_model::{Error, Result, Xattrs};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::regions::{DIRECTORIES, XATTRS};
use crate::layout::{XATTR_WORD, XattrHeader};
use crate::write::xattrs::{DroppedXattrs, SHARED_MAX, XattrPair};

/// The most bytes of attributes that are remembered after they were seen once.
const REMEMBERED: usize = 16 << 20;

/// Whether an attribute came before.
#[derive(Debug, Clone, Copy)]
enum Seen {
    Once,
    /// The offset among the shared ones in words.
    Shared(u32),
}

/// The attributes of all inodes so far.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub(super) bytes: Vec<u8>,
    seen: HashMap<Box<[u8]>, Seen>,
    remembered: usize,
    pub(super) dropped: DroppedXattrs,
}

impl Pool {
    /// Makes the attribute area of an inode; empty without attributes.
    pub(super) fn inline(&mut self, xattrs: &Xattrs) -> Result<Vec<u8>> {
        let (mut shared, mut own, mut entry) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in xattrs {
            let Some(pair) = XattrPair::new(name, value, || name.clone(), &mut self.dropped) else {
                continue;
            };
            entry.clear();
            pair.write(&mut entry);
            match self.place(&entry)? {
                Some(place) if shared.len() < SHARED_MAX => shared.push(U32::new(place)),
                _ => own.extend_from_slice(&entry),
            }
        }
        if shared.is_empty() && own.is_empty() {
            return Ok(Vec::new());
        }
        let header = XattrHeader {
            name_filter: U32::new(0),
            shared_count: shared.len() as u8,
            reserved: [0; 7],
        };
        Ok([header.as_bytes(), shared.as_bytes(), &own].concat())
    }

    /// Returns the offset of an attribute that is, or from now on will be, shared.
    fn place(&mut self, entry: &[u8]) -> Result<Option<u32>> {
        match self.seen.get_mut(entry) {
            Some(Seen::Shared(place)) => return Ok(Some(*place)),
            Some(seen) => {
                let place = self.bytes.len() as u64;
                if place + entry.len() as u64 > DIRECTORIES - XATTRS {
                    return Err(Error::limit("4 GiB of shared attributes"));
                }
                let word = (place / XATTR_WORD) as u32;
                *seen = Seen::Shared(word);
                self.bytes.extend_from_slice(entry);
                return Ok(Some(word));
            }
            None => {}
        }
        if self.remembered + entry.len() <= REMEMBERED {
            self.remembered += entry.len();
            self.seen.insert(entry.into(), Seen::Once);
        }
        Ok(None)
    }
}
