//! The flags of remote images in a program without the feature `remote`: none.

use sinterfs::{Error, OpenOptions, Result};

use crate::args::fetch::FetchWishes;

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

/// What is read of a remote image: nothing.
#[derive(Debug, Clone)]
pub struct ReadNotes;

impl ReadNotes {
    /// Begins to note nothing.
    pub fn begin(_: &mut OpenOptions) -> Self {
        Self
    }

    /// Returns zero.
    #[allow(clippy::unused_self, reason = "the same as with the feature")]
    pub fn bytes(&self) -> u64 {
        0
    }
}

/// Refuses a prefetch.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only mounts fetch ahead")
)]
pub fn fetch(_: &FetchWishes, _: &mut OpenOptions) -> Result<()> {
    let what = "a remote image; this program was built without `remote`";
    Err(Error::unsupported(what))
}
