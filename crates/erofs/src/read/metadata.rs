//! Reads metadata: in the image itself or in the metabox, a hidden inode.
//!
//! In: an offset. Out: bytes or a typed structure.
//!
//! **Invariant:** reads of the image go through the cache in pages, so that small structures cost
//! no system call each; every thread keeps its last few pages at hand. The metabox is read as any
//! file is; its own metadata is in the image, which ends the recursion.

use sinterfs_block::cache::Opened;
use sinterfs_model::{Error, Result};
use zerocopy::{FromBytes, IntoBytes};

use super::device::Address;
use super::erofs::Erofs;
use super::meta_offset::{Area, MetaOffset};
use super::node::ErofsInode;
use super::pages;
use crate::layout::{IN_METABOX, INODE_SLOT};

/// The bytes of the image that are read at once.
const PAGE: u64 = 16 << 10;

/// The mark of page keys, in place of the length of a pcluster.
const METADATA_PAGES: u128 = u32::MAX as u128;

impl Erofs {
    /// Returns the offset of an inode.
    pub(crate) fn meta_offset_of(&self, nid: u64) -> Result<MetaOffset> {
        let (area, start) = match nid & IN_METABOX {
            0 => (Area::Image, self.superblock.meta_start),
            _ => (Area::Metabox, 0),
        };
        let at = (nid & !IN_METABOX)
            .checked_mul(INODE_SLOT)
            .and_then(|at| at.checked_add(start));
        let at = at.ok_or_else(|| Error::no_inode(nid))?;
        Ok(MetaOffset { area, at })
    }

    /// Reads a structure.
    pub(crate) fn fetch<T: FromBytes + IntoBytes>(&self, meta: MetaOffset) -> Result<T> {
        let mut value = T::new_zeroed();
        self.read_metadata(meta, value.as_mut_bytes())?;
        Ok(value)
    }

    /// Fills the buffer with metadata.
    pub(crate) fn read_metadata(&self, meta: MetaOffset, buf: &mut [u8]) -> Result<()> {
        match meta.area {
            Area::Image => self.read_pages(meta.at, buf),
            Area::Metabox => {
                let metabox = self.metabox()?;
                self.read_exactly(metabox, meta.at, buf)
            }
        }
    }

    fn metabox(&self) -> Result<&ErofsInode> {
        let missing = || Error::corrupt("the metabox is missing").within("superblock");
        self.metabox.as_ref().ok_or_else(missing)
    }

    /// Returns the length of an area.
    pub(crate) fn area_len(&self, area: Area) -> u64 {
        match area {
            Area::Image => self.devices.image().len(),
            Area::Metabox => self.metabox.as_ref().map_or(0, |metabox| metabox.size),
        }
    }

    /// Fills the buffer with bytes of the image, through the cache.
    fn read_pages(&self, mut at: u64, mut buf: &mut [u8]) -> Result<()> {
        let image = self.devices.image();
        while !buf.is_empty() {
            let page = at / PAGE;
            let start = page * PAGE;
            let len = PAGE.min(image.len().saturating_sub(start));
            let skip = at - start;
            if skip >= len {
                // the source reports that it ends
                return image.read_at(at, buf);
            }
            let count = usize::try_from(len - skip).map_or(buf.len(), |left| left.min(buf.len()));
            let (part, rest) = buf.split_at_mut(count);
            let key = self.cache_key | METADATA_PAGES << 64 | u128::from(page);
            pages::read(key, skip, part, || {
                self.cache.hold(key, || {
                    Ok(Opened::Decoded(image.read(start, len)?.to_vec()))
                })
            })?;
            at = at.saturating_add(count as u64);
            buf = rest;
        }
        Ok(())
    }

    /// Fills the buffer with stored content. Directories, which are metadata in the end, go through
    /// the cache where they are in the image itself.
    pub(crate) fn read_stored(&self, address: Address, buf: &mut [u8], keep: bool) -> Result<()> {
        if keep && address.device == 0 && self.superblock.devices.is_empty() {
            self.read_pages(address.at, buf)
        } else {
            self.devices.read(address, buf)
        }
    }
}
