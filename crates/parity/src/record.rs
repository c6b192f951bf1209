//! A record that is complete: its bytes, in order.
//!
//! In: the layout, the checksums of all shards, the shards of parity in a scratch file. Out: the
//! bytes of the record. Spec: `docs/formats/parity.md`, "Record".

use std::fs::File;

use sinterfs_model::Result;

use crate::layout::{COPIES, ParityLayout};
use crate::shards::{length, load};
use crate::table;

/// Bytes that are passed on at once.
const STEP: u64 = 1 << 20;

/// A complete record.
#[derive(Debug)]
pub struct ParityRecord {
    layout: ParityLayout,
    sums: Vec<u64>,
    set: u64,
    scratch: File,
}

impl ParityRecord {
    pub(crate) fn new(layout: ParityLayout, sums: Vec<u64>, scratch: File) -> Self {
        let set = table::set_of(&sums);
        Self {
            layout,
            sums,
            set,
            scratch,
        }
    }

    /// Returns the numbers of the record.
    pub fn layout(&self) -> &ParityLayout {
        &self.layout
    }

    pub(crate) fn set(&self) -> u64 {
        self.set
    }

    pub(crate) fn sums(&self) -> &[u64] {
        &self.sums
    }

    /// Passes the bytes of the record to `out`, in order.
    pub fn for_each_part(&self, mut out: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let table = table::write(&self.sums, self.set);
        let half = u64::from(self.layout.parity.div_ceil(2)) * self.layout.shard;
        let all = u64::from(self.layout.parity) * self.layout.shard;
        for (copy, range) in [0..half, half..all, all..all].into_iter().enumerate() {
            debug_assert!(copy < COPIES);
            out(&self.layout.header(copy, self.set))?;
            out(&table)?;
            let mut at = range.start;
            let mut buf = vec![0; length(STEP.min(range.end - range.start))?];
            while at < range.end {
                let part = buf.split_at_mut(length(STEP.min(range.end - at))?).0;
                load(&self.scratch, part, at)?;
                out(part)?;
                at += part.len() as u64;
            }
        }
        Ok(())
    }
}
