//! The interface of what reads objects that URLs name.
//!
//! In: a URL, and how it is opened. Out: bytes, read by position; signatures that are attached to
//! them. **Invariant:** two implementations have it, of which a build has one: `remote`, and
//! `absent`, which refuses every URL.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::Result;

use crate::open_options::OpenOptions;
use crate::place::attached_signature::AttachedSignature;
#[cfg(feature = "write")]
use crate::place::stores::Stores;

/// The source of the line about all reads: `None` if there is none, or nothing was read since the
/// last call and the argument is not `true`.
#[cfg(all(feature = "mount", target_os = "linux"))]
pub(crate) type ReadNotes = Box<dyn FnMut(bool) -> Option<String> + Send>;

/// What reads objects that URLs name.
pub(crate) trait Transport: Sync {
    /// Opens an object.
    fn open(&self, url: &Path, options: &OpenOptions) -> Result<Arc<dyn ReadAt>>;

    /// Returns the signatures that are attached to an image in a registry, with digests of up to
    /// `longest` bytes; `None` for any other place.
    fn attached_signatures(
        &self,
        image: &Path,
        longest: u64,
        options: &OpenOptions,
    ) -> Result<Option<Vec<AttachedSignature>>>;

    /// Begins to note what is read of the image that will be opened by these options.
    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn note_reads(&self, options: &mut OpenOptions) -> ReadNotes;

    /// Returns whether a list says what is fetched ahead.
    #[cfg(all(feature = "mount", target_os = "linux"))]
    fn has_list(&self, options: &OpenOptions) -> bool;

    /// Returns what writes objects.
    #[cfg(feature = "write")]
    fn stores(&self) -> &dyn Stores;
}
