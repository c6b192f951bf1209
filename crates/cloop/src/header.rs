//! The header: the version, the block size and the number of blocks.
//!
//! In: a source. Out: `CloopHeader`, and where the index of blocks is.
//!
//! **Invariant:** the block size is a multiple of 512 and at most 64 MiB; the index is within the
//! file. Format: `docs/formats/cloop.md`, "Layout".

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Limits, Result};

use crate::index::{ENTRY_MEMORY, IndexKind, IndexLocation};
use crate::layout::{BLOCK_SIZE_MAX, CloopVersion, HEADER_LEN, SCRIPT_LEN};

/// The first bytes of every header: a shell script that names its version.
const PREAMBLE: &[u8] = b"#!/bin/sh\n#V";

/// Bytes after the version and the word `Format`.
const VERSION_LEN: usize = 12;

/// The length of the trailer of a file whose header has no number of blocks.
const TAIL_LEN: u64 = 8;

/// The decoded header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloopHeader {
    /// The version.
    pub version: CloopVersion,
    /// Bytes of a decoded block.
    pub block_size: u32,
    /// The number of blocks.
    pub blocks: u32,
}

impl CloopHeader {
    /// Reads the header at the start of a window, or at its end. `Invalid` if there is none,
    /// `Unsupported` for another version, `Corrupt` if it is inconsistent, `Limit` if the image
    /// exceeds `limits`.
    pub(crate) fn read(window: &Window, limits: &Limits) -> Result<(Self, IndexLocation)> {
        if is_image(window, 0)? {
            return Self::at_start(window, limits);
        }
        if is_image_by_end(window, 0)? {
            return Self::at_end(window, limits);
        }
        Err(Error::invalid("no cloop image"))
    }

    fn at_start(window: &Window, limits: &Limits) -> Result<(Self, IndexLocation)> {
        let mut header = Self::decode(window, 0)?;
        let len = window.len();
        if header.version == CloopVersion::V3 && header.blocks == u32::MAX {
            let width;
            (header.blocks, width) = tail(window)?;
            header.check(limits)?;
            let kind = IndexKind::with_width(width)?;
            let end = len.saturating_sub(TAIL_LEN);
            let at = end.checked_sub(kind.len(header.blocks));
            let at = at.filter(|at| *at >= HEADER_LEN);
            let at = at.ok_or_else(|| header.cut_off())?;
            let data = (HEADER_LEN, at);
            return Ok((header, IndexLocation { kind, at, data }));
        }
        header.check(limits)?;
        // an empty device has a shorter one
        let mut first = [0; 12];
        let here = len.saturating_sub(HEADER_LEN);
        let here = usize::try_from(here).unwrap_or(usize::MAX).min(first.len());
        let (stored, _) = first.split_at_mut(here);
        window.read_at(HEADER_LEN, stored)?;
        let kind = IndexKind::with_first(header.version, header.blocks, first)?;
        let end = HEADER_LEN.saturating_add(kind.len(header.blocks));
        if end > len {
            return Err(header.cut_off());
        }
        let location = IndexLocation {
            kind,
            at: HEADER_LEN,
            data: (end, len),
        };
        Ok((header, location))
    }

    fn at_end(window: &Window, limits: &Limits) -> Result<(Self, IndexLocation)> {
        let start = window.len().saturating_sub(HEADER_LEN);
        let header = Self::decode(window, start)?;
        header.check(limits)?;
        let kind = IndexKind::Flagged;
        let at = start.checked_sub(kind.len(header.blocks));
        let at = at.ok_or_else(|| header.cut_off())?;
        let data = (0, at);
        Ok((header, IndexLocation { kind, at, data }))
    }

    fn decode(window: &Window, at: u64) -> Result<Self> {
        let mut version = [0; VERSION_LEN];
        let version_at = at.saturating_add(PREAMBLE.len() as u64);
        window.read_at(version_at, &mut version)?;
        let [digit, ..] = version;
        let version = CloopVersion::of_digit(digit).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&version).into_owned();
            Error::unsupported(format!(
                "a cloop image of version {shown:?}; 0.68 to 4.0 are read"
            ))
        })?;
        let mut words = [0; 8];
        window.read_at(at.saturating_add(SCRIPT_LEN), &mut words)?;
        let [a, b, c, d, e, f, g, h] = words;
        Ok(Self {
            version,
            block_size: u32::from_be_bytes([a, b, c, d]),
            blocks: u32::from_be_bytes([e, f, g, h]),
        })
    }

    fn check(self, limits: &Limits) -> Result<()> {
        let size = self.block_size;
        if size == 0 || !size.is_multiple_of(512) || size > BLOCK_SIZE_MAX {
            let what = format!("block size {size}: must be a multiple of 512, at most 64 MiB");
            return Err(Error::corrupt(what));
        }
        if u64::from(size) > limits.block {
            let what = format!("blocks of {size} bytes, where {} are allowed", limits.block);
            return Err(Error::limit(what));
        }
        Ok(())
    }

    /// Checks that there is memory for the index, which is within the file.
    pub(crate) fn check_memory(self, limits: &Limits) -> Result<()> {
        if u64::from(self.blocks).saturating_mul(ENTRY_MEMORY) > limits.metadata {
            let what = format!("{} blocks are more than metadata may hold", self.blocks);
            return Err(Error::limit(what));
        }
        Ok(())
    }

    fn cut_off(self) -> Error {
        let blocks = self.blocks;
        Error::corrupt(format!("the index of {blocks} blocks is cut off"))
    }

    /// Returns the length of the device in bytes.
    pub fn device_len(self) -> u64 {
        u64::from(self.blocks) * u64::from(self.block_size)
    }
}

/// Reads the number of blocks and the bytes of an entry of the index at the end of a file.
fn tail(window: &Window) -> Result<(u32, u32)> {
    let mut words = [0; 8];
    let at = window.len().checked_sub(TAIL_LEN);
    let at = at.filter(|at| *at >= HEADER_LEN);
    let at = at.ok_or_else(|| Error::corrupt("the end of the image is cut off"))?;
    window.read_at(at, &mut words)?;
    let [a, b, c, d, e, f, g, h] = words;
    let width = u32::from_be_bytes([a, b, c, d]);
    Ok((u32::from_be_bytes([e, f, g, h]), width))
}

/// Returns whether there is the header of an image of any version at an offset.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    Ok(version_at(source, offset)?.is_some())
}

/// Returns whether the file ends with the header of an image that starts at an offset, as one may
/// of version 4.0.
pub fn is_image_by_end(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let start = source.len().checked_sub(HEADER_LEN);
    match start.filter(|start| *start >= offset) {
        Some(start) => Ok(version_at(source, start)? == Some(b'4')),
        None => Ok(false),
    }
}

/// Returns the first digit of the version of a header.
fn version_at(source: &dyn ReadAt, offset: u64) -> Result<Option<u8>> {
    if offset
        .checked_add(HEADER_LEN)
        .is_none_or(|end| end > source.len())
    {
        return Ok(None);
    }
    let mut preamble = [0; PREAMBLE.len() + VERSION_LEN];
    source.read_at(offset, &mut preamble)?;
    // other scripts start alike
    let version = preamble.strip_prefix(PREAMBLE);
    let version = version.filter(|version| version.windows(6).any(|word| word == b"Format"));
    Ok(version.and_then(|version| version.first().copied()))
}
