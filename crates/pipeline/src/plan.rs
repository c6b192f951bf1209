//! Decides what each stage does, for the geometry of the writer and the options.
//!
//! Enters a geometry, options and the base image; leaves the settings of the first read, the order
//! of contents, the settings of the segment stage and the memory of each stage.
//! **Invariant:** nothing here but the budget depends on threads or memory.

use std::sync::Arc;

use sinterfs_model::{
    Base, Categorizers, Error, Geometry, Observer, Order, Result, SegmentEncoder, Source, Stage,
    TailPlacement, TailSharing, Tree,
};
use sinterfs_platform::Scratch;

use crate::anchors::{Anchors, Spacing};
use crate::base::BaseIndex;
use crate::budget::{Budget, Needs};
use crate::dedupe::{Contents, FirstRead};
use crate::match_store::Retention;
use crate::options::Options;
use crate::order::{Clustering, StorageOrder, move_hot_to_front, order};
use crate::read::{ContentReader, ReadProblems};
use crate::readahead::ReadPlan;
use crate::segment::stream::{self, StreamOptions};
use crate::segment::{SegmentOptions, per_file, repeats, solid, tail_dedup};
use crate::sketches::Sketches;

/// Bytes of units that are queued for each worker: many units where they are small.
const QUEUED: u32 = 2 << 20;

/// Bytes of fragments that stay in memory to be searched for equal tails.
const FRAGMENTS_KEPT: u64 = 64 << 20;

/// The settings of all stages of one build.
pub(crate) struct StagePlan<'a> {
    geometry: Geometry,
    options: &'a Options,
    threads: usize,
    scratch: Scratch,
    order: Order,
    categorizers: Categorizers,
    base: Option<BaseIndex>,
}

impl<'a> StagePlan<'a> {
    /// Creates the plan for the geometry of a writer.
    ///
    /// # Errors
    /// `Unsupported` for a geometry that the segment stage cannot cut.
    pub fn new(geometry: Geometry, options: &'a Options) -> Result<Self> {
        let is_known = matches!(
            geometry,
            Geometry::Solid { .. } | Geometry::PerFile { .. } | Geometry::Stream { .. }
        );
        if !is_known {
            return Err(unsupported_geometry());
        }
        let categorizers = match geometry {
            // units of a file are cut without regard to samples and pixels
            Geometry::PerFile { .. } | Geometry::Stream { .. } => Categorizers {
                audio: false,
                images: false,
                ..options.categorizers
            },
            _ => options.categorizers,
        };
        let order = if options.order == Order::Similarity && !groups_contents(&geometry) {
            Order::Path
        } else {
            options.order
        };
        Ok(Self {
            geometry,
            options,
            threads: sinterfs_workers::thread_count(options.threads),
            scratch: Scratch::new(options.scratch.clone()),
            order,
            categorizers,
            base: None,
        })
    }

    /// Returns the size of solid blocks, if the format has them.
    fn block_size(&self) -> Option<u32> {
        match self.geometry {
            Geometry::Solid { block_size } => Some(block_size),
            _ => None,
        }
    }

    /// Returns where scratch files are created.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Decodes the blocks of the base, if there is one, and fingerprints its contents.
    pub fn decode_base(
        &mut self,
        base: Option<Arc<dyn Base>>,
        tree: &Tree,
        observer: &dyn Observer,
    ) -> Result<()> {
        if let Some(base) = base {
            let memory = self.options.memory;
            let index = BaseIndex::new(base, tree, self.threads, memory, &self.scratch, observer)?;
            self.base = Some(index);
        }
        Ok(())
    }

    /// Returns the memory in bytes that decoding the base took at most.
    pub fn decoding_memory(&self) -> u64 {
        self.base.as_ref().map_or(0, |base| base.blocks.memory)
    }

    /// Returns what the first read has to find out.
    pub fn first_read<'r>(&'r self, problems: &'r ReadProblems) -> FirstRead<'r> {
        FirstRead {
            problems,
            duplicates: self.options.duplicates,
            similar_below: match self.order {
                Order::Similarity => similar_below(&self.geometry),
                _ => 0,
            },
            categorizers: self.categorizers,
            base: self.base.as_ref().map(|base| &base.contents),
            threads: self.threads,
        }
    }

    /// Orders contents for storage; frees the sketches.
    pub fn order(
        &self,
        tree: &Tree,
        contents: &mut Contents,
        observer: &dyn Observer,
    ) -> Result<StorageOrder> {
        let priorities = self.options.priorities.by_node(tree, observer);
        let clustering = Clustering::new(self.options.read_cost, self.block_size());
        let ranks = priorities.as_deref();
        let mut ordered = order(tree, contents, self.order, clustering, ranks)?;
        for content in ordered.block_starts {
            contents.items[content as usize].begins_block = true;
        }
        let hot = &self.options.hot;
        move_hot_to_front(hot, tree, contents, &mut ordered.contents, observer);
        // tens of megabytes that no later stage needs
        contents.sketches = Sketches::Absent;
        Ok(StorageOrder {
            contents: ordered.contents,
            is_grouped: self.order == Order::Similarity && priorities.is_none(),
            price_factors: ordered.price_factors,
        })
    }

    /// Returns the plan of the second read and announces its size to the observer.
    pub fn reads<'r>(
        &self,
        source: &'r dyn Source,
        tree: &'r Tree,
        contents: &'r Contents,
        order: &'r StorageOrder,
        problems: &'r ReadProblems,
        observer: &'r dyn Observer,
    ) -> ReadPlan<'r> {
        let mut reads = ReadPlan {
            contents,
            order: &order.contents,
            grouped: order.is_grouped,
            reader: ContentReader {
                source,
                tree,
                observer,
                problems,
                spacing: None,
                categorizers: self.categorizers,
            },
        };
        let wants_anchors = match self.geometry {
            Geometry::PerFile { repeats, .. } => repeats.is_some(),
            Geometry::Stream { .. } => false,
            _ => true,
        };
        if wants_anchors {
            reads.reader.spacing = Some(Spacing::for_content(self.compared_bytes(&reads)));
        }
        observer.expect(Stage::Segment, reads.total());
        reads
    }

    /// Returns the number of bytes in which matches are searched, including the base's.
    fn compared_bytes(&self, reads: &ReadPlan<'_>) -> u64 {
        match &self.base {
            Some(base) => {
                let new = reads.contents.new_bytes(reads.reader.tree);
                base.blocks.bytes.saturating_add(new)
            }
            None => reads.total().bytes,
        }
    }

    /// Decides how content is cut and how much memory each stage gets.
    pub fn segmentation(
        &self,
        encoder: &dyn SegmentEncoder,
        order: &StorageOrder,
        reads: &ReadPlan<'_>,
    ) -> Result<(SegmentOptions, Budget)> {
        match self.geometry {
            Geometry::Solid { block_size } => self.solid(block_size, encoder, order, reads),
            Geometry::PerFile { .. } => self.per_file(encoder, reads),
            Geometry::Stream {
                block_size,
                even_end,
            } => {
                let total = even_end.then(|| reads.total().bytes);
                self.stream(StreamOptions { block_size, total }, encoder, reads)
            }
            _ => Err(unsupported_geometry()),
        }
    }

    fn solid(
        &self,
        block_size: u32,
        encoder: &dyn SegmentEncoder,
        order: &StorageOrder,
        reads: &ReadPlan<'_>,
    ) -> Result<(SegmentOptions, Budget)> {
        let compared = self.compared_bytes(reads);
        let needs = self.needs(block_size, encoder, reads);
        let open = needs.largest_block() * solid::OPEN_BLOCKS as u64;
        let needs = Needs {
            cutting: open + Anchors::memory(compared),
            ..needs
        };
        let budget = Budget::new(needs, self.options.memory)?;
        let options = solid::SolidOptions {
            block_size,
            codec_window: encoder.window(),
            total: compared,
            read_cost: self.options.read_cost,
            price_factors: order.price_factors.clone(),
            retention: self.retention(budget.kept, u64::MAX),
            base: self.base.as_ref().map(|base| Arc::clone(&base.blocks)),
        };
        Ok((SegmentOptions::Solid(options), budget))
    }

    fn stream(
        &self,
        options: StreamOptions,
        encoder: &dyn SegmentEncoder,
        reads: &ReadPlan<'_>,
    ) -> Result<(SegmentOptions, Budget)> {
        self.refuse_base("a base for a format that stores content as one stream")?;
        let needs = self.needs(options.block_size, encoder, reads);
        let needs = Needs {
            cutting: needs.largest_block() * stream::OPEN_BLOCKS,
            compared: false,
            ..needs
        };
        let budget = Budget::new(needs, self.options.memory)?;
        Ok((SegmentOptions::Stream(options), budget))
    }

    fn refuse_base(&self, what: &'static str) -> Result<()> {
        match self.base {
            Some(_) => Err(Error::unsupported(what)),
            None => Ok(()),
        }
    }

    fn per_file(
        &self,
        encoder: &dyn SegmentEncoder,
        reads: &ReadPlan<'_>,
    ) -> Result<(SegmentOptions, Budget)> {
        let Geometry::PerFile {
            unit,
            tails,
            holes,
            repeats,
            sharing,
        } = self.geometry
        else {
            return Err(unsupported_geometry());
        };
        self.refuse_base("a base for a format that cuts each file separately")?;
        let total = reads.total().bytes;
        let queued = u64::from((QUEUED / unit.max(1)).clamp(4, 256));
        let table = repeats.map_or(0, |_| Anchors::memory(total));
        let needs = Needs {
            cutting: u64::from(unit) * per_file::OPEN_UNITS as u64 + table,
            waiting: queued * self.threads as u64,
            compared: repeats.is_some() || sharing != TailSharing::Never,
            ..self.needs(unit, encoder, reads)
        };
        let budget = Budget::new(needs, self.options.memory)?;
        let kept = u64::from(unit) * budget.kept as u64;
        let repeats = repeats.map(|shortest| repeats::RepeatSearch {
            shortest,
            unit,
            codec_window: encoder.window(),
            total,
            retention: self.retention(usize::MAX, kept),
        });
        let tail_search = tail_dedup::TailSearch {
            unit,
            total,
            retention: self.retention(usize::MAX, kept.min(FRAGMENTS_KEPT)),
        };
        let options = per_file::PerFileOptions {
            unit,
            tails,
            holes,
            sharing,
            tail_search: (sharing != TailSharing::Never).then_some(tail_search),
            repeats,
        };
        Ok((SegmentOptions::PerFile(options), budget))
    }

    /// Returns what the stages need for blocks of `size` bytes.
    fn needs(&self, size: u32, encoder: &dyn SegmentEncoder, reads: &ReadPlan<'_>) -> Needs {
        let content = reads.total().bytes;
        // no block gets larger than all content
        let largest = size.min(u32::try_from(content.max(1)).unwrap_or(u32::MAX));
        Needs {
            threads: self.threads,
            block_size: size,
            cutting: 0,
            waiting: 1,
            compared: true,
            encoder: encoder.memory(largest),
            memory: encoder.memory_needs(largest),
            content,
            nodes: reads.reader.tree.nodes().len() as u64,
        }
    }

    fn retention(&self, max_blocks: usize, max_bytes: u64) -> Retention {
        let lookback = self.options.lookback;
        Retention {
            max_blocks,
            max_bytes,
            lookback: lookback.map_or(usize::MAX, |blocks| blocks as usize),
            scratch: self.scratch.clone(),
        }
    }
}

/// Returns whether blocks can have content of several files, which orders by similarity and
/// categories put next to each other.
pub fn groups_contents(geometry: &Geometry) -> bool {
    similar_below(geometry) > 0
}

/// Returns the size from which on similar files gain nothing from each other: they share no block.
fn similar_below(geometry: &Geometry) -> u64 {
    match geometry {
        Geometry::PerFile { tails, unit, .. } => match tails {
            TailPlacement::Alone => 0,
            TailPlacement::Small => u64::from(*unit),
            TailPlacement::SmallBelow(most) => u64::from(*most),
            TailPlacement::Shared | TailPlacement::Below(_) => u64::MAX,
        },
        _ => u64::MAX,
    }
}

#[cold]
fn unsupported_geometry() -> Error {
    Error::unsupported(
        "a format that cuts content neither into solid blocks nor into units of files",
    )
}
