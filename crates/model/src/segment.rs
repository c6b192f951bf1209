//! Segments, the blocks that are their stored form, and the encoder that turns one into the other.
//!
//! **Invariant:** a block depends only on its segment and the options; it has the number of the
//! segment, so it can be referred to before it exists. `docs/adr/0001` says why.

use std::sync::Arc;

use sinterfs_workers::{MemoryNeeds, WorkerPermits};

use crate::{Category, Error, Result};

/// The number of a block: the `sequence` of the segment that it is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A run of bytes cut for the encoder.
#[derive(Debug)]
pub struct Segment {
    /// The position in commit order, from 0 without gaps; assigned when the segment is complete.
    pub sequence: u32,
    /// The kind of content.
    pub category: Category,
    /// The bytes; shared, because the segment stage still matches against them.
    pub data: Arc<Vec<u8>>,
    /// The rest that is known of it in a geometry that cuts each file separately.
    pub unit: Option<UnitInfo>,
    /// The offsets at which contents begin, in order, where contents follow each other.
    pub begins: Vec<u32>,
}

/// The facts about a segment in a geometry that cuts each file separately.
#[derive(Debug, Clone, Default)]
pub struct UnitInfo {
    /// Whether the segment is a fragment.
    pub is_fragment: bool,
    /// Whether the segment is known to be the end of its content; not known of a whole unit.
    pub ends_content: bool,
    /// The part of the content before the segment.
    pub preceded: Preceded,
    /// The multiple of bytes at which the block is stored; `None` for anywhere.
    pub align: Option<u32>,
    /// The bytes that occur earlier, too, if the geometry asks for them; in order, without overlap.
    pub repeats: Vec<Repeat>,
}

/// The part of the content before a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preceded {
    /// Nothing.
    #[default]
    ByNothing,
    /// Other segments of the content, and no hole.
    BySegments,
    /// At least one hole.
    ByHole,
}

/// Bytes of a segment that occur in an earlier one, too, or earlier in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// Offset of the bytes in the segment.
    pub start: u32,
    /// Number of bytes, above zero.
    pub len: u32,
    /// The segment of the earlier occurrence.
    pub block: BlockId,
    /// Offset of the earlier occurrence in that segment.
    pub offset: u32,
}

impl Segment {
    /// Makes a segment of a geometry with solid blocks.
    pub fn solid(sequence: u32, category: Category, data: Arc<Vec<u8>>) -> Self {
        Self {
            sequence,
            category,
            data,
            unit: None,
            begins: Vec::new(),
        }
    }

    /// Returns whether the segment is a fragment.
    pub fn is_fragment(&self) -> bool {
        self.unit.as_ref().is_some_and(|unit| unit.is_fragment)
    }

    /// Returns whether the segment is known to be the end of its content.
    pub fn ends_content(&self) -> bool {
        self.unit.as_ref().is_some_and(|unit| unit.ends_content)
    }

    /// Returns the bytes that occur earlier, too.
    pub fn repeats(&self) -> &[Repeat] {
        self.unit.as_ref().map_or(&[], |unit| &unit.repeats)
    }
}

/// The stored form of one whole segment.
#[derive(Debug)]
#[non_exhaustive]
pub struct Block {
    /// The segment's position in commit order.
    pub sequence: u32,
    /// The kind of content; may be more exact than the segment's.
    pub category: Category,
    /// Number of bytes before encoding.
    pub decoded_len: u32,
    /// Bytes as stored, with the header that the format gives a block, if any.
    pub bytes: Vec<u8>,
    /// The rest that is known of it in a geometry that cuts each file separately.
    pub unit: Option<StoredUnit>,
}

/// The facts about a block in a geometry that cuts each file separately.
#[derive(Debug, Default)]
pub struct StoredUnit {
    /// Whether the block is a fragment.
    pub is_fragment: bool,
    /// The multiple of bytes at which the block is stored; `None` for anywhere.
    pub align: Option<u32>,
    /// The part of the content before the block.
    pub preceded: Preceded,
    /// The parts that the stored bytes consist of, if the format decodes parts of a block
    /// separately.
    pub parts: Vec<StoredPart>,
    /// A cryptographic digest of the block, if the format stores equal blocks once; one of each
    /// part, if it stores equal parts once.
    pub digests: Vec<[u8; 32]>,
}

/// A part of a block that can be decoded separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPart {
    /// Number of bytes before encoding.
    pub decoded_len: u32,
    /// Number of bytes as stored.
    pub stored_len: u32,
}

impl Block {
    /// Makes the stored form of a segment.
    ///
    /// # Errors
    /// `Limit` for a segment of 4 GiB or more.
    pub fn new(segment: &Segment, bytes: Vec<u8>) -> Result<Self> {
        let decoded_len = u32::try_from(segment.data.len())
            .map_err(|_| Error::limit("a segment of 4 GiB or more"))?;
        let unit = segment.unit.as_ref().map(|unit| StoredUnit {
            is_fragment: unit.is_fragment,
            align: unit.align,
            preceded: unit.preceded,
            ..StoredUnit::default()
        });
        Ok(Self {
            sequence: segment.sequence,
            category: segment.category,
            decoded_len,
            bytes,
            unit,
        })
    }

    /// Adds the parts that the stored bytes consist of.
    #[must_use]
    pub fn with_parts(mut self, parts: Vec<StoredPart>) -> Self {
        self.unit.get_or_insert_default().parts = parts;
        self
    }

    /// Adds digests by which equal blocks, or equal parts, are found.
    #[must_use]
    pub fn with_digests(mut self, digests: Vec<[u8; 32]>) -> Self {
        self.unit.get_or_insert_default().digests = digests;
        self
    }

    /// Returns what precedes the block in its content.
    pub fn preceded(&self) -> Preceded {
        self.unit
            .as_ref()
            .map_or(Preceded::ByNothing, |unit| unit.preceded)
    }

    /// Returns the parts that the stored bytes consist of; empty if the format has none.
    pub fn parts(&self) -> &[StoredPart] {
        self.unit.as_ref().map_or(&[], |unit| &unit.parts)
    }

    /// Returns the digests of the block or of its parts; empty if the format does not use them.
    pub fn digests(&self) -> &[[u8; 32]] {
        self.unit.as_ref().map_or(&[], |unit| &unit.digests)
    }
}

/// Turns segments into blocks; called by many threads at once, in any order.
pub trait SegmentEncoder: Send + Sync {
    /// Encodes one segment. The result depends only on the segment and on those that its repeats
    /// refer to; segments are begun in sequence, so an encoder may wait for earlier ones. A format
    /// whose stored unit is smaller than a segment (clusters of a fixed encoded size) cuts it
    /// further here. Helpers may run and large memory may be used as `permits` allow.
    fn encode(&self, segment: &Segment, permits: &WorkerPermits) -> Result<Block>;

    /// Returns the most bytes of memory that encoding a segment of `len` bytes takes, without the
    /// segment, its stored form, and what it reserves ([`Self::memory_needs`]).
    fn memory(&self, len: u32) -> u64;

    /// Returns what encoding a segment of `len` bytes needs while it holds a memory permit
    /// ([`WorkerPermits::reserve_memory`]); `None` if it takes none.
    fn memory_needs(&self, _len: u32) -> Option<MemoryNeeds> {
        None
    }

    /// Returns how many bytes back in a segment the codec finds repeats.
    fn window(&self) -> u64;

    /// Declares that segments which were cut will not be encoded: threads that wait for one have
    /// to fail.
    fn abandon(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_takes_number_and_category_from_its_segment() {
        let data = Arc::new(vec![1; 300]);
        let segment = Segment::solid(7, Category::Incompressible, data);
        let block = Block::new(&segment, vec![2; 9]).unwrap();
        assert_eq!(
            (block.sequence, block.decoded_len, block.bytes.len()),
            (7, 300, 9)
        );
        assert_eq!(block.category, Category::Incompressible);
    }
}
