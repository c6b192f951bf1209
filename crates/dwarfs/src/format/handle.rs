//! An opened DwarFS image.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
#[cfg(feature = "write")]
use sinterfs_format::Reuse;
use sinterfs_format::{Handle, InfoRows, StartFirst};
use sinterfs_model::{Error, Image, Ino, Loss, Result, StoredBlock};

use super::info;
#[cfg(feature = "write")]
use super::reuse::ReusableBlocks;
use crate::dump::Parts;
use crate::layout::SectionType;
use crate::read::Dwarfs;

/// An opened DwarFS image.
pub(super) struct DwarfsHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Dwarfs>,
    #[cfg(feature = "write")]
    blocks: ReusableBlocks,
}

impl DwarfsHandle {
    /// Takes an opened image.
    pub(super) fn new(concrete: Arc<Dwarfs>) -> Self {
        Self {
            image: Arc::clone(&concrete) as _,
            #[cfg(feature = "write")]
            blocks: ReusableBlocks(Arc::clone(&concrete)),
            concrete,
        }
    }
}

impl Handle for DwarfsHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        info::details(&self.concrete)
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        crate::dump::dump(&self.concrete, Parts::default(), out)
    }

    fn offset(&self) -> u64 {
        self.concrete.offset()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        self.concrete.cache()
    }

    fn decode_ahead(&self) {
        self.concrete.decode_ahead();
    }

    fn unrepresented(&self) -> Result<Vec<Loss>> {
        let births = if self.concrete.options().has_btime {
            self.image.info().totals.inodes
        } else {
            0
        };
        let layouts = self.concrete.metadata_history()?.len() as u64;
        let unusable = self.concrete.unusable_xattrs().is_some();
        Ok(Loss::counted([
            ("extended attributes that cannot be used", unusable.into()),
            ("times of birth", births),
            ("notes on former versions of the metadata", layouts),
        ]))
    }

    fn damage(&self) -> Vec<Error> {
        self.concrete.damaged_metadata().collect()
    }

    fn warnings(&self) -> Vec<Error> {
        let damaged = self.concrete.damaged_metadata();
        damaged.chain(self.concrete.unusable_xattrs()).collect()
    }

    fn decoded_bytes(&self) -> u64 {
        let blocks = self.concrete.block_count();
        blocks.saturating_mul(self.concrete.block_size())
    }

    fn blocks_are_offsets(&self) -> bool {
        false
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        if of.is_some() {
            return Ok(());
        }
        let (names, numbers) = self.concrete.block_categories()?.unwrap_or_default();
        let sections = self.concrete.listed_sections().into_iter();
        let blocks = sections.filter(|section| section.kind == SectionType::BLOCK);
        for (block, section) in (0..).zip(blocks) {
            let number = usize::try_from(block).ok().and_then(|at| numbers.get(at));
            let number = number.and_then(|number| usize::try_from(*number).ok());
            visit(StoredBlock {
                block,
                stored: section.len,
                codec: &match section.compression {
                    Ok(compression) => compression.to_string(),
                    Err(_) => "unknown".to_owned(),
                },
                category: number
                    .and_then(|at| names.get(at))
                    .map_or("", String::as_str),
            });
        }
        Ok(())
    }

    fn start_first(&self) -> Option<&dyn StartFirst> {
        Some(self)
    }

    #[cfg(feature = "write")]
    fn reuse(&self) -> Option<&dyn Reuse> {
        Some(&self.blocks)
    }
}

impl StartFirst for DwarfsHandle {
    fn start_ranges(&self) -> Result<Vec<Range<u64>>> {
        self.concrete.hot_ranges()
    }

    fn announce_start(&self) -> Result<()> {
        self.concrete.announce_hot()
    }

    fn preload(&self, category: &str) -> Result<u64> {
        self.concrete.preload(category)
    }
}
