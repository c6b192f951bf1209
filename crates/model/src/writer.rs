//! Writing side, exit: how content may be cut, how a cut piece becomes stored blocks, and the
//! writer that lays blocks and metadata out.
//!
//! **Invariant:** content is cut first and encoded later. The segment stage numbers blocks and
//! says where every file's bytes are before any of them is encoded, so a `ContentMap` speaks of
//! decoded bytes only; where those lie in the image is known to the writer alone.
//! docs/adr/0001 tells how SquashFS and EROFS were tried on these traits.

use std::sync::Arc;

use sinterfs_workers::{MemoryNeeds, WorkerPermits};

use crate::{Base, Error, Machine, NodeId, Observer, RawImage, Result, Tree, Waveform};

/// Names a block by the `sequence` of the segment it was made from, so it can be used before the
/// block exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A kind of content that is cut and encoded as a stream of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Category {
    /// Anything without a better name.
    #[default]
    Default,
    /// Nearly no control characters: prose, programs, tables.
    Text,
    /// Programs and libraries for one machine.
    Code(Machine),
    /// PCM audio without its headers.
    Waveform(Waveform),
    /// The image of a FITS file without its headers.
    Fits(RawImage),
    /// Content that is already compressed and gains nothing from more.
    Incompressible,
    /// Content of any kind that is needed before all other.
    Hot,
}

impl Category {
    /// Returns the name that images and reports show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "<default>",
            Self::Text => "text",
            Self::Code(machine) => machine.name(),
            Self::Waveform(_) => "pcmaudio/waveform",
            Self::Fits(_) => "fits/image",
            Self::Incompressible => "incompressible",
            Self::Hot => "hot",
        }
    }

    /// Finds the category that an image calls by a name; `None` for a name that says not enough to
    /// know one, as that of audio does without the form of its samples.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = [Self::Default, Self::Text, Self::Incompressible, Self::Hot];
        let code = Machine::ALL.into_iter().map(Self::Code);
        plain
            .into_iter()
            .chain(code)
            .find(|category| category.name() == name)
    }

    /// Returns whether a name is that of some category, or of several: what stands before their slash.
    pub fn is_known(name: &str) -> bool {
        matches!(
            name,
            "pcmaudio" | "pcmaudio/waveform" | "fits" | "fits/image" | "code"
        ) || Self::from_name(name).is_some()
    }

    /// Returns whether a name is that of this category, or of all whose names begin with it and a
    /// slash.
    pub fn is_called(self, name: &str) -> bool {
        let rest = self.name().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the bytes that stay together: content of this category comes, and is cut, in
    /// multiples of so many.
    pub const fn granularity(self) -> u32 {
        match self {
            Self::Waveform(waveform) => waveform.frame(),
            Self::Fits(image) => image.frame(),
            Self::Default | Self::Text | Self::Code(_) | Self::Incompressible | Self::Hot => 1,
        }
    }
}

/// Says how a format lets content be cut; plain data that the segment stage follows.
///
/// It is a promise about the `ContentMap`: a writer may rely on it to tell what an extent means.
/// A pipeline that cannot cut like this has to refuse (`Unsupported`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Geometry {
    /// Content of many files is packed into solid blocks; files are lists of byte ranges. An
    /// extent may point anywhere into any block, and a hole may begin and end at any byte.
    Solid {
        /// The largest block in bytes before encoding.
        block_size: u32,
    },
    /// Content is cut into units of one size. Every block holds one unit of one file, or it is a
    /// fragment: ends of several files of one category.
    ///
    /// The extents of a file follow its units: each but the last is a unit's `Data` at offset 0 of
    /// a block of its own, or a `Hole` of whole units (at the end of a file: up to that end). The
    /// blocks of a file have consecutive numbers, whatever holes are between. What is left after
    /// the last whole unit is a shorter block or lies in a fragment, as `tails` says.
    PerFile {
        /// Bytes of a unit; a fragment has no more.
        unit: u32,
        /// What becomes of the bytes after the last whole unit of a file.
        tails: Tails,
        /// Whether units of zeros are holes; else holes are data.
        holes: bool,
        /// The shortest repeat that segments tell of; `None` if nobody wants to know.
        repeats: Option<u32>,
        /// What is made of ends that fragments have already.
        ends: Ends,
    },
}

/// Says what is made of the end of a file that belongs into a fragment, where one has it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// It is stored as often as there are files with it.
    Own,
    /// The whole of it may be anywhere in a fragment, over ends of others.
    Whole,
    /// Its last bytes may, too, from a multiple of some bytes on; those before become a block of their own
    /// that is shorter than a unit and not the last.
    Parts {
        /// The multiple.
        align: u32,
        /// The fewest bytes that are worth it.
        least: u32,
    },
}

/// Says where the end of a file goes that fills no whole unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tails {
    /// Into a block of its own.
    Alone,
    /// Into a fragment if the file has no whole unit, else into a block of its own.
    Small,
    /// Into a fragment.
    Shared,
    /// Into a fragment if it has fewer bytes than these, else into a block of its own.
    Below(u32),
    /// Into a fragment if it has fewer bytes than these and the file has no whole unit, else into a
    /// block of its own.
    SmallBelow(u32),
}

impl Tails {
    /// Returns whether an end of so many bytes goes into a fragment, behind whole units or without any.
    pub fn shares(self, len: u64, has_units: bool) -> bool {
        match self {
            Self::Alone => false,
            Self::Small => !has_units,
            Self::Shared => true,
            Self::Below(most) => len < u64::from(most),
            Self::SmallBelow(most) => !has_units && len < u64::from(most),
        }
    }
}

/// Says what is in front of a segment in its content, where each file is cut for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    /// Nothing.
    #[default]
    First,
    /// Other segments of it, and no hole.
    Next,
    /// A hole, whatever else.
    BehindHole,
}

/// A cut piece of content on its way to the encoder.
#[derive(Debug)]
pub struct Segment {
    /// The place in commit order, from 0 without gaps; given when the segment is complete.
    pub sequence: u32,
    /// What the bytes are.
    pub category: Category,
    /// Whether it is a fragment, as `Geometry::PerFile` has them.
    pub fragment: bool,
    /// Whether it is known to be the end of its content, as that of a whole unit is not.
    pub ends: bool,
    /// What is in front of it, as `Geometry::PerFile` has content.
    pub standing: Standing,
    /// The bytes; shared, because the segment stage still matches against them.
    pub data: Arc<Vec<u8>>,
    /// Which of the bytes stand in front, too, where the geometry asks for it; in order, none over
    /// another.
    pub repeats: Vec<Repeat>,
}

/// Bytes of a segment that stand in one before it, too, or before them in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// Where they begin.
    pub start: u32,
    /// Their number, above zero.
    pub len: u32,
    /// The segment that has them already.
    pub block: BlockId,
    /// Where they begin in it.
    pub offset: u32,
}

/// The stored form of one whole segment, ready for the image.
#[derive(Debug)]
#[non_exhaustive]
pub struct Block {
    /// The segment's place in commit order.
    pub sequence: u32,
    /// What the bytes are; may say it more exactly than the segment's.
    pub category: Category,
    /// Bytes before encoding.
    pub raw_len: u32,
    /// Bytes as stored, with whatever header the format puts around a block.
    pub bytes: Vec<u8>,
    /// What `bytes` consists of, where the format decodes parts of a segment each for itself;
    /// else empty.
    pub pieces: Vec<Piece>,
    /// What is in front of it in its content.
    pub standing: Standing,
    /// A cryptographic digest of what it holds, where the format stores equal blocks once; one of each part of it
    /// where it does that with those; else none.
    pub digests: Vec<[u8; 32]>,
}

/// A part of a block that is decoded for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Bytes before encoding.
    pub raw_len: u32,
    /// Bytes as stored.
    pub stored_len: u32,
}

impl Block {
    /// Makes the stored form of a segment.
    ///
    /// # Errors
    /// `Limit` for a segment of 4 GiB or more.
    pub fn new(segment: &Segment, bytes: Vec<u8>) -> Result<Self> {
        let raw_len = u32::try_from(segment.data.len())
            .map_err(|_| Error::limit("a segment of 4 GiB or more"))?;
        Ok(Self {
            sequence: segment.sequence,
            category: segment.category,
            raw_len,
            bytes,
            pieces: Vec::new(),
            standing: segment.standing,
            digests: Vec::new(),
        })
    }

    /// Says what the stored bytes consist of.
    #[must_use]
    pub fn of_pieces(self, pieces: Vec<Piece>) -> Self {
        Self { pieces, ..self }
    }

    /// Says what tells the block, or each part of it, from all that are not equal.
    #[must_use]
    pub fn with_digests(self, digests: Vec<[u8; 32]>) -> Self {
        Self { digests, ..self }
    }
}

/// Turns segments into stored blocks; called from many threads at once, in any order.
pub trait SegmentEncoder: Send + Sync {
    /// Encodes one segment; the result depends on the segment alone, and on those that its repeats are
    /// in: segments are begun in sequence, so that one may wait for those before it. A format whose
    /// stored unit is smaller than a segment (clusters of a fixed encoded size) cuts it further in
    /// here. What takes long may be shared with the threads that have nothing to do.
    fn encode(&self, segment: &Segment, permits: &WorkerPermits) -> Result<Block>;

    /// Returns how many bytes of memory encoding a segment of `len` bytes takes at most, without
    /// the segment, its stored form, and what it reserves ([`Self::memory_needs`]).
    fn memory(&self, len: u32) -> u64;

    /// Returns what encoding a segment of `len` bytes needs while it holds a memory permit
    /// ([`WorkerPermits::reserve_memory`]); `None` if it takes none.
    fn memory_needs(&self, _len: u32) -> Option<MemoryNeeds> {
        None
    }

    /// Returns how many bytes back in a segment the codec sees repeats.
    fn window(&self) -> u64;

    /// Says that segments which were cut will not be encoded: whoever waits for one has to fail.
    fn abandon(&self) {}
}

/// A range of a file in decoded terms; the writer finds the stored bytes when it finishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapExtent {
    /// Decoded bytes of a block.
    Data {
        /// The block; need not have been put yet when the extent is made.
        block: BlockId,
        /// Offset in the decoded block.
        offset: u32,
        /// Length in bytes, above zero.
        len: u32,
    },
    /// Zeros that are not stored.
    Hole {
        /// Length in bytes, above zero.
        len: u64,
    },
}

/// Returns where the content of every file went. Equal files share one list.
#[derive(Debug, Default)]
pub struct ContentMap {
    extents: Vec<MapExtent>,
    /// Start of each list in `extents`, with the end of the last.
    starts: Vec<u64>,
    /// The list of each node; `NONE` for nodes without content.
    lists: Vec<u32>,
}

impl ContentMap {
    const NONE: u32 = u32::MAX;

    /// Starts a map for a tree of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            extents: Vec::new(),
            starts: vec![0],
            lists: vec![Self::NONE; nodes],
        }
    }

    /// Starts a map with lists that follow each other in `extents`, each up to one of `ends`; they are
    /// numbered in this order.
    ///
    /// # Errors
    /// `Invalid` if the ends fall, or do not end where the extents do.
    pub fn with_lists(
        nodes: usize,
        extents: Vec<MapExtent>,
        ends: impl Iterator<Item = u64>,
    ) -> Result<Self> {
        let starts: Vec<u64> = std::iter::once(0).chain(ends).collect();
        if !starts.is_sorted() || starts.last() != Some(&(extents.len() as u64)) {
            return Err(Error::invalid("lists that do not cover their extents"));
        }
        Ok(Self {
            extents,
            starts,
            lists: vec![Self::NONE; nodes],
        })
    }

    /// Adds a list of extents and tells its number.
    pub fn push(&mut self, extents: &[MapExtent]) -> u32 {
        let id = self.list_count();
        self.extents.extend_from_slice(extents);
        self.starts.push(self.extents.len() as u64);
        id
    }

    /// Says that a file's content is a list.
    pub fn assign(&mut self, file: NodeId, list: u32) {
        self.lists[file.index()] = list;
    }

    /// Returns how many lists there are.
    pub fn list_count(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// Returns the list of a file; `None` if it has none (it vanished, or is no file).
    pub fn list_of(&self, file: NodeId) -> Option<u32> {
        self.lists
            .get(file.index())
            .copied()
            .filter(|&list| list != Self::NONE)
    }

    /// Returns the extents of a list.
    pub fn list(&self, list: u32) -> &[MapExtent] {
        let at = |index: usize| usize::try_from(self.starts[index]).unwrap_or(usize::MAX);
        &self.extents[at(list as usize)..at(list as usize + 1)]
    }

    /// Returns the extents of a file; none if it has no list.
    pub fn extents(&self, file: NodeId) -> &[MapExtent] {
        self.list_of(file).map_or(&[], |list| self.list(list))
    }
}

/// Something of the tree that the format could not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// What was lost, for people to read after a number: `hard links of symlinks ...`.
    pub what: &'static str,
    /// How often.
    pub count: u64,
}

/// What a finished image looks like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Bytes of the whole image.
    pub image_bytes: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Bytes of blocks before encoding.
    pub raw_bytes: u64,
    /// Bytes of blocks as stored.
    pub block_bytes: u64,
    /// Bytes of metadata as stored.
    pub metadata_bytes: u64,
    /// The root of the digests that the image has of its bytes.
    pub root_digest: Option<[u8; 32]>,
    /// What the image does not keep of the tree; empty if it keeps everything.
    pub losses: Vec<Loss>,
}

/// Lays out one image. Called strictly in this order: `geometry`, `base`, `encoder`, `put` for every
/// block in sequence, `take_over` where there is a base, `finish` once.
pub trait ImageWriter: Send {
    /// Returns how content may be cut.
    fn geometry(&self) -> Geometry;

    /// Returns the encoder that the worker threads share.
    fn encoder(&self) -> Arc<dyn SegmentEncoder>;

    /// Appends a block; blocks come in sequence, and their `BlockId` is that sequence. What is
    /// needed to find the block again (position, stored size) is for the writer to remember.
    fn put(&mut self, block: Block) -> Result<()>;

    /// Returns the image whose blocks this one may take over, if there is one.
    fn base(&self) -> Option<Arc<dyn Base>> {
        None
    }

    /// Appends blocks of the base, by their numbers there, as they are stored. Their `BlockId`s go on
    /// after those of the blocks that were put.
    ///
    /// # Errors
    /// `Corrupt`, with its place, for one that is damaged; `Invalid` where there is no base.
    fn take_over(&mut self, _blocks: &[u32], _: &dyn Observer) -> Result<()> {
        Err(Error::invalid("there is no image to take blocks of"))
    }

    /// Writes the metadata and ends the image. The caller makes it durable.
    fn finish(self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_found_by_their_names() {
        for category in [Category::Text, Category::Code(Machine::X86_64)] {
            assert_eq!(Category::from_name(category.name()), Some(category));
        }
        assert_eq!(Category::from_name("pcmaudio/waveform"), None);
        for name in [
            "<default>",
            "text",
            "code",
            "code/arm64",
            "fits",
            "pcmaudio/waveform",
        ] {
            assert!(Category::is_known(name), "{name}");
        }
        for name in ["", "code/", "code/x", "pcmaudio/", "binary"] {
            assert!(!Category::is_known(name), "{name}");
        }
        let arm = Category::Code(Machine::Arm);
        assert!(arm.is_called("code") && arm.is_called("code/arm"));
        assert!(!arm.is_called("code/arm64") && !arm.is_called("co") && !arm.is_called("text"));
        assert!(Machine::ALL.is_sorted());
    }

    #[test]
    fn a_block_takes_its_place_from_its_segment() {
        let segment = Segment {
            sequence: 7,
            category: Category::Incompressible,
            fragment: false,
            ends: false,
            standing: Standing::First,
            data: Arc::new(vec![1; 300]),
            repeats: Vec::new(),
        };
        let block = Block::new(&segment, vec![2; 9]).unwrap();
        assert_eq!(
            (block.sequence, block.raw_len, block.bytes.len()),
            (7, 300, 9)
        );
        assert_eq!(block.category, Category::Incompressible);
    }

    #[test]
    fn equal_files_share_a_list() {
        let mut map = ContentMap::new(3);
        let list = map.push(&[
            MapExtent::Hole { len: 5 << 32 },
            MapExtent::Data {
                block: BlockId(1),
                offset: 4,
                len: 6,
            },
        ]);
        let empty = map.push(&[]);
        map.assign(NodeId(1), list);
        map.assign(NodeId(2), list);
        assert_eq!(map.list_of(NodeId(0)), None);
        assert_eq!(map.extents(NodeId(0)), &[]);
        assert_eq!(map.extents(NodeId(1)), map.extents(NodeId(2)));
        assert_eq!(map.extents(NodeId(1)).len(), 2);
        assert_eq!(map.list(empty), &[]);
        assert_eq!(map.list_count(), 2);

        let extents = [map.list(list), map.list(list)].concat();
        let lists = |ends: &[u64]| ContentMap::with_lists(1, extents.clone(), ends.iter().copied());
        let same = lists(&[2, 2, 4]).unwrap();
        assert_eq!(same.list_count(), 3);
        assert_eq!((same.list(0), same.list(1)), (map.list(list), &[][..]));
        assert_eq!(same.list(2), map.list(list));
        assert!(lists(&[3, 2, 4]).is_err() && lists(&[2, 3]).is_err() && lists(&[]).is_err());
    }
}
