//! Opens an image: checks the superblock, and loads the owners and the lists of lookup tables.
//!
//! In: a source of bytes. Out: `Squashfs`. Everything else is read on demand and checked each time.
//!
//! **Invariant:** memory does not grow with the number of inodes that are used: besides the cache
//! of blocks there are caches of fixed size of metadata blocks, directories and checkpoints.

use std::sync::{Arc, OnceLock};

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sinterfs_block::ReadAt;
use sinterfs_block::cache::{self, BlockCache};
use sinterfs_codec::CodecId;
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FsInfo, ImageInfo, Ino, Limits, ListingErrors, Result};
use zerocopy::little_endian::U64;

use super::ahead::Ahead;
use super::checkpoints::Checkpoints;
use super::directory_index::EntryIndex;
use super::fields::split;
use super::image_core::ImageCore;
use super::known_directories::KnownDirectories;
use super::locate::locate;
use super::metadata::{Metadata, Table};
use super::parents::Parents;
use super::superblock::{Ids, Superblock};
use super::table::{LookupTable, TableLayout};
use super::xattrs::XattrLists;
use crate::layout::{FragmentEntry, MetaRef};

/// The largest cache of decoded metadata in bytes.
const METADATA_MAX: u64 = 64 << 20;

/// The capacity of the caches of directory indexes and of checkpoints in bytes, each.
const PARSED_MAX: u64 = 8 << 20;

/// An opened SquashFS image. Many threads may read it at once.
///
/// Memory: the cache of blocks, up to 64 MiB of decoded metadata blocks, 8 MiB each of directory
/// indexes and checkpoints, 2 MiB of names of directories, 8 bytes per 8 KiB of the tables of
/// fragments, attributes and exports, the owners, and, after the first lookup of a parent without
/// an export table, 16 bytes per directory.
pub struct Squashfs {
    pub(crate) superblock: Superblock,
    pub(crate) metadata: Metadata,
    pub(super) codec: CodecId,
    /// Owners, and since version 4 groups.
    pub(super) ids: Vec<u32>,
    pub(super) groups: Vec<u32>,
    pub(crate) fragments: Option<LookupTable>,
    pub(crate) exports: Option<LookupTable>,
    pub(crate) xattrs: Option<XattrLists>,
    pub(super) indexes: Cache<u64, Arc<EntryIndex>, ByMemory>,
    pub(super) checkpoints: Cache<u64, Arc<Checkpoints>, ByMemory>,
    pub(super) known: KnownDirectories,
    pub(super) ahead: Ahead,
    pub(super) parents: OnceLock<Parents>,
    pub(super) info: ImageInfo,
    /// Entries that no listing shows.
    pub(crate) left_out: ListingErrors,
    pub(super) cache: Arc<BlockCache>,
    pub(super) cache_key: u128,
}

#[derive(Clone)]
pub(super) struct ByMemory;

impl Weighter<u64, Arc<EntryIndex>> for ByMemory {
    fn weight(&self, _key: &u64, index: &Arc<EntryIndex>) -> u64 {
        index.memory()
    }
}

impl Weighter<u64, Arc<Checkpoints>> for ByMemory {
    fn weight(&self, _key: &u64, checkpoints: &Arc<Checkpoints>) -> u64 {
        checkpoints.memory()
    }
}

impl Squashfs {
    /// Opens an image: checks the superblock, loads the owners and the lists of lookup tables, and
    /// checks that the root is a directory.
    ///
    /// `Invalid` if there is no image, `Unsupported` for unknown versions and compressors,
    /// `Corrupt` if the image is inconsistent, `Limit` if it exceeds `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let start = match options.offset {
            Some(offset) => offset,
            None => locate(&source)?
                .ok_or_else(|| Error::invalid("no SquashFS image was found in the file"))?,
        };
        let kept = (options.cache_bytes / 8).min(METADATA_MAX);
        let ImageCore {
            superblock,
            codec,
            metadata,
        } = ImageCore::open(source, start, kept)?;
        let limits = &options.limits;
        let (ids, groups) = ids(&metadata, &superblock, limits)?;
        let cache = options.cache.clone().unwrap_or_else(|| {
            let typical = u64::from(superblock.block_size);
            Arc::new(BlockCache::new(options.cache_bytes, typical))
        });
        Ok(Self {
            fragments: fragments(&metadata, &superblock, limits)?,
            exports: exports(&metadata, &superblock, limits)?,
            xattrs: XattrLists::open(&metadata, &superblock, limits)?,
            indexes: Cache::with_weighter(64, PARSED_MAX, ByMemory),
            checkpoints: Cache::with_weighter(64, PARSED_MAX, ByMemory),
            known: KnownDirectories::new(),
            left_out: ListingErrors::default(),
            ahead: Ahead::new(),
            parents: OnceLock::new(),
            info: image_info(&superblock),
            cache,
            cache_key: cache::image_key(),
            superblock,
            metadata,
            codec,
            ids,
            groups,
        })
    }

    pub(crate) fn root(&self) -> Ino {
        Ino(self.superblock.root)
    }

    pub(crate) fn inodes(&self) -> Table {
        self.superblock.inode_table
    }

    pub(crate) fn directories(&self) -> Table {
        self.superblock.directory_table
    }

    /// Returns the cache of decoded blocks.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// Reads an entry of the export table: the inode with number `index + 1`.
    pub(crate) fn exported(&self, exports: &LookupTable, index: u64) -> Result<Ino> {
        let mut bytes = [0; 8];
        exports.get(&self.metadata, index, &mut bytes)?;
        let [reference] = split(&bytes, self.superblock.order, &[64]);
        Ok(Ino(MetaRef(U64::new(reference)).0.get()))
    }
}

/// Loads owners and groups: one table since version 4, two arrays before.
fn ids(
    metadata: &Metadata,
    superblock: &Superblock,
    limits: &Limits,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let order = superblock.order;
    match superblock.ids {
        Ids::Table { at, count } => {
            let list = TableLayout {
                at,
                width: 8,
                record: 4,
                count: u64::from(count),
            };
            let table = LookupTable::open(metadata, "id table", list, limits)?;
            let mut ids = Vec::new();
            for index in 0..u64::from(count) {
                let mut bytes = [0; 4];
                table.get(metadata, index, &mut bytes)?;
                ids.push(u32::from_le_bytes(bytes));
            }
            Ok((ids, Vec::new()))
        }
        Ids::Arrays { users, groups } => {
            let array = |(at, count): (u64, u8)| {
                let bytes = metadata.source.read(at, u64::from(count) * 4);
                let bytes = bytes.map_err(|e| e.at("id table", metadata.file_offset(at)))?;
                let ids = bytes.chunks_exact(4).map(|bytes| {
                    let [id] = split(bytes, order, &[32]);
                    u32::try_from(id).unwrap_or(u32::MAX)
                });
                Ok(ids.collect())
            };
            Ok((array(users)?, array(groups)?))
        }
    }
}

fn fragments(
    metadata: &Metadata,
    superblock: &Superblock,
    limits: &Limits,
) -> Result<Option<LookupTable>> {
    let Some(at) = superblock.fragment_table else {
        return Ok(None);
    };
    let (width, record) = match superblock.major {
        2 => (4, 8),
        _ => (8, size_of::<FragmentEntry>() as u64),
    };
    let list = TableLayout {
        at,
        width,
        record,
        count: u64::from(superblock.fragments),
    };
    LookupTable::open(metadata, "fragment table", list, limits).map(Some)
}

fn exports(
    metadata: &Metadata,
    superblock: &Superblock,
    limits: &Limits,
) -> Result<Option<LookupTable>> {
    let Some(at) = superblock.export_table else {
        return Ok(None);
    };
    let list = TableLayout {
        at,
        width: 8,
        record: size_of::<MetaRef>() as u64,
        count: u64::from(superblock.inodes),
    };
    LookupTable::open(metadata, "export table", list, limits).map(Some)
}

fn image_info(superblock: &Superblock) -> ImageInfo {
    let major = superblock.major;
    ImageInfo {
        format: "squashfs",
        version: format!("{major}.{}", superblock.minor),
        root: Ino(superblock.root),
        totals: FsInfo {
            inodes: u64::from(superblock.inodes),
            bytes: None,
            stored: superblock.bytes_used,
            block_size: u64::from(superblock.block_size),
        },
        checked_in_order: false,
        capability: Capability {
            xattrs: superblock.xattr_table.is_some(),
            special_hard_links: major > 2,
            holes: major > 2,
            all_times: false,
            time_unit: 1_000_000_000,
        },
    }
}

impl std::fmt::Debug for Squashfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Squashfs")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}
