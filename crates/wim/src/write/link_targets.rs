//! The targets of links of a solid image: one more solid resource, since each is short.
//!
//! In: the data of reparse points. Out: the resource, and an entry for it and for each of them.
//!
//! **Invariant:** no two entries have one digest. The resource comes after the metadata, so that
//! its entries are separate from the entries of the content: readers count positions from the first
//! solid entry of a run. Memory: the data of all links that differ.

use std::collections::HashMap;

use sinterfs_block::checksum::{Sha1, Sha1Digest, xxh3_64};
use sinterfs_model::Result;
use sinterfs_workers::WorkerPermits;

use super::compression::{ChunkEncoder, WimCompression};
use super::encoder::Raw;
use super::resources::{Fingerprint, Resources};
use super::solid::Solid;
use crate::layout::WimCodec;

/// Targets that were not written yet.
#[derive(Debug, Default)]
pub(super) struct LinkTargets {
    bytes: Vec<u8>,
    targets: Vec<KnownTarget>,
    by_digest: HashMap<Sha1Digest, usize>,
}

#[derive(Debug)]
struct KnownTarget {
    start: u32,
    references: u32,
}

impl LinkTargets {
    /// Counts a reference to some data, and returns its digest.
    pub(super) fn add(&mut self, data: &[u8], resources: &mut Resources) -> Result<Sha1Digest> {
        let mut digest = Sha1::default();
        digest.update(data);
        let digest = digest.finish();
        let print = Fingerprint {
            len: data.len() as u64,
            hash: xxh3_64(data),
        };
        // a file may have the same bytes
        if let Some(index) = resources.known(&digest, print)? {
            return Ok(resources.refer(index));
        }
        let start = u32::try_from(self.bytes.len());
        let start = start.map_err(|_| sinterfs_model::Error::limit("4 GiB of targets of links"))?;
        let next = self.targets.len();
        let index = *self.by_digest.entry(digest).or_insert(next);
        if index == next {
            self.bytes.extend_from_slice(data);
            self.targets.push(KnownTarget {
                start,
                references: 0,
            });
        }
        if let Some(target) = self.targets.get_mut(index) {
            target.references = target.references.saturating_add(1);
        }
        Ok(digest)
    }

    /// Writes the resource.
    pub(super) fn finish(
        self,
        codec: WimCodec,
        (compression, chunk_size): (WimCompression, u32),
        resources: &mut Resources,
    ) -> Result<()> {
        let mut solid = Solid::new(codec, chunk_size);
        let mut encoder = ChunkEncoder::default();
        let permits = WorkerPermits::default();
        let mut starts = self.targets.iter().map(|target| target.start).peekable();
        for (chunk, number) in self.bytes.chunks(chunk_size as usize).zip(0_u32..) {
            let first = number.saturating_mul(chunk_size);
            let end = u64::from(first) + chunk.len() as u64;
            let within = |start: &u32| u64::from(*start) < end;
            let begins = std::iter::from_fn(|| starts.next_if(within));
            let raw = Raw {
                begins: begins.map(|start| start - first).collect(),
                bytes: chunk.to_vec().into(),
            };
            let stored = encoder.encode(chunk, compression, chunk_size, &permits)?;
            solid.chunk(&stored, &raw, resources)?;
        }
        let first = resources.entries.len();
        solid.finish(resources)?;
        // after the entry of the resource itself
        let entries = resources.entries.iter_mut().skip(first + 1);
        for (entry, target) in entries.zip(&self.targets) {
            entry.references = target.references;
        }
        Ok(())
    }
}
