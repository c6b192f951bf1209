//! The transport of a build without `remote`.
//!
//! In: a URL. Out: an error. **Invariant:** what needs a server fails and says why; nothing is in
//! a registry.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use crate::open_options::OpenOptions;
use crate::place::attached_signature::AttachedSignature;
#[cfg(feature = "write")]
use crate::place::stores::{PushedContent, RemoteContainer, Stores, Upload};
#[cfg(all(feature = "mount", target_os = "linux"))]
use crate::place::transport::ReadNotes;
use crate::place::transport::Transport;
use crate::place::url::shown;

/// Refuses every URL.
pub(crate) struct NoTransport;

fn refused(what: &str, url: &Path) -> Error {
    let what = format!("{what}; this program was built without `remote`");
    Error::unsupported(what).path(shown(url))
}

impl Transport for NoTransport {
    fn open(&self, url: &Path, _: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
        Err(refused("a remote image", url))
    }

    fn attached_signatures(
        &self,
        _: &Path,
        _: u64,
        _: &OpenOptions,
    ) -> Result<Option<Vec<AttachedSignature>>> {
        Ok(None)
    }

    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn note_reads(&self, _: &mut OpenOptions) -> ReadNotes {
        Box::new(|_| None)
    }

    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn has_list(&self, _: &OpenOptions) -> bool {
        false
    }

    #[cfg(feature = "write")]
    fn stores(&self) -> &dyn Stores {
        self
    }
}

#[cfg(feature = "write")]
impl Stores for NoTransport {
    fn is_offline(&self, _: &OpenOptions) -> bool {
        false
    }

    fn container(
        &self,
        _: &Path,
        _: Option<&str>,
        _: &OpenOptions,
    ) -> Result<Option<RemoteContainer>> {
        Ok(None)
    }

    fn upload(&self, url: &Path, _: bool, _: &OpenOptions) -> Result<Box<dyn Upload>> {
        Err(refused("a remote output", url))
    }

    fn require_pushable(&self, url: &Path, _: bool, _: &OpenOptions) -> Result<()> {
        Err(refused("a remote output", url))
    }

    fn push(&self, _: PushedContent, url: &Path, _: &OpenOptions) -> Result<String> {
        Err(refused("a remote output", url))
    }
}
