//! Extended attributes: what several inodes have is in one place, the rest behind its inode.
//!
//! In: the attributes of one inode after the other. Out: what is behind it, and the shared ones.
//! **Invariant:** memory for what was seen once is bounded; what was seen later is not shared then.

use std::collections::HashMap;

use sinterfs_model::{Error, Result, Xattrs};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::{DIRECTORIES, XATTRS};
use crate::layout::{XATTR_WORD, XattrHeader};
use crate::write::xattrs::{DroppedXattrs, SHARED_MAX, XattrPair};

/// The most bytes of attributes of which it is remembered that they were seen.
const REMEMBERED: usize = 16 << 20;

/// How an attribute was met before.
#[derive(Debug, Clone, Copy)]
enum Seen {
    Once,
    /// Its place among the shared ones, in words.
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
    /// Makes what is behind an inode with such attributes; empty if that is nothing.
    pub(super) fn inline(&mut self, xattrs: &Xattrs) -> Result<Vec<u8>> {
        let (mut shared, mut own, mut entry) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in xattrs {
            let Some(pair) = XattrPair::new(name, value, &mut self.dropped) else {
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

    /// Returns the place of an attribute that is, or from now on will be, shared.
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
