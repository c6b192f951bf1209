//! Content of files: written as it comes, each file from a sector on.
//!
//! In: encoded units in sequence. Out: bytes, and where each content is.
//!
//! **Invariant:** a content is contiguous. It is compressed if that takes fewer sectors; whether it
//! does is known at its end, so compressed units are kept until then, at most `KEPT_MAX` bytes:
//! larger contents are not compressed.

use std::io::Write;

use sinterfs_block::Sink;
use sinterfs_model::{Block, Error, Preceded, Result};

use super::compression::EncodedUnit;
use crate::layout::{SECTOR, SECTOR_LEN, ZisofsAlgorithm, ZisofsHeader, ZisofsVersion};

/// The most bytes of encoded units that are kept.
const KEPT_MAX: u64 = 256 << 20;

/// The location of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentPlace {
    /// The first block.
    first: u32,
    /// The first sector.
    pub(super) sector: u64,
    /// Stored bytes.
    pub(super) stored: u64,
    /// Decoded bytes.
    pub(super) len: u64,
    /// Its compression.
    pub(super) zisofs: Option<ZisofsHeader>,
}

/// The content that is being written.
#[derive(Debug)]
struct ContentInProgress {
    place: ContentPlace,
    /// Units that are kept, with their decoded lengths.
    kept: Vec<(Vec<u8>, u32)>,
    kept_bytes: u64,
    /// Units are written at once.
    streams: bool,
}

/// Writes contents.
pub(super) struct ContentWriter {
    pub(super) out: Box<dyn Sink>,
    /// The position in the image.
    pub(super) at: u64,
    /// The compression of files: the version and the block size as a power of two.
    pub(super) zisofs: Option<(ZisofsVersion, u8)>,
    /// Whether contents that are compressed already are recognised as such.
    marks: bool,
    open: Option<ContentInProgress>,
    places: Vec<ContentPlace>,
}

impl ContentWriter {
    /// Starts at a position, which is the start of a sector.
    pub(super) fn new(
        out: Box<dyn Sink>,
        at: u64,
        zisofs: Option<(ZisofsVersion, u8)>,
        marks: bool,
    ) -> Self {
        Self {
            out,
            at,
            zisofs,
            marks,
            open: None,
            places: Vec::new(),
        }
    }

    /// Appends a unit.
    pub(super) fn put(&mut self, block: Block) -> Result<()> {
        if block.preceded() == Preceded::ByNothing {
            self.close()?;
            let header = self.header_of(&block)?;
            self.open = Some(ContentInProgress {
                place: ContentPlace {
                    first: block.sequence,
                    sector: self.at / SECTOR,
                    stored: 0,
                    len: 0,
                    zisofs: header,
                },
                kept: Vec::new(),
                kept_bytes: 0,
                streams: self.zisofs.is_none() || header.is_some(),
            });
        }
        let Some(open) = &mut self.open else {
            return Err(Error::invalid("a block of no content"));
        };
        open.place.len += u64::from(block.decoded_len);
        if !open.streams {
            open.kept_bytes += block.bytes.len() as u64;
            open.kept.push((block.bytes, block.decoded_len));
            let is_too_long = self.zisofs.is_some_and(|(version, _)| {
                version == ZisofsVersion::V1 && open.place.len > u32::MAX.into()
            });
            if open.kept_bytes <= KEPT_MAX && !is_too_long {
                return Ok(());
            }
            open.streams = true;
            let kept = std::mem::take(&mut open.kept);
            return kept
                .iter()
                .try_for_each(|(bytes, len)| self.plain(bytes, *len));
        }
        self.plain(&block.bytes, block.decoded_len)
    }

    /// Returns the header of a content that mkzftree compressed, by its first block.
    fn header_of(&self, block: &Block) -> Result<Option<ZisofsHeader>> {
        if !self.marks {
            return Ok(None);
        }
        Ok(match EncodedUnit::of(&block.bytes)? {
            EncodedUnit::Raw(raw) => ZisofsHeader::decode(raw),
            other => ZisofsHeader::decode(&other.plain(block.decoded_len)?),
        })
    }

    /// Ends the last content.
    pub(super) fn close(&mut self) -> Result<()> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        if !open.streams {
            open.place.zisofs = self.header(&open);
            match open.place.zisofs {
                Some(header) => self.compressed(header, &open.kept)?,
                None => {
                    let mut kept = open.kept.iter();
                    kept.try_for_each(|(bytes, len)| self.plain(bytes, *len))?;
                }
            }
        }
        open.place.stored = self.at - open.place.sector * SECTOR;
        self.align()?;
        self.places.push(open.place);
        Ok(())
    }

    /// Returns the header of a content that is smaller when it is compressed.
    fn header(&self, open: &ContentInProgress) -> Option<ZisofsHeader> {
        let (version, block_bits) = self.zisofs?;
        let header = ZisofsHeader {
            version,
            algorithm: ZisofsAlgorithm::Zlib,
            header_words: u8::try_from(version.header_len() / 4).unwrap_or(0),
            block_bits,
            size: open.place.len,
        };
        let mut stored = header.pointers() + (header.blocks() + 1) * version.pointer_len();
        for (bytes, _) in &open.kept {
            stored += EncodedUnit::of(bytes).ok()?.zisofs_len();
        }
        let is_possible = version == ZisofsVersion::V2 || stored <= u32::MAX.into();
        let is_smaller = stored.div_ceil(SECTOR) < open.place.len.div_ceil(SECTOR);
        (is_possible && is_smaller).then_some(header)
    }

    fn compressed(&mut self, header: ZisofsHeader, kept: &[(Vec<u8>, u32)]) -> Result<()> {
        let width = header.version.pointer_len();
        let mut end = header.pointers() + (header.blocks() + 1) * width;
        let mut bytes = header.encode();
        let width = usize::try_from(width).unwrap_or(8);
        let mut push = |end: u64| {
            bytes.extend(end.to_le_bytes().get(..width).unwrap_or_default());
        };
        push(end);
        for (unit, _) in kept {
            end += EncodedUnit::of(unit)?.zisofs_len();
            push(end);
        }
        self.write(&bytes)?;
        kept.iter()
            .try_for_each(|(unit, _)| match EncodedUnit::of(unit)? {
                EncodedUnit::Zlib(stream) => self.write(stream),
                other => self.write(&other.zisofs()),
            })
    }

    fn plain(&mut self, bytes: &[u8], len: u32) -> Result<()> {
        match EncodedUnit::of(bytes)? {
            EncodedUnit::Raw(raw) => self.write(raw),
            other => self.write(&other.plain(len)?),
        }
    }

    /// Writes bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.at += bytes.len() as u64;
        let written = self.out.write_all(bytes);
        written.map_err(|error| Error::io("cannot write the image", error))
    }

    /// Fills the last sector.
    pub(super) fn align(&mut self) -> Result<()> {
        let rest = self.at.next_multiple_of(SECTOR) - self.at;
        let zeros = [0; SECTOR_LEN];
        let rest = usize::try_from(rest).unwrap_or(0);
        self.write(zeros.get(..rest).unwrap_or_default())
    }

    /// Returns a placeholder for a content that is not written yet; its record is at least as long
    /// as the final one.
    pub(super) fn expected(&self, len: u64) -> ContentPlace {
        let header = |(version, block_bits): (ZisofsVersion, u8)| ZisofsHeader {
            version,
            algorithm: ZisofsAlgorithm::Zlib,
            header_words: 0,
            block_bits,
            size: len,
        };
        let marked = self.marks.then_some((ZisofsVersion::V1, 15));
        ContentPlace {
            first: 0,
            sector: 0,
            stored: len,
            len,
            zisofs: self.zisofs.or(marked).map(header),
        }
    }

    /// Returns the place of the content that begins with a block.
    pub(super) fn place(&self, first: u32) -> Option<&ContentPlace> {
        let found = self
            .places
            .binary_search_by_key(&first, |place| place.first);
        self.places.get(found.ok()?)
    }
}
