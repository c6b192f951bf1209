//! What a row of the registry makes of an image for a kernel's driver of its format.

use std::sync::Arc;

use sinterfs_model::Loss;
use sinterfs_mount::Backing;

/// A computed file that the kernel mounts, with the content of an image of any format.
pub(crate) struct KernelBacking {
    /// The file.
    pub(crate) file: Arc<dyn Backing>,
    /// What the image has and the file does not show.
    pub(crate) losses: Vec<Loss>,
}
