//! Counts of the metadata of an image that no tree of ours shows.

/// Metadata of an image that `sinterfs_model::Image` does not show.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unshown {
    pub(crate) attributes: u64,
    pub(crate) security: u64,
    pub(crate) short_names: u64,
    pub(crate) reparse_points: u64,
    pub(crate) births: u64,
    pub(crate) accesses: u64,
    /// Inodes with an object ID of NTFS.
    pub(crate) object_ids: u64,
    /// Items whose tag is not known.
    pub(crate) items: u64,
}
