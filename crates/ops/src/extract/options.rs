//! The options of an extraction.

use std::path::PathBuf;

/// The treatment of files that exist in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overwrite {
    /// The target must be missing or empty.
    #[default]
    Refuse,
    /// An existing file is replaced; directories are merged.
    Replace,
    /// Existing files keep their name, content and metadata, and directories get missing entries.
    /// Of a directory that a killed extraction left, the metadata is set.
    Keep,
}

/// Which part of an image is restored, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Paths to restore, with everything below them; with no globs either, everything.
    pub paths: Vec<PathBuf>,
    /// Patterns of whole paths to restore, with everything below what they match. `*` and `?` do
    /// not match a slash, `**` does.
    pub globs: Vec<String>,
    /// Patterns of files to leave out, with everything below them: names at any depth, or whole
    /// paths if they have a slash.
    pub exclude: Vec<String>,
    /// The most components that paths have; `None` means any number.
    pub max_depth: Option<usize>,
    /// Components to take off the front of paths; entries with no more than these are left out.
    pub strip: usize,
    /// The number of threads; 0 means one for each processor.
    pub threads: usize,
    /// Restores owner and group; without it, set-id bits stay only where the owner is the same.
    pub owner: bool,
    /// Reports owners that are not restored.
    pub report_owner: bool,
    /// Restores permissions. Without it, they are the image's permissions less the umask, without
    /// set-id and sticky bits, and only `user.` attributes are restored: no capabilities, access
    /// lists or labels.
    pub permissions: bool,
    /// Uses 0666 and 0777 less the umask in place of the permissions of the image, if these are not
    /// restored.
    pub usual_modes: bool,
    /// Restores attributes that give rights even if permissions are not restored.
    pub rights: bool,
    /// Restores times to the nanosecond.
    pub times: bool,
    /// The time that everything gets instead, in seconds since 1970.
    pub time: Option<i64>,
    /// Restores extended attributes.
    pub xattrs: bool,
    /// Keeps holes; without it they are written as zeros.
    pub sparse: bool,
    /// The most bytes of holes that are written as zeros; files that would have more are not
    /// restored.
    pub max_zeros: u64,
    /// The treatment of existing files.
    pub overwrite: Overwrite,
    /// Waits until everything is on the disk.
    pub sync: bool,
    /// Continues after a failure that concerns one entry.
    pub continue_on_error: bool,
    /// Fails before anything is written if this system cannot keep all that is to be restored.
    pub strict: bool,
    /// Restores files of which parts cannot be read, with zeros in their place; each is reported.
    pub salvage: bool,
    /// The number of bytes of decoded blocks that the image keeps. If those that are needed take
    /// more, files are written in parts, block by block, so that no block is decoded twice; 0
    /// always writes in parts.
    pub cached: u64,
}

impl Default for ExtractOptions {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            globs: Vec::new(),
            exclude: Vec::new(),
            max_depth: None,
            strip: 0,
            threads: 0,
            owner: sinterfs_platform::process::is_root(),
            report_owner: true,
            permissions: true,
            usual_modes: false,
            rights: false,
            times: true,
            time: None,
            xattrs: true,
            sparse: true,
            max_zeros: sinterfs_model::MAX_ZEROS,
            overwrite: Overwrite::default(),
            sync: false,
            continue_on_error: true,
            strict: false,
            salvage: false,
            cached: 0,
        }
    }
}

impl ExtractOptions {
    /// Returns whether nothing is left out by name.
    pub(crate) fn selects_all(&self) -> bool {
        self.paths.is_empty() && self.globs.is_empty()
    }
}
