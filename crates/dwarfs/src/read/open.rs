//! Reads DwarFS images of every version: opens, validates once, answers `sinterfs_model::Image`.
//!
//! In: a source of bytes. Out: `Dwarfs`.
//!
//! **Invariant:** nothing of an opened image can make an index, an offset or a size go out of
//! bounds: `validate` has seen it all. Metadata that is stored uncompressed is viewed where it is.

use std::sync::Arc;

use sinterfs_block::cache::{self, BlockCache};
use sinterfs_block::{ReadAt, Window};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FsInfo, ImageInfo, Ino, Result};

use super::locate::{self, locate};
use super::metadata::Metadata;
use super::metadata_copy::MetadataLoader;
use super::section::{SectionReader, Sections};
use super::validate::{self, Derived};
use super::xattrs::XattrState;
use crate::layout::xattrs::XattrTableHeader;
use crate::layout::{MAJOR, SectionType};

/// An opened DwarFS image. Many threads may read it at once.
///
/// Memory: the cache of blocks, the decoded metadata, 16 bytes per block, 8 bytes per directory,
/// and 4 bytes per item of a packed table.
pub struct Dwarfs {
    pub(crate) reader: SectionReader,
    pub(crate) sections: Sections,
    pub(crate) metadata: Metadata,
    pub(crate) derived: Derived,
    pub(super) xattrs: XattrState,
    /// The errors of the sections whose copies are used.
    damaged_metadata: Vec<Error>,
    pub(super) info: ImageInfo,
    pub(super) cache: Arc<BlockCache>,
    /// Distinguishes this image's blocks from other images' blocks in a shared cache.
    pub(super) cache_key: u128,
}

/// The minimum capacity of a cache in blocks: one in progress, and one that was finished before it.
/// A decoder with its own window takes twice the size of its block; such a block is finished in the
/// background, even if others are evicted.
const LEAST_BLOCKS: u64 = 2;

/// The largest minimum capacity in bytes, for any block size.
const LEAST_LIMIT: u64 = 1 << 30;

/// The largest decoded schema in bytes: its objects take several times as much memory.
const SCHEMA_LIMIT: u64 = 64 << 20;

impl Dwarfs {
    /// Opens an image and validates its metadata, in time linear in the metadata.
    ///
    /// `Invalid` if there is no image, `Unsupported` for unknown versions and features, `Corrupt`
    /// if the image contradicts itself, `Limit` if it asks for more than `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let reader = Self::find(source, options)?;
        let sections = reader.list(&options.limits, options.salvage)?;
        let missing = |kind: SectionType| {
            let start = reader.file_offset(0);
            move || Error::corrupt(format!("no {kind} section")).at("image", start)
        };
        let schema = sections
            .schema
            .ok_or_else(missing(SectionType::METADATA_V2_SCHEMA))?;
        let tables = sections
            .metadata
            .ok_or_else(missing(SectionType::METADATA_V2))?;
        reader.will_need(
            [Some(schema), Some(tables), sections.xattrs]
                .into_iter()
                .flatten(),
        );
        let limit = options.limits.metadata;
        let schema_limit = limit.min(SCHEMA_LIMIT);
        let mut loader = MetadataLoader {
            reader: &reader,
            copy: sections.copy,
            damage: Vec::new(),
        };
        let schema = loader.load(schema, SectionType::METADATA_V2_SCHEMA, schema_limit)?;
        let tables = loader.load(tables, SectionType::METADATA_V2, limit)?;
        let metadata = Metadata::open(&schema, &tables, &options.limits)?;
        let derived = validate::validate(&metadata, sections.blocks.len() as u64)?;
        let xattrs = match sections.xattrs {
            Some(range) => {
                let content = loader.load(range, SectionType::XATTRS, limit);
                let hash = XattrTableHeader::hash(&schema, &tables);
                XattrState::from_section(content, hash, metadata.inodes.len())?
            }
            None => XattrState::Absent,
        };
        let damaged_metadata = loader.damage;
        let has_xattrs = xattrs.table().is_some();
        let info = image_info(&reader, &metadata, &derived, has_xattrs);
        let cache = options.cache.clone().unwrap_or_else(|| {
            // tiny blocks must not make the cache allocate slots for millions of them
            let blocks = (sections.blocks.len() as u64).max(1024);
            let typical = metadata.block_size.max(options.cache_bytes / blocks);
            // a block evicted while it is decoded would be decoded again by each read
            let least = metadata.block_size.saturating_mul(LEAST_BLOCKS);
            let bytes = options.cache_bytes.max(least.min(LEAST_LIMIT));
            Arc::new(BlockCache::new(bytes, typical))
        });
        let cache_key = cache::image_key();
        Ok(Self {
            reader,
            sections,
            metadata,
            derived,
            xattrs,
            damaged_metadata,
            info,
            cache,
            cache_key,
        })
    }

    /// Returns the cache of decoded blocks.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// Returns the number of inodes with extended attributes.
    pub fn inodes_with_xattrs(&self) -> u64 {
        self.xattrs.table().map_or(0, |table| table.len() as u64)
    }

    /// Returns the reason why the image's extended attributes cannot be used; `None` if they can,
    /// or if it has none.
    pub fn unusable_xattrs(&self) -> Option<Error> {
        let range = self.sections.xattrs?;
        let offset = self.reader.file_offset(range.offset);
        let why = self.xattrs.unusable_reason()?;
        Some(why.at(SectionType::XATTRS.to_string(), offset))
    }

    /// Returns what is wrong with the sections of metadata whose copies are used in their place,
    /// and with the end of an image that is salvaged.
    pub fn damaged_metadata(&self) -> impl Iterator<Item = Error> + '_ {
        let damaged = self.damaged_metadata.iter();
        let copied = damaged.map(|error| Error::corrupt(format!("{error}; its copy is used")));
        let end = self.sections.damaged_end.iter();
        copied.chain(end.map(|error| Error::corrupt(format!("{error}; the rest is not read"))))
    }

    /// Finds the image in its file and checks its version.
    pub(crate) fn find(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<SectionReader> {
        let start = match options.offset {
            Some(offset) => offset,
            None => locate(&*source)?
                .ok_or_else(|| Error::invalid("no DwarFS image was found in the file"))?,
        };
        let header = locate::version(&*source, start)?;
        if let Some(len) = options.len {
            let window = Window::new(source, start, len)?;
            let reader = SectionReader::new(window, &header);
            return Ok(reader.with_table(options.sections.clone()));
        }
        let reader = SectionReader::new(Window::from(Arc::clone(&source), start)?, &header);
        // the index is the last section: bytes after it (the end of a partition, another image, a
        // signature) are not part of the image
        match reader.end_of_index(&options.limits)? {
            Some(end) if end < reader.len() => Ok(SectionReader::new(
                Window::new(source, start, end)?,
                &header,
            )),
            _ => Ok(reader),
        }
    }
}

fn image_info(
    reader: &SectionReader,
    metadata: &Metadata,
    derived: &Derived,
    xattrs: bool,
) -> ImageInfo {
    ImageInfo {
        format: "dwarfs",
        version: format!("{MAJOR}.{}", reader.minor),
        root: Ino(0),
        totals: FsInfo {
            inodes: metadata.inodes.len(),
            bytes: Some(derived.sizes.total),
            stored: reader.len(),
            block_size: metadata.block_size,
        },
        checked_in_order: false,
        capability: Capability {
            xattrs,
            special_hard_links: false,
            holes: metadata.chunks.hole_block.is_some(),
            all_times: !metadata.options.mtime_only,
            time_unit: metadata.options.time_unit(),
        },
    }
}

impl std::fmt::Debug for Dwarfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dwarfs")
            .field("info", &self.info)
            .field("blocks", &self.sections.blocks.len())
            .finish_non_exhaustive()
    }
}
