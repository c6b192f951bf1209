//! WIM as a format of the library.

mod info;
mod parts;
#[cfg(feature = "write")]
mod writer;

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::BlockCache;
use sinterfs_format::{
    About, Bid, CheckOptions, CheckReport, Format, Handle, InfoRows, Provable, ReadOptions,
};
use sinterfs_model::{Error, Image, Ino, Loss, Observer, Result, Setting, StoredBlock};

use crate::read::{Wim, is_image};

/// WIM.
#[derive(Debug)]
pub struct WimFormat;

impl Format for WimFormat {
    fn name(&self) -> &'static str {
        "wim"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["wim"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid> {
        Ok(Bid::if_certain(is_image(
            &**source,
            options.start_offset(),
        )?))
    }

    fn reader_options(&self) -> &'static [Setting] {
        &[Setting("devices"), Setting("image")]
    }

    fn provable(&self) -> Option<&dyn Provable> {
        Some(self)
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>> {
        let more = parts::open(&source, options)?;
        let concrete = Arc::new(Wim::open(source, &more, options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(WimHandle { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        depth: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        let more = parts::open(&source, options)?;
        Ok(crate::check::check(source, &more, options, depth.deep, observer)?.into())
    }

    fn about(&self) -> About {
        About {
            title: "WIM",
            codecs: &[
                "none",
                "xpress[:level=1..9]",
                "lzx[:level=1..9]",
                "lzms[:level=1..9]",
            ],
            notes: "The block size is that of chunks: 4k to 64k with xpress, 32k to 2m with lzx, \
                    32k to 64m with lzms. With `:solid` after a codec, a chunk has many files \
                    (`lzms:solid`, the last level). Programs of Windows read lzx with 32k, and \
                    lzms:solid.",
        }
    }
}

impl Provable for WimFormat {
    fn head(&self) -> Range<u64> {
        0..208
    }
}

/// An opened WIM file.
struct WimHandle {
    image: Arc<dyn Image>,
    concrete: Arc<Wim>,
}

impl Handle for WimHandle {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<InfoRows> {
        Ok(info::details(&self.concrete))
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        crate::dump::dump(&self.concrete, out)
    }

    fn offset(&self) -> u64 {
        self.concrete.offset()
    }

    fn unrepresented(&self) -> Result<Vec<Loss>> {
        let losses = self.concrete.losses();
        let mut all = self.concrete.lost_entries();
        all.extend(Loss::counted([
            ("attributes of Windows", losses.attributes),
            ("security descriptors", losses.security),
            ("short names", losses.short_names),
            ("times of birth", losses.births),
            ("times of access", losses.accesses),
            ("object IDs", losses.object_ids),
            ("items of unknown kinds", losses.items),
            ("reparse points that are no links", losses.reparse_points),
        ]));
        Ok(all)
    }

    fn streams_as_attributes(&self) -> (BTreeSet<Vec<u8>>, u64) {
        self.concrete.streams_as_attributes()
    }

    fn warnings(&self) -> Vec<Error> {
        self.concrete.left_out().collect()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        self.concrete.cache()
    }

    fn decoded_bytes(&self) -> u64 {
        self.concrete.decoded_bytes()
    }

    fn blocks_are_offsets(&self) -> bool {
        false
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        if of.is_some() {
            return Ok(());
        }
        self.concrete.stored_chunks(&mut |chunk| {
            visit(StoredBlock {
                block: chunk.block,
                stored: chunk.stored,
                codec: chunk.codec,
                category: "",
            });
        })
    }
}
