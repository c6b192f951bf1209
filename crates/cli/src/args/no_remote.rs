//! The flags of remote images in a program without the feature `remote`: none.

use sinterfs::OpenOptions;

/// How a remote image is read, if it could be.
#[derive(Debug, clap::Args)]
pub struct RemoteArgs {}

impl RemoteArgs {
    /// Returns the default options for opening images.
    #[allow(clippy::unused_self, reason = "the same as with the feature")]
    pub fn open_options(&self) -> OpenOptions {
        OpenOptions::default()
    }
}
