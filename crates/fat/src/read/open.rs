//! Opens a file system: the boot sector, the table, and all directories.
//!
//! In: a source. Out: `Fat`.

use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{ReadAt, Window};
use sinterfs_format::ReadOptions;
use sinterfs_model::{Capability, Error, FsInfo, ImageInfo, Ino, Result};

use super::boot::BootSector;
use super::nodes::{FatLosses, FatNodes};

/// An opened FAT file system. Many threads may read it at once.
///
/// Memory: about 120 bytes per name, 12 per run of clusters.
pub struct Fat {
    pub(crate) window: Window,
    pub(crate) boot: BootSector,
    pub(crate) nodes: FatNodes,
    pub(super) info: ImageInfo,
    cache: Arc<BlockCache>,
}

impl std::fmt::Debug for Fat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Fat");
        shown.field("boot", &self.boot).finish_non_exhaustive()
    }
}

impl Fat {
    /// Opens a file system.
    ///
    /// `Invalid` if there is none, `Corrupt` if it is inconsistent, `Limit` if it exceeds
    /// `options.limits`.
    pub fn open(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let start = options.start_offset();
        let located = |error: Error| error.at("boot sector", start);
        let boot = BootSector::read(&*source, start).map_err(located)?;
        let len = source.len().saturating_sub(start).min(boot.len);
        let window = Window::new(source, start, len).map_err(located)?;
        let nodes = FatNodes::read(&window, &boot, &options.limits)?;
        let cache = options.cache.clone();
        Ok(Self {
            info: image_info(&boot, &nodes),
            cache: cache.unwrap_or_else(|| Arc::new(BlockCache::new(0, boot.cluster))),
            window,
            boot,
            nodes,
        })
    }

    /// Returns the name of the volume.
    pub fn label(&self) -> String {
        let stored = self.nodes.label.as_deref().unwrap_or(&self.boot.label);
        let text = String::from_utf8_lossy(stored);
        let text = text.trim_end_matches([' ', '\0']);
        match text {
            "NO NAME" => String::new(),
            _ => text.to_owned(),
        }
    }

    /// Returns the serial number of the volume.
    pub fn serial(&self) -> u32 {
        self.boot.serial
    }

    /// Returns what is not shown, and why: the error that the listing of each directory ends with.
    pub fn left_out(&self) -> impl Iterator<Item = Error> {
        self.nodes.left_out.each()
    }

    /// Returns how many files and directories have what is not shown of them.
    pub fn losses(&self) -> FatLosses {
        self.nodes.losses
    }

    /// Returns the bytes of the file system that are there.
    pub(crate) fn window_len(&self) -> u64 {
        self.window.len()
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

fn image_info(boot: &BootSector, nodes: &FatNodes) -> ImageInfo {
    let files = nodes.nodes.iter().filter(|node| !node.is_directory);
    ImageInfo {
        format: "fat",
        version: boot.kind.name().to_owned(),
        root: Ino(1),
        totals: FsInfo {
            inodes: nodes.nodes.len() as u64,
            bytes: Some(files.map(|node| u64::from(node.size)).sum()),
            stored: boot.len,
            block_size: boot.cluster,
        },
        checked_in_order: false,
        capability: Capability {
            xattrs: false,
            special_hard_links: false,
            holes: false,
            all_times: false,
            time_unit: 1_000_000_000,
        },
    }
}
