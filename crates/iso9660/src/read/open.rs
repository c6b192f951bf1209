//! Opens an image: finds its descriptors, chooses a tree, and reads all directories.
//!
//! In: a source of bytes. Out: `Iso9660`.
//!
//! **Invariant:** besides the cache of blocks, memory holds the inodes, which the limits bound.

use std::sync::Arc;

use sinterfs_block::cache::{self, BlockCache};
use sinterfs_block::{ReadAt, Window};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FileType, FsInfo, ImageInfo, Ino, Kind, Result};

use super::boot::BootCatalog;
use super::magic::MagicMemory;
use super::nodes::{IsoNode, IsoNodes, WalkFacts};
use super::records;
use super::remembered::{AllocatedBytes, BlockShapes};
use super::rock_ridge::SystemUseReader;
use super::sessions;
use super::volumes::Volumes;
use super::walk::{self, TreeKind};
use crate::layout::{CharacterSet, SystemUseEntries, VolumeFields, signature};

/// Where names come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameSource {
    /// Rock Ridge, with the identifier of its version, if there is one.
    RockRidge(String),
    /// Joliet of a level.
    Joliet(u8),
    /// Names of ISO 9660:1999.
    Enhanced,
    /// Names of ISO 9660.
    Plain,
}

/// An opened ISO 9660 image. Many threads may read it at once.
///
/// Memory: the cache of blocks, and the inodes.
pub struct Iso9660 {
    pub(crate) window: Window,
    pub(crate) nodes: IsoNodes,
    pub(super) volumes: Volumes,
    pub(super) sessions: Vec<u64>,
    pub(super) names: NameSource,
    pub(super) system_use: Option<SystemUseReader>,
    pub(super) magic: Option<MagicMemory>,
    pub(super) facts: WalkFacts,
    pub(super) info: ImageInfo,
    pub(super) cache: Arc<BlockCache>,
    pub(super) cache_key: u128,
    pub(super) shapes: BlockShapes,
    pub(super) allocated: AllocatedBytes,
}

impl std::fmt::Debug for Iso9660 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Iso9660");
        shown
            .field("volumes", &self.volumes)
            .finish_non_exhaustive()
    }
}

impl Iso9660 {
    /// Opens an image: its last session.
    ///
    /// `Invalid` if there is no image, `Corrupt` if it is inconsistent, `Limit` if it exceeds
    /// `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let window = Window::from(source, options.start_offset())?;
        let sessions = sessions::find(&window)?;
        let session = sessions.last().copied().unwrap_or(0);
        let volumes = Volumes::read(&window, session)?;
        let rock_ridge = find_rock_ridge(&window, &volumes.primary)?;
        let (system_use, volume, names) = match (rock_ridge, &volumes.joliet, &volumes.enhanced) {
            (Some((reader, version)), _, _) => (
                Some(reader),
                &volumes.primary,
                NameSource::RockRidge(version),
            ),
            (None, Some(joliet), _) => {
                let level = match joliet.characters {
                    CharacterSet::Joliet(level) => level,
                    CharacterSet::Bytes => 0,
                };
                (None, joliet, NameSource::Joliet(level))
            }
            (None, None, Some(enhanced)) => (None, enhanced, NameSource::Enhanced),
            (None, None, None) => (None, &volumes.primary, NameSource::Plain),
        };
        let kind = TreeKind {
            characters: volume.characters,
            is_enhanced: names == NameSource::Enhanced,
            system_use: system_use.clone(),
        };
        let (nodes, facts) = walk::read(&window, volume, kind, &options.limits)?;
        // an image that announces some compressed files means others to be shown as they are
        let looks_for_magic = system_use.is_some() && !facts.zisofs_entries;
        let magic = looks_for_magic.then(|| MagicMemory::new(nodes.all().len()));
        let cache = options.cache.clone().unwrap_or_else(|| {
            let typical = 1 << 16;
            Arc::new(BlockCache::new(options.cache_bytes, typical))
        });
        Ok(Self {
            info: image_info(&window, &volumes, &nodes, &facts, &names),
            window,
            nodes,
            sessions,
            names,
            system_use,
            magic,
            facts,
            volumes,
            cache,
            cache_key: cache::image_key(),
            shapes: BlockShapes::default(),
            allocated: AllocatedBytes::default(),
        })
    }

    /// Returns the volume descriptors.
    pub fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// Returns where names come from.
    pub fn names(&self) -> &NameSource {
        &self.names
    }

    /// Returns the first sectors of all sessions.
    pub fn sessions(&self) -> &[u64] {
        &self.sessions
    }

    /// Returns the number of associated files, which are left out.
    pub fn associated_files(&self) -> u64 {
        self.facts.associated
    }

    /// Returns the number of records with a time of creation, which is not shown.
    pub fn births(&self) -> u64 {
        self.facts.births
    }

    /// Returns the number of records with times of backup, of expiration or of effect, which are
    /// not shown.
    pub fn more_times(&self) -> u64 {
        self.facts.more_times
    }

    /// Returns whether files are announced as compressed.
    pub fn has_zisofs(&self) -> bool {
        self.facts.zisofs_entries
    }

    /// Returns the boot catalog, if there is one.
    pub fn boot_catalog(&self) -> Option<Result<BootCatalog>> {
        let sector = self.volumes.boot_catalog?;
        Some(BootCatalog::read(&self.window, sector))
    }

    /// Returns the size of a logical block in bytes.
    pub fn block_size(&self) -> u64 {
        self.volumes.primary.block_size.into()
    }

    /// Returns the offset of the image in its file in bytes.
    pub fn offset(&self) -> u64 {
        self.window.start()
    }

    /// Returns the cache of decoded blocks.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// Returns the offset in the file of a position in the image.
    pub(super) fn file_offset(&self, position: u64) -> u64 {
        self.window.start().saturating_add(position)
    }

    /// Adds the position of the record of an inode to an error.
    #[cold]
    pub(super) fn located(&self, node: &IsoNode, error: Error) -> Error {
        error.at("directory record", self.file_offset(node.record))
    }
}

/// Returns the reader of system use areas, and the identifier of Rock Ridge, if the image has it.
fn find_rock_ridge(
    window: &Window,
    volume: &VolumeFields,
) -> Result<Option<(SystemUseReader, String)>> {
    let block = u64::from(volume.block_size);
    let position = u64::from(volume.root().block) * block;
    let bytes = match records::read(window, position) {
        Ok(bytes) => bytes,
        // an error with a place comes from the walk
        Err(error) if error.kind() == Kind::Corrupt => return Ok(None),
        Err(error) => return Err(error),
    };
    let Ok(record) = records::decode(&bytes) else {
        return Ok(None);
    };
    // an area of CD-ROM XA may come first
    for skipped in [0, 14] {
        let area = record.system_use.get(skipped..).unwrap_or_default();
        let first = SystemUseEntries(area).next();
        let Some(&[0xbe, 0xef, skip]) = first
            .filter(|entry| entry.signature == signature::SP)
            .and_then(|entry| entry.data.first_chunk::<3>())
        else {
            continue;
        };
        let own = SystemUseReader {
            window: window.clone(),
            block,
            skip: skipped,
        };
        let (mut found, mut version) = (false, String::new());
        let mut budget = window.len();
        own.for_each(record.system_use, &mut budget, &mut |entry| {
            match entry.signature {
                signature::PX | signature::RR | signature::TF => found = true,
                signature::ER => {
                    if let Some(id) = extension(entry.data)
                        && (id.starts_with("RRIP") || id.starts_with("IEEE_"))
                    {
                        (found, version) = (true, id);
                    }
                }
                _ => {}
            }
            Ok(())
        })
        .map_err(|error| error.at("directory record", window.start().saturating_add(position)))?;
        let reader = SystemUseReader {
            skip: skip.into(),
            ..own
        };
        return Ok(found.then_some((reader, version)));
    }
    Ok(None)
}

/// Returns the identifier in the data of an ER entry.
fn extension(data: &[u8]) -> Option<String> {
    let len = usize::from(*data.first()?);
    let id = data.get(4..4 + len)?;
    Some(String::from_utf8_lossy(id).into_owned())
}

fn image_info(
    window: &Window,
    volumes: &Volumes,
    nodes: &IsoNodes,
    facts: &WalkFacts,
    names: &NameSource,
) -> ImageInfo {
    let primary = &volumes.primary;
    let files = nodes
        .all()
        .iter()
        .filter(|node| node.kind == FileType::File);
    let bytes = files.fold(0u64, |sum, node| sum.saturating_add(node.size));
    let is_rock_ridge = matches!(names, NameSource::RockRidge(_));
    // compressed files that nothing announces are found when they are looked at
    let is_known = !is_rock_ridge || facts.zisofs_entries;
    let volume = u64::from(primary.blocks) * u64::from(primary.block_size);
    ImageInfo {
        format: "iso9660",
        version: match names {
            NameSource::RockRidge(_) => "Rock Ridge".to_owned(),
            NameSource::Joliet(level) => format!("Joliet level {level}"),
            NameSource::Enhanced => "ISO 9660:1999".to_owned(),
            NameSource::Plain => "ISO 9660".to_owned(),
        },
        root: Ino(1),
        totals: FsInfo {
            inodes: (nodes.all().len() as u64).saturating_sub(facts.hidden),
            bytes: is_known.then_some(bytes),
            stored: if volumes.session == 0 {
                volume
            } else {
                window.len()
            },
            block_size: primary.block_size.into(),
        },
        checked_in_order: false,
        capability: Capability {
            xattrs: is_rock_ridge,
            special_hard_links: is_rock_ridge,
            holes: true,
            all_times: facts.other_times,
            time_unit: if facts.long_times {
                10_000_000
            } else {
                1_000_000_000
            },
        },
    }
}
