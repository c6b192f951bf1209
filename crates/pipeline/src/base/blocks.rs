//! The decoded blocks of a base, in a scratch file.
//!
//! **Invariant:** nothing changes after `new`; each block is as long as it was decoded.

use std::fmt;
use std::fs::File;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sinterfs_model::{Base, Error, MapExtent, Observer, Result, Stage, Tally};
use sinterfs_platform::{FileAt, Scratch};
use sinterfs_workers::{lock, run_fallible};

use crate::anchors::{Anchor, Anchors, BlockPosition, Finder, Spacing};

/// Bytes of one read.
const READ_SIZE: usize = 1 << 20;

/// The range of a decoded block in the scratch file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScratchSpan {
    pub at: u64,
    pub len: u32,
}

/// All decoded blocks of a base.
pub(crate) struct BaseBlocks {
    pub base: Arc<dyn Base>,
    /// The scratch file.
    pub file: Arc<File>,
    /// The range of each block in it.
    pub blocks: Vec<ScratchSpan>,
    /// The bytes of all blocks.
    pub bytes: u64,
    /// The most bytes of memory used to decode them.
    pub memory: u64,
    threads: usize,
    scratch: Scratch,
}

impl fmt::Debug for BaseBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BaseBlocks")
            .field("blocks", &self.blocks.len())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl BaseBlocks {
    /// Decodes all blocks that files use, with as many threads as `memory` allows, but at least
    /// one.
    pub fn new(
        base: Arc<dyn Base>,
        threads: usize,
        memory: Option<u64>,
        scratch: &Scratch,
        observer: &dyn Observer,
    ) -> Result<Self> {
        // the decoded block, and as much again for the decoder
        let each = base.block_size().saturating_mul(2).max(1);
        let room = memory.map_or(u64::MAX, |memory| memory / each);
        let decoding = (threads as u64).min(room).max(1);
        let count = base.blocks();
        // a block that no file uses may be damaged or large
        let named = named(&*base);
        let wanted = named.iter().filter(|named| **named).count();
        let most = base.block_size().saturating_mul(wanted as u64);
        observer.expect(Stage::Base, tally(wanted as u32, most));
        let file = scratch.file()?;
        let (next, end) = (AtomicU32::new(0), AtomicU64::new(0));
        let blocks = Mutex::new(vec![ScratchSpan::default(); count as usize]);
        run_fallible("base", decoding as usize, || {
            let decode = |block: u32| {
                observer.check_cancelled()?;
                let bytes = base.decode(block)?;
                let len = u32::try_from(bytes.len())
                    .map_err(|_| Error::limit("a block of 4 GiB or more"))?;
                let at = end.fetch_add(u64::from(len), Ordering::Relaxed);
                let written = file.write_all_at(&bytes, at);
                written.map_err(|error| scratch.failed(error))?;
                lock(&blocks)[block as usize] = ScratchSpan { at, len };
                observer.advance(Stage::Base, tally(1, u64::from(len)));
                Ok(())
            };
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= count {
                    return Ok(());
                }
                if !named[block as usize] {
                    continue;
                }
                if let Err(error) = decode(block) {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        })?;
        Ok(Self {
            base,
            file: Arc::new(file),
            blocks: std::mem::take(&mut *lock(&blocks)),
            bytes: end.into_inner(),
            memory: decoding.saturating_mul(each),
            threads,
            scratch: scratch.clone(),
        })
    }

    /// Returns the length of the largest block.
    pub fn largest(&self) -> u32 {
        let lens = self.blocks.iter().map(|block| block.len);
        lens.max().unwrap_or(0)
    }

    /// Reads bytes of a decoded block.
    ///
    /// # Errors
    /// `Corrupt` if the range exceeds the block.
    pub fn read(&self, block: u32, offset: u32, bytes: &mut [u8]) -> Result<()> {
        let stored = self.blocks.get(block as usize).copied().unwrap_or_default();
        let end = u64::from(offset) + bytes.len() as u64;
        if end > u64::from(stored.len) {
            return Err(Error::corrupt(format!(
                "bytes {offset}..{end} of block {block} of the base, which has {}",
                stored.len
            )));
        }
        let read = self
            .file
            .read_exact_at(bytes, stored.at + u64::from(offset));
        read.map_err(|error| self.scratch.failed(error))
    }

    /// Records the anchors of all blocks. Threads find them; they are recorded in order, so that
    /// the table depends only on the blocks.
    pub fn note_anchors(
        &self,
        spacing: Spacing,
        table: &mut Anchors,
        observer: &dyn Observer,
    ) -> Result<()> {
        let mut pieces = self.pieces();
        loop {
            // enough to keep the threads busy, few enough to hold
            let batch: Vec<Span> = pieces.by_ref().take(self.threads * 16).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let found = Mutex::new(vec![Vec::new(); batch.len()]);
            let next = AtomicU64::new(0);
            run_fallible("base", self.threads, || {
                loop {
                    observer.check_cancelled()?;
                    let index = next.fetch_add(1, Ordering::Relaxed) as usize;
                    let Some(span) = batch.get(index) else {
                        return Ok(());
                    };
                    let anchors = self.anchors(*span, spacing)?;
                    lock(&found)[index] = anchors;
                }
            })?;
            for (span, anchors) in batch.iter().zip(&*lock(&found)) {
                for anchor in anchors {
                    let offset = span.offset - span.before + anchor.end;
                    let block = span.block;
                    table.put(anchor.hash, BlockPosition { block, offset });
                }
            }
        }
    }

    /// Cuts all blocks into spans, in order.
    fn pieces(&self) -> impl Iterator<Item = Span> + '_ {
        (0..).zip(&self.blocks).flat_map(|(block, stored)| {
            let len = stored.len;
            (0..len).step_by(READ_SIZE).map(move |offset| Span {
                block,
                offset,
                len: (len - offset).min(READ_SIZE as u32),
                before: offset.min(REACH),
            })
        })
    }

    /// Returns the anchors that end in a span, relative to `before`.
    fn anchors(&self, span: Span, spacing: Spacing) -> Result<Vec<Anchor>> {
        let mut bytes = vec![0; (span.before + span.len) as usize];
        self.read(span.block, span.offset - span.before, &mut bytes)?;
        let mut anchors = Finder::new(spacing).find(&bytes);
        anchors.retain(|anchor| anchor.end > span.before);
        Ok(anchors)
    }
}

/// Returns for each block whether a file uses it.
fn named(base: &dyn Base) -> Vec<bool> {
    let mut named = vec![false; base.blocks() as usize];
    let content = base.content();
    for list in 0..content.list_count() {
        for extent in content.list(list) {
            if let MapExtent::Data { block, .. } = extent
                && let Some(named) = named.get_mut(block.0 as usize)
            {
                *named = true;
            }
        }
    }
    named
}

/// Bytes before a position that decide whether it is an anchor.
const REACH: u32 = 64;

/// A range of a block, and the number of bytes before it that decide about its first anchors.
#[derive(Clone, Copy)]
struct Span {
    block: u32,
    offset: u32,
    len: u32,
    before: u32,
}

fn tally(items: u32, bytes: u64) -> Tally {
    Tally {
        items: u64::from(items),
        bytes,
        stored: 0,
    }
}
