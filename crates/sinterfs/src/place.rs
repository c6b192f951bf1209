//! Where images are: in files, or, with the feature `remote`, in objects that URLs name.
//!
//! Enters a path or a URL; leaves its bytes, read by position. **Invariant:** nothing above asks
//! whether the feature is there: [`TRANSPORT`] is what reads and writes objects in this build.

#[cfg(not(feature = "remote"))]
mod absent;
pub(crate) mod attached_signature;
#[cfg(feature = "write")]
mod copy;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "write")]
pub(crate) mod stores;
pub(crate) mod transport;
mod url;

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::Result;

use crate::open_options::OpenOptions;
use transport::Transport;

#[cfg(feature = "write")]
pub(crate) use copy::copy_hashed;
#[cfg(feature = "write")]
pub(crate) use url::is_registry;
pub use url::{is_url, shown};

/// What reads and writes objects that URLs name.
#[cfg(feature = "remote")]
pub(crate) static TRANSPORT: &dyn Transport = &remote::RemoteTransport;
/// What refuses URLs.
#[cfg(not(feature = "remote"))]
pub(crate) static TRANSPORT: &dyn Transport = &absent::NoTransport;

/// Opens the bytes of a file or of a remote object.
pub(crate) fn source(path: &Path, options: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
    if is_url(path) {
        return TRANSPORT.open(path, options);
    }
    Ok(Arc::new(FileSource::open(path)?))
}
