//! Decides what each stage does for the geometry of the writer.
//!
//! Enters a geometry and the options; leaves what is worth finding out in the first read, how
//! content is cut, and how much memory each stage gets.
//! **Invariant:** nothing here depends on threads or memory but the budget.

use std::sync::Arc;

use sinterfs_model::{Ends, Error, Geometry, Result, SegmentEncoder, Tails};

use crate::anchors::{Anchors, Spacing};
use crate::base::BaseBlocks;
use crate::budget::{Budget, Needs};
use crate::classify::Categorizers;
use crate::match_store::Retention;
use crate::scratch::Scratch;
use crate::segment::{SegmentOptions, per_file, repeats, solid, tail_dedup};
use crate::{Options, Order};

/// Bytes of units that wait for each worker, so that it does not: many where they are small.
const WAITING: u32 = 2 << 20;

/// Bytes of fragments that stay in memory to find ends in.
const ENDS_KEPT: u64 = 64 << 20;

/// How much there is to pack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputSize {
    /// Names in the tree.
    pub nodes: u64,
    /// Bytes of content.
    pub content: u64,
    /// Bytes in which repeats are looked for.
    pub compared: u64,
}

/// How the stages work for a geometry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StagePlan {
    geometry: Geometry,
}

impl StagePlan {
    /// Takes the geometry of a writer.
    ///
    /// # Errors
    /// `Unsupported` for one that the segment stage cannot cut.
    pub fn new(geometry: Geometry) -> Result<Self> {
        match geometry {
            Geometry::Solid { .. } | Geometry::PerFile { .. } => Ok(Self { geometry }),
            _ => Err(Error::unsupported(
                "a format that cuts content in another way than solid blocks or units of files",
            )),
        }
    }

    /// Returns the size from which on similarity of files is of no use: nothing of theirs shares a
    /// block with others.
    pub fn similar_below(self) -> u64 {
        match self.geometry {
            Geometry::PerFile { tails, unit, .. } => match tails {
                Tails::Alone => 0,
                Tails::Small => u64::from(unit),
                Tails::SmallBelow(most) => u64::from(most),
                Tails::Shared | Tails::Below(_) => u64::MAX,
            },
            _ => u64::MAX,
        }
    }

    /// Returns the order that does what the one that was asked for would.
    pub fn order(self, asked: Order) -> Order {
        match asked {
            Order::Similarity if self.similar_below() == 0 => Order::Path,
            asked => asked,
        }
    }

    /// Returns what is told apart of what was asked for: units of a file are cut without regard to
    /// samples and pixels.
    pub fn categorizers(self, asked: Categorizers) -> Categorizers {
        match self.geometry {
            Geometry::PerFile { .. } => Categorizers {
                audio: false,
                images: false,
                ..asked
            },
            _ => asked,
        }
    }

    /// Returns how far anchors are apart, for so many bytes of content; `None` if nobody looks for
    /// repeats.
    pub fn spacing(self, content: u64) -> Option<Spacing> {
        let is_wanted = match self.geometry {
            Geometry::PerFile { repeats, .. } => repeats.is_some(),
            _ => true,
        };
        is_wanted.then(|| Spacing::for_content(content))
    }

    /// Decides how content is cut and how much memory each stage gets.
    pub fn prepare(
        self,
        encoder: &dyn SegmentEncoder,
        amount: InputSize,
        base: Option<Arc<BaseBlocks>>,
        threads: usize,
        options: &Options,
    ) -> Result<(SegmentOptions, Budget)> {
        let InputSize {
            content, compared, ..
        } = amount;
        // no block gets larger than all content
        let most = |size: u32| size.min(u32::try_from(content.max(1)).unwrap_or(u32::MAX));
        let needs = |size: u32| Needs {
            threads,
            block_size: size,
            cutting: 0,
            waiting: 1,
            compared: true,
            encoder: encoder.memory(most(size)),
            room: encoder.room(most(size)),
            content,
            nodes: amount.nodes,
        };
        let retention = |kept, room| Retention {
            kept,
            room,
            lookback: options
                .lookback
                .map_or(usize::MAX, |blocks| blocks as usize),
            scratch: Scratch::new(options.scratch.clone()),
        };
        match self.geometry {
            Geometry::PerFile { .. } if base.is_some() => Err(Error::unsupported(
                "a base for a format that cuts each file for itself",
            )),
            Geometry::PerFile {
                unit,
                tails,
                holes,
                repeats,
                ends,
            } => {
                let per_worker = u64::from((WAITING / unit.max(1)).clamp(4, 256));
                let table = repeats.map_or(0, |_| Anchors::memory(content));
                let needs = Needs {
                    cutting: u64::from(unit) * per_file::OPEN_UNITS as u64 + table,
                    waiting: per_worker * threads as u64,
                    compared: repeats.is_some() || ends != Ends::Own,
                    ..needs(unit)
                };
                let budget = Budget::new(needs, options.memory)?;
                let search = |shortest| repeats::RepeatSearch {
                    shortest,
                    unit,
                    codec_window: encoder.window(),
                    total: content,
                    retention: retention(usize::MAX, u64::from(unit) * budget.kept as u64),
                };
                let kept = u64::from(unit) * budget.kept as u64;
                let found = tail_dedup::TailSearch {
                    unit,
                    total: content,
                    retention: retention(usize::MAX, kept.min(ENDS_KEPT)),
                };
                let cut = per_file::PerFileOptions {
                    unit,
                    tails,
                    holes,
                    ends,
                    found: (ends != Ends::Own).then_some(found),
                    repeats: repeats.map(search),
                };
                Ok((SegmentOptions::PerFile(cut), budget))
            }
            Geometry::Solid { block_size } => {
                let open = u64::from(most(block_size)) * solid::OPEN_BLOCKS as u64;
                let needs = Needs {
                    cutting: open + Anchors::memory(compared),
                    ..needs(block_size)
                };
                let budget = Budget::new(needs, options.memory)?;
                let cut = solid::SolidOptions {
                    block_size,
                    codec_window: encoder.window(),
                    total: compared,
                    retention: retention(budget.kept, u64::MAX),
                    base,
                };
                Ok((SegmentOptions::Solid(cut), budget))
            }
            _ => Err(Error::unsupported("a geometry that is not known")),
        }
    }
}
