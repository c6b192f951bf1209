//! Metadata wherever it is: in the image itself or in the metabox, an inode of its own.
//!
//! In: a spot. Out: bytes or a typed structure.
//!
//! **Invariant:** reads of the image go through the cache in pages, so that small structures cost
//! no call each; every thread keeps the last few pages at hand. The metabox is read as any file is;
//! its own metadata is in the image, so there is no way in a circle.

use sinterfs_block::cache::Opened;
use sinterfs_model::{Error, Result};
use zerocopy::{FromBytes, IntoBytes};

use super::Erofs;
use super::device::Address;
use super::inode::Node;
use super::pages;
use crate::layout::{IN_METABOX, INODE_SLOT};

/// How much of the image is read at once, in bytes.
const PAGE: u64 = 16 << 10;

/// Where metadata is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    /// In the image itself.
    Image,
    /// In the metabox.
    Metabox,
}

/// A byte of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) area: Area,
    pub(crate) at: u64,
}

impl std::fmt::Display for Spot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.area {
            Area::Image => write!(f, "{:#x}", self.at),
            Area::Metabox => write!(f, "{:#x} in the metabox", self.at),
        }
    }
}

impl Spot {
    /// A byte of the image.
    pub(crate) fn image(at: u64) -> Self {
        let area = Area::Image;
        Self { area, at }
    }

    /// Moves on by some bytes; past the last byte that there can be, where nothing is read.
    pub(crate) fn skip(self, bytes: u64) -> Self {
        Self {
            at: self.at.saturating_add(bytes),
            ..self
        }
    }

    /// Moves on to the next multiple of a number of bytes.
    pub(crate) fn align(self, unit: u64) -> Self {
        Self {
            at: self.at.checked_next_multiple_of(unit).unwrap_or(u64::MAX),
            ..self
        }
    }

    /// Returns an error its place.
    #[cold]
    pub(crate) fn locate(self, error: Error, structure: &str) -> Error {
        match self.area {
            Area::Image => error.at(structure.to_owned(), self.at),
            Area::Metabox => error.at(format!("{structure} in the metabox"), self.at),
        }
    }
}

/// What the keys of the cache are for, besides the lengths of clusters.
const METADATA_PAGES: u128 = u32::MAX as u128;

impl Erofs {
    /// Finds where an inode begins.
    pub(crate) fn spot_of(&self, nid: u64) -> Result<Spot> {
        let (area, start) = match nid & IN_METABOX {
            0 => (Area::Image, self.superblock.meta_start),
            _ => (Area::Metabox, 0),
        };
        let at = (nid & !IN_METABOX)
            .checked_mul(INODE_SLOT)
            .and_then(|at| at.checked_add(start));
        let at = at.ok_or_else(|| Error::not_found(format!("inode {nid:#x}")))?;
        Ok(Spot { area, at })
    }

    /// Reads a structure.
    pub(crate) fn fetch<T: FromBytes + IntoBytes>(&self, spot: Spot) -> Result<T> {
        let mut value = T::new_zeroed();
        self.read_metadata(spot, value.as_mut_bytes())?;
        Ok(value)
    }

    /// Fills the buffer with metadata.
    pub(crate) fn read_metadata(&self, spot: Spot, buf: &mut [u8]) -> Result<()> {
        match spot.area {
            Area::Image => self.read_pages(spot.at, buf),
            Area::Metabox => {
                let metabox = self.metabox()?;
                self.read_exactly(metabox, spot.at, buf)
            }
        }
    }

    fn metabox(&self) -> Result<&Node> {
        let missing = || Error::corrupt("there is no metabox").within("superblock");
        self.metabox.as_ref().ok_or_else(missing)
    }

    /// Returns how long an area is.
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
                // the source's own words for that it ends
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

    /// Fills the buffer with stored content. What is metadata in the end (directories) goes through
    /// the cache where it is in the image itself.
    pub(crate) fn read_stored(&self, address: Address, buf: &mut [u8], keep: bool) -> Result<()> {
        if keep && address.device == 0 && self.superblock.devices.is_empty() {
            self.read_pages(address.at, buf)
        } else {
            self.devices.read(address, buf)
        }
    }
}
