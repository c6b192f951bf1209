//! Cuts files into jobs, in the order of the blocks that they read.
//!
//! Enters a plan; leaves what of one file is read in one go. **Invariants:** the jobs of a file
//! cover it exactly. Unless all blocks fit into the cache, each block that several jobs read is
//! read only by its own jobs: the block is needed while these run, and is released with the last of
//! them. Files of an image that compares content with digests in the order of the file are not cut
//! at all. Memory is about 60 bytes a job, 16 a range and 40 a block, of these at most `RANGES` and
//! `BLOCKS`; the rest is read file by file.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU32, Ordering};

use sinterfs_model::{Extent, ExtentSource, FileType, Image, Ino, Result};

use crate::plan::{Item, Plan};

/// Files with more data than this are cut into several jobs.
const PART: u64 = 16 << 20;
/// The number of ranges above which files are not cut by blocks any more.
const RANGES: usize = 4 << 20;
/// Files are not cut by blocks if there are more blocks than this.
const BLOCKS: usize = 1 << 20;

/// Parts of a file to be read in one go.
#[derive(Debug)]
pub(crate) struct Job {
    /// The index in `Plan::leaves`.
    pub(crate) leaf: u32,
    /// Whether the file begins in it; of each file one job does.
    pub(crate) first: bool,
    /// Whether it is all of the file.
    pub(crate) whole: bool,
    /// Its parts of `Jobs::ranges`.
    ranges: Range<usize>,
    key: (u64, u64),
}

impl Job {
    /// Returns whether two jobs begin in the same block.
    pub(crate) fn same_block(&self, other: &Self) -> bool {
        self.key.0 == other.key.0
    }
}

/// All jobs of a plan.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    /// In the order of the blocks that they begin with.
    pub(crate) list: Vec<Job>,
    ranges: Vec<Range<u64>>,
    /// Unless all blocks fit into the cache: how they are used.
    uses: HashMap<u64, Use>,
    /// Whether each file is one job.
    whole: bool,
}

impl Jobs {
    /// Cuts all files of a plan; `cached` is how many bytes of decoded blocks the image keeps. A
    /// file that cannot be divided because its extents are damaged is one job.
    pub(crate) fn of(plan: &Plan, image: &dyn Image, cached: u64) -> Self {
        let mut jobs = Self {
            uses: uses(plan, image, cached),
            whole: image.info().checked_in_order,
            ..Self::default()
        };
        for (leaf, item) in files(plan) {
            if jobs.cut(image, leaf, item.ino).is_err() {
                // the error is reported when it is read
                let size = image.inode(item.ino).map_or(0, |inode| inode.size);
                jobs.add(leaf, Parts::default().end(size));
            }
        }
        jobs.list.sort_by_key(|job| job.key);
        jobs
    }

    /// Orders files by the blocks that they begin with; large ones are cut.
    pub(crate) fn by_file(plan: &Plan, image: &dyn Image) -> Self {
        Self::of(plan, image, u64::MAX)
    }

    /// Returns the ranges of a job.
    pub(crate) fn ranges(&self, job: &Job) -> &[Range<u64>] {
        self.ranges.get(job.ranges.clone()).unwrap_or_default()
    }

    /// Takes note that a job has been done, well or not: blocks that it was the last to read are
    /// released.
    pub(crate) fn done(&self, plan: &Plan, image: &dyn Image, job: &Job) {
        let mut last = None;
        let mut release = |block| {
            if last.replace(block) != Some(block)
                && let Some(at) = self.uses.get(&block)
                && at.jobs.fetch_sub(1, Ordering::AcqRel) == 1
            {
                image.release(block);
            }
        };
        if !self.whole && self.uses.get(&job.key.0).is_none_or(|at| at.shared) {
            return release(job.key.0);
        }
        for range in self.ranges(job) {
            let ino = plan.leaf(job.leaf).ino;
            // they have been listed before
            let _ = image.extents(ino, range.start, &mut |extent| {
                if extent.offset >= range.end {
                    return ControlFlow::Break(());
                }
                if let ExtentSource::Block { block, .. } = extent.source {
                    release(block);
                }
                ControlFlow::Continue(())
            });
        }
    }

    /// Cuts a file at borders of extents, so that there are never more ranges than extents.
    fn cut(&mut self, image: &dyn Image, leaf: u32, ino: Ino) -> Result<()> {
        let mut parts = Parts {
            whole: self.whole,
            ..Parts::default()
        };
        let full = self.whole || self.ranges.len() >= RANGES;
        let uses = &self.uses;
        image.extents(ino, 0, &mut |extent| {
            let shared = |at: &Use| !full && at.shared;
            let block = parts.add(&extent, |block| uses.get(&block).is_some_and(shared));
            if let Some(at) = block.and_then(|block| uses.get(&block)) {
                at.jobs.fetch_add(1, Ordering::Relaxed);
            }
            ControlFlow::Continue(())
        })?;
        let parts = parts.end(image.inode(ino)?.size);
        self.add(leaf, parts);
        Ok(())
    }

    /// Makes jobs of the parts of a file.
    fn add(&mut self, leaf: u32, parts: Vec<Part>) {
        let whole = parts.len() == 1;
        for part in parts {
            let start = self.ranges.len();
            self.ranges.extend(part.ranges);
            self.list.push(Job {
                leaf,
                first: self.ranges.get(start).is_some_and(|range| range.start == 0),
                whole,
                ranges: start..self.ranges.len(),
                key: part.key,
            });
        }
    }
}

/// A file while it is cut.
#[derive(Debug, Default)]
struct Parts {
    /// Whether there is only one part.
    whole: bool,
    parts: Vec<Part>,
    /// The part of each block that is shared.
    of_block: HashMap<u64, usize>,
    /// The part for other blocks, and its bytes of data.
    own: Option<(usize, u64)>,
    /// The part that the last extent went to.
    current: Option<usize>,
    /// The last block without another reader, and its part.
    last_own: Option<(usize, u64)>,
    /// The end of the last extent.
    end: u64,
}

/// The parts of a job.
#[derive(Debug)]
struct Part {
    key: (u64, u64),
    ranges: Vec<Range<u64>>,
}

impl Parts {
    /// Adds an extent; a hole belongs to the data before it or, at the beginning, after it. Returns
    /// the block if it is a further one of its part.
    fn add(&mut self, extent: &Extent, shared: impl Fn(u64) -> bool) -> Option<u64> {
        self.end = extent.offset.saturating_add(extent.len);
        let mut further = None;
        let index = match extent.source {
            ExtentSource::Hole => self.current,
            ExtentSource::Block { block, offset } if shared(block) => {
                let before = self.parts.len();
                let index = self.in_block(block, offset);
                further = (index == before).then_some(block);
                Some(index)
            }
            ExtentSource::Block { block, offset } => {
                let index = self.in_own((block, offset), extent.len);
                let last = self.last_own.replace((index, block));
                further = (last != Some((index, block))).then_some(block);
                Some(index)
            }
        };
        let part = index.and_then(|index| self.parts.get_mut(index))?;
        match part.ranges.last_mut().filter(|_| self.current == index) {
            Some(range) => range.end = self.end,
            None => {
                let start = self.current.map_or(0, |_| extent.offset);
                part.ranges.push(start..self.end);
            }
        }
        self.current = index;
        further
    }

    /// Finds the part for a shared block.
    fn in_block(&mut self, block: u64, offset: u64) -> usize {
        let next = self.parts.len();
        let index = *self.of_block.entry(block).or_insert(next);
        match self.parts.get_mut(index) {
            Some(part) => part.key.1 = part.key.1.min(offset),
            None => self.parts.push(Part::at((block, offset))),
        }
        index
    }

    /// Finds the part for blocks without another reader.
    fn in_own(&mut self, key: (u64, u64), len: u64) -> usize {
        let (index, data) = match self.own {
            Some((index, data)) if self.whole || data < PART => (index, data),
            _ => {
                self.parts.push(Part::at(key));
                (self.parts.len() - 1, 0)
            }
        };
        self.own = Some((index, data.saturating_add(len)));
        index
    }

    /// Returns the parts of a file of a size; one for a file without data.
    fn end(mut self, size: u64) -> Vec<Part> {
        let last = self.current.and_then(|index| self.parts.get_mut(index));
        match last.and_then(|part| part.ranges.last_mut()) {
            Some(range) => range.end = size,
            None => self.parts.push(Part {
                key: (0, 0),
                ranges: std::iter::once(0..size).collect(),
            }),
        }
        self.parts
    }
}

impl Part {
    fn at(key: (u64, u64)) -> Self {
        let ranges = Vec::new();
        Self { key, ranges }
    }
}

/// The use of a block.
#[derive(Debug)]
struct Use {
    /// The number of bytes that are needed from its start.
    len: u64,
    /// Whether it is needed at several places.
    shared: bool,
    /// The number of jobs that still have to read it.
    jobs: AtomicU32,
}

/// Finds out which blocks are read at several places; nothing if all that is read fits into the
/// cache.
fn uses(plan: &Plan, image: &dyn Image, cached: u64) -> HashMap<u64, Use> {
    let mut uses: HashMap<u64, Use> = HashMap::new();
    if cached == u64::MAX {
        return uses;
    }
    for (_, item) in files(plan) {
        let mut last = None;
        // what can't be listed is not read
        let _ = image.extents(item.ino, 0, &mut |extent| {
            if let ExtentSource::Block { block, offset } = extent.source {
                let len = offset.saturating_add(extent.len);
                let again = last != Some(block);
                let at = uses.entry(block);
                let at = at.and_modify(|at| at.shared |= again);
                let at = at.or_insert(Use {
                    len,
                    shared: false,
                    jobs: AtomicU32::new(0),
                });
                at.len = at.len.max(len);
                last = Some(block);
            }
            if uses.len() > BLOCKS {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if uses.len() > BLOCKS {
            return HashMap::new();
        }
    }
    let lens = uses.values().map(|at| at.len);
    if lens.fold(0, u64::saturating_add) <= cached {
        HashMap::new()
    } else {
        uses
    }
}

/// Shows the regular files of a plan with their indices.
fn files(plan: &Plan) -> impl Iterator<Item = (u32, &Item)> {
    let leaves = (0..).zip(&plan.leaves);
    leaves.filter(|(_, item)| item.kind == FileType::File)
}
