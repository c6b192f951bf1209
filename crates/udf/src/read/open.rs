//! Opens a file system: the descriptors of the volume, partitions, and all directories.
//!
//! In: a source. Out: `Udf`.

use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{ReadAt, Window};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FileType, FsInfo, ImageInfo, Ino, Kind, Result};

use super::nodes::{UdfLosses, UdfNodes};
use super::partitions::Partitions;
use super::volume::{UdfVolume, is_named};

/// An opened UDF file system. Many threads may read it at once.
///
/// Memory: about 300 bytes per file, 24 per extent.
pub struct Udf {
    pub(crate) window: Window,
    pub(crate) volume: UdfVolume,
    pub(crate) nodes: UdfNodes,
    pub(super) info: ImageInfo,
    damage: Vec<String>,
    cache: Arc<BlockCache>,
}

impl std::fmt::Debug for Udf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Udf");
        shown
            .field("label", &self.volume.label)
            .finish_non_exhaustive()
    }
}

/// The kind of data of a source at an offset.
#[derive(Debug)]
pub enum Probe {
    /// No UDF file system.
    Absent,
    /// One whose volume or root cannot be read.
    Damaged(Error),
    /// One whose root can be read.
    Sound,
}

/// Looks for a file system at an offset: reads its root only.
pub fn probe(source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Probe> {
    if !is_named(&**source, options.start_offset())? {
        return Ok(Probe::Absent);
    }
    let window = Window::from(Arc::clone(source), options.start_offset())?;
    let probed = UdfVolume::read(&window).and_then(|volume| {
        let partitions = Partitions::read(&window, &volume, &options.limits)?;
        UdfNodes::probe(&window, &volume, &partitions, &options.limits)
    });
    match probed {
        Ok(()) => Ok(Probe::Sound),
        Err(error) => match error.kind() {
            Kind::Corrupt | Kind::Unsupported | Kind::Limit => Ok(Probe::Damaged(error)),
            _ => Err(error),
        },
    }
}

impl Udf {
    /// Opens a file system.
    ///
    /// `Invalid` if there is none, `Corrupt` if it is inconsistent, `Limit` if it exceeds
    /// `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        if !is_named(&*source, options.start_offset())? {
            let error = Error::invalid("no UDF file system");
            return Err(error.at(
                "volume structures",
                options.start_offset().saturating_add(32 << 10),
            ));
        }
        let window = Window::from(source, options.start_offset())?;
        let volume = UdfVolume::read(&window)?;
        let partitions = Partitions::read(&window, &volume, &options.limits)?;
        let nodes = UdfNodes::read(&window, &volume, &partitions, &options.limits)?;
        let cache = options.cache.clone();
        let damage = volume.damage.iter().chain(&partitions.damage);
        Ok(Self {
            info: image_info(&window, &volume, &nodes),
            damage: damage.cloned().collect(),
            cache: cache.unwrap_or_else(|| Arc::new(BlockCache::new(0, volume.block))),
            window,
            volume,
            nodes,
        })
    }

    /// Returns the name of the logical volume.
    pub fn label(&self) -> &str {
        &self.volume.label
    }

    /// Returns the name of the volume set.
    pub fn volume_set(&self) -> &str {
        &self.volume.set
    }

    /// Returns damage without which all can be read.
    pub fn damage(&self) -> impl Iterator<Item = Error> {
        let all = self.damage.iter();
        all.map(|what| Error::corrupt(what.clone()).within("volume"))
    }

    /// Returns what directories have that is not shown: the errors that their listings end with.
    pub fn left_out(&self) -> impl Iterator<Item = Error> {
        self.nodes.left_out.each()
    }

    /// Returns the named streams that are not shown, and why.
    pub fn lost_streams(&self) -> impl Iterator<Item = Error> {
        let more =
            (self.nodes.omitted > 0).then(|| format!("{} further streams", self.nodes.omitted));
        let all = self.nodes.lost_streams.iter().cloned().chain(more);
        all.map(|what| Error::corrupt(format!("left out: {what}")).within("directory"))
    }

    /// Returns how many files and directories have what is not shown of them.
    pub fn losses(&self) -> UdfLosses {
        self.nodes.losses
    }

    /// Returns the offset of the image in its file in bytes.
    pub fn offset(&self) -> u64 {
        self.window.start()
    }

    /// Returns the cache that the image was opened with.
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }
}

fn image_info(window: &Window, volume: &UdfVolume, nodes: &UdfNodes) -> ImageInfo {
    let files = nodes
        .nodes
        .iter()
        .filter(|node| node.kind == FileType::File);
    let bytes = files.fold(0_u64, |sum, node| sum.saturating_add(node.size));
    ImageInfo {
        format: "udf",
        version: format!("{:x}.{:02x}", volume.revision >> 8, volume.revision & 0xff),
        root: Ino(1),
        totals: FsInfo {
            inodes: nodes.nodes.len() as u64,
            bytes: Some(bytes),
            stored: window.len(),
            block_size: volume.block,
        },
        checked_in_order: false,
        capability: Capability {
            xattrs: true,
            special_hard_links: true,
            holes: true,
            all_times: true,
            time_unit: 1000,
        },
    }
}
