//! The stored bytes of a file: its sections as one stream.
//!
//! In: an offset in the stored content. Out: bytes.
//!
//! **Invariant:** no byte outside of the image is read; a section past its end is an error.

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Result};

use super::nodes::Section;

/// The stored content of a file.
#[derive(Debug, Clone)]
pub(crate) struct StoredContent<'a> {
    window: &'a Window,
    block: u64,
    sections: Vec<Section>,
    len: u64,
}

impl<'a> StoredContent<'a> {
    /// Makes the content of sections with logical blocks of a size.
    pub(super) fn new(window: &'a Window, block: u64, sections: Vec<Section>) -> Self {
        let len = sections.iter().map(|section| u64::from(section.len)).sum();
        Self {
            window,
            block,
            sections,
            len,
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the position in the image of a byte, and how many follow it there.
    pub(crate) fn locate(&self, offset: u64) -> Result<(u64, u64)> {
        let mut rest = offset;
        for section in &self.sections {
            let len = u64::from(section.len);
            if rest >= len {
                rest -= len;
                continue;
            }
            let first = u64::from(section.block) * self.block;
            let unit = u64::from(section.interleaving.0) * self.block;
            if unit == 0 {
                return Ok((first + rest, len - rest));
            }
            let gap = u64::from(section.interleaving.1) * self.block;
            let (number, within) = (rest / unit, rest % unit);
            let position = first + number * (unit + gap) + within;
            return Ok((position, (unit - within).min(len - rest)));
        }
        let what = format!("offset {offset:#x} past the end of the stored content");
        Err(Error::corrupt(what))
    }

    /// Fills a buffer with the bytes from an offset on.
    pub(super) fn read(&self, mut offset: u64, mut buf: &mut [u8]) -> Result<()> {
        while !buf.is_empty() {
            let (position, here) = self.locate(offset)?;
            let here = usize::try_from(here).map_or(buf.len(), |here| here.min(buf.len()));
            let (now, later) = buf.split_at_mut(here);
            let read = self.window.read_at(position, now);
            read.map_err(|error| error.at("content", self.window.start() + position))?;
            offset += here as u64;
            buf = later;
        }
        Ok(())
    }
}
