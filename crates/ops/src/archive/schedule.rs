//! Finds out which blocks an archive needs when.
//!
//! Enters the order of names; leaves all blocks in the order of their first use, what is needed of
//! each, and until when. **Invariant:** blocks that are kept until their last near use are never
//! more at once than the bytes that [`Schedule::hold`] allows; late uses are listed separately.
//! Memory is 64 bytes a block and 8 a file; a late use takes up to 80 bytes an extent.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sinterfs_model::{Extent, ExtentSource, Image, Ino, Result};

use super::sequence::{Sequence, name_ref};
use super::spill::{LateUse, Spill};
use crate::plan::Plan;

/// All blocks that are needed, in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pub(super) blocks: Vec<Need>,
    /// The end position of each content, in order.
    pub(super) ends: Vec<u64>,
    pub(super) spill: Spill,
}

/// A block and its uses. Positions count bytes of data from the start of the archive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    pub(super) block: u64,
    /// A file that needs the most of it, and where in the file the last byte of that is.
    pub(super) ino: Ino,
    pub(super) at: u64,
    /// The number of bytes that are needed from its start.
    len: u64,
    pub(super) first: u64,
    /// The end position of the last use.
    pub(super) last: u64,
    /// Bytes of all blocks before this one.
    pub(super) before: u64,
}

/// A use of a block.
struct Use {
    block: u64,
    /// The offset in the block.
    offset: u64,
    ino: Ino,
    extent: Extent,
    position: u64,
}

impl Schedule {
    /// Finds out which blocks are needed when.
    pub(super) fn new(image: &dyn Image, plan: &Plan, sequence: &Sequence) -> Result<Self> {
        let mut blocks: Vec<Need> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        let ends = uses(image, plan, sequence, &mut |used| {
            let index = *known.entry(used.block).or_insert(blocks.len());
            match blocks.get_mut(index) {
                Some(known) => known.widen(used.need()),
                None => blocks.push(used.need()),
            }
        })?;
        let mut before = 0_u64;
        for need in &mut blocks {
            need.before = before;
            before = before.saturating_add(need.len);
        }
        Ok(Self {
            blocks,
            ends,
            spill: Spill::default(),
        })
    }

    /// Returns the largest distance in bytes between first and last uses.
    pub(super) fn bytes_at_once(&self) -> u64 {
        let mut ends: Vec<(u64, u64)> = self
            .blocks
            .iter()
            .map(|need| (need.last, need.len))
            .collect();
        ends.sort_unstable();
        let mut ends = ends.into_iter().peekable();
        let (mut now, mut most) = (0_u64, 0_u64);
        for need in &self.blocks {
            while let Some((_, len)) = ends.next_if(|(last, _)| *last <= need.first) {
                now = now.saturating_sub(len);
            }
            now = now.saturating_add(need.len);
            most = most.max(now);
        }
        most
    }

    /// Keeps a block until more than `held` bytes of later blocks were decoded; its uses after that
    /// are spilled.
    pub(super) fn hold(
        &mut self,
        image: &dyn Image,
        plan: &Plan,
        sequence: &Sequence,
        bytes: u64,
    ) -> Result<()> {
        let known: HashMap<u64, usize> = (0..)
            .zip(&self.blocks)
            .map(|(index, need)| (need.block, index))
            .collect();
        let blocks = &mut self.blocks;
        let (mut newest, mut far) = (0, Vec::new());
        uses(image, plan, sequence, &mut |used| {
            let Some(&index) = known.get(&used.block) else {
                return;
            };
            newest = newest.max(index);
            let now = blocks.get(newest).map_or(0, |need| need.before);
            let Some(need) = blocks.get_mut(index) else {
                return;
            };
            if now - need.before <= bytes {
                need.last = used.end();
            } else {
                far.push(used.far(index));
            }
        })?;
        self.spill = Spill::new(far);
        Ok(())
    }
}

impl Need {
    /// Counts another use of the same block.
    fn widen(&mut self, other: Self) {
        self.last = other.last;
        if other.len > self.len {
            (self.ino, self.at, self.len) = (other.ino, other.at, other.len);
        }
    }
}

impl Use {
    fn end(&self) -> u64 {
        self.position.saturating_add(self.extent.len)
    }

    fn need(&self) -> Need {
        let Extent { offset, len, .. } = self.extent;
        Need {
            block: self.block,
            ino: self.ino,
            at: offset.saturating_add(len).saturating_sub(1),
            len: self.offset.saturating_add(len),
            first: self.position,
            last: self.end(),
            before: 0,
        }
    }

    fn far(&self, block: usize) -> LateUse {
        LateUse {
            block,
            offset: self.offset,
            ino: self.ino,
            at: self.extent.offset,
            len: self.extent.len,
            position: self.position,
        }
    }
}

/// Shows all uses of blocks in order; returns the position after each content.
fn uses(
    image: &dyn Image,
    plan: &Plan,
    sequence: &Sequence,
    visit: &mut dyn FnMut(&Use),
) -> Result<Vec<u64>> {
    let (mut position, mut ends) = (0_u64, Vec::new());
    for &name in &sequence.names {
        let Some(leaf) = sequence.content_of(plan, name) else {
            continue;
        };
        let ino = plan.leaf(leaf).ino;
        let listed = image.extents(ino, 0, &mut |extent| {
            if let ExtentSource::Block { block, offset } = extent.source {
                let used = Use {
                    block,
                    offset,
                    ino,
                    extent,
                    position,
                };
                visit(&used);
                position = used.end();
            }
            ControlFlow::Continue(())
        });
        listed.map_err(|error| error.path(plan.path(name_ref(plan, name))))?;
        ends.push(position);
    }
    Ok(ends)
}
