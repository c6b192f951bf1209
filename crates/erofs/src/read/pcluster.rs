//! Pclusters: stored bytes to content.
//!
//! In: a pcluster and a range of its content. Out: these bytes, from the cache or decoded.
//!
//! **Invariant:** a pcluster of a file that is read whole is decoded straight into the reader's
//! memory, if it is not in the cache already; only pclusters that are read in part, and pclusters
//! of directories, are kept. Stored and decoded lengths are within the format's bounds.

use std::cell::Cell;

use sinterfs_block::cache::Opened;
use sinterfs_model::{Error, Result};

use super::erofs::Erofs;
use super::map::{Pcluster, PclusterLocation};
use super::meta_offset::Area;
use crate::codecs;
use crate::layout::{Algorithm, incompat};

thread_local! {
    /// The buffer of a thread for stored bytes before they are decoded.
    static STORED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Erofs {
    /// Reads content of a pcluster from an offset on; `keep` is whether it will be wanted again.
    pub(crate) fn read_pcluster(
        &self,
        cluster: &Pcluster,
        skip: u64,
        buf: &mut [u8],
        keep: bool,
    ) -> Result<()> {
        let key = self.key_of(cluster);
        let whole = skip == 0 && buf.len() as u64 == cluster.decoded;
        let read = if whole && !cluster.partial && !keep && !self.cache.holds(key) {
            self.decode(cluster, buf)
        } else {
            self.cache.read(key, skip, buf, || {
                // up to 12 MiB, as the map has checked
                let mut decoded = vec![0; usize::try_from(cluster.decoded).unwrap_or(0)];
                self.decode(cluster, &mut decoded)?;
                Ok(Opened::Decoded(decoded))
            })
        };
        read.map_err(|error| match cluster.location {
            PclusterLocation::Device(address) => error.at("cluster", address.at),
            PclusterLocation::Inline(meta) => meta.locate(error, "cluster"),
        })
    }

    /// Returns the cache key of a pcluster's content: its location, its length and how it is
    /// encoded.
    fn key_of(&self, cluster: &Pcluster) -> u128 {
        let (area, at) = match cluster.location {
            PclusterLocation::Device(address) => (0, address.at),
            PclusterLocation::Inline(meta) => match meta.area {
                Area::Image => (1, meta.at),
                Area::Metabox => (2, meta.at),
            },
        };
        let kind = u128::from(cluster.algorithm.number()) << 1 | u128::from(cluster.partial);
        let length = u128::from(cluster.decoded) << 8 | area << 4 | kind;
        self.cache_key | length << 64 | u128::from(at)
    }

    /// Decodes all of a pcluster that an extent uses.
    fn decode(&self, cluster: &Pcluster, content: &mut [u8]) -> Result<()> {
        // up to 1 MiB, as the map has checked
        let len = usize::try_from(cluster.stored).unwrap_or(0);
        let mut room = STORED.take();
        if room.len() < len {
            room.resize(len, 0);
        }
        let decoded = self.decode_in(cluster, room.split_at_mut(len).0, content);
        STORED.set(room);
        decoded
    }

    /// Decodes a pcluster after reading its stored bytes into a buffer.
    fn decode_in(&self, cluster: &Pcluster, stored: &mut [u8], content: &mut [u8]) -> Result<()> {
        match cluster.location {
            PclusterLocation::Device(address) => self.devices.read(address, stored)?,
            PclusterLocation::Inline(meta) => self.read_metadata(meta, stored)?,
        }
        let codec = codecs::codec(cluster.algorithm);
        let lz4 = cluster.algorithm == Algorithm::Lz4;
        if lz4 && !self.superblock.has(incompat::ZERO_PADDING) {
            // the padding follows the stream, which does not record its length
            return codec.decode_part(stored, content);
        }
        let stream = self.without_padding(stored)?;
        if cluster.partial {
            return codec.decode_part(stream, content);
        }
        match codec.decode(stream, content)? {
            found if found == content.len() => Ok(()),
            found => Err(Error::corrupt(format!(
                "expected {} decoded bytes, found {found}",
                content.len()
            ))),
        }
    }

    /// Removes the zeros in front of a stream, which are less than a block.
    fn without_padding<'b>(&self, stored: &'b [u8]) -> Result<&'b [u8]> {
        let block = usize::try_from(self.superblock.block_size()).unwrap_or(usize::MAX);
        let zeros = stored.iter().take(block).take_while(|byte| **byte == 0);
        match stored.split_at_checked(zeros.count()) {
            Some((zeros, stream)) if !stream.is_empty() && zeros.len() < block => Ok(stream),
            _ => Err(Error::corrupt("nothing but zeros")),
        }
    }
}
