//! The stored bytes of a file: its sections as one stream.
//!
//! In: an offset in the stored content. Out: bytes.
//!
//! **Invariant:** no byte outside of the image is read; a section past its end is an error.

use std::borrow::Cow;

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Result};

use super::nodes::Section;

/// The stored content of a file.
#[derive(Debug, Clone)]
pub(crate) struct StoredContent<'a> {
    window: &'a Window,
    block: u64,
    sections: Cow<'a, [Section]>,
}

impl<'a> StoredContent<'a> {
    /// Makes the content of sections with logical blocks of a size.
    pub(super) fn new(window: &'a Window, block: u64, sections: Cow<'a, [Section]>) -> Self {
        Self {
            window,
            block,
            sections,
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.sections.last().map_or(0, |last| last.end)
    }

    /// Returns the sections.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the end of a section in the image.
    pub(crate) fn end_of(&self, section: &Section) -> u64 {
        match u64::from(section.len).checked_sub(1) {
            Some(last) => self.position(section, last).0.saturating_add(1),
            None => 0,
        }
    }

    /// Returns the position in the image of a byte of a section, and how many follow it there.
    fn position(&self, section: &Section, within: u64) -> (u64, u64) {
        let left = u64::from(section.len).saturating_sub(within);
        let first = u64::from(section.block) * self.block;
        let unit = u64::from(section.interleaving.0) * self.block;
        if unit == 0 {
            return (first + within, left);
        }
        let gap = u64::from(section.interleaving.1) * self.block;
        let (number, rest) = (within / unit, within % unit);
        (
            first + number * (unit + gap) + rest,
            (unit - rest).min(left),
        )
    }

    /// Returns the position in the image of a byte, and how many follow it there.
    pub(crate) fn locate(&self, offset: u64) -> Result<(u64, u64)> {
        let index = self.sections.partition_point(|s| s.end <= offset);
        if let Some(section) = self.sections.get(index) {
            let start = section.end.saturating_sub(section.len.into());
            return Ok(self.position(section, offset.saturating_sub(start)));
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
