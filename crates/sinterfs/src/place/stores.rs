//! The interface of what writes objects that URLs name, and reads container images there.
//!
//! In: a URL, and how it is opened. Out: an upload, a pushed image, the blobs of a container image.
//! **Invariant:** as of [`crate::place::transport`].

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use crate::open_options::OpenOptions;
use crate::place::attached_signature::AttachedSignature;

/// What writes objects that URLs name.
pub(crate) trait Stores {
    /// Returns whether nothing may be asked of servers.
    fn is_offline(&self, options: &OpenOptions) -> bool;

    /// Returns the blobs of an ordinary image in a registry; `None` for anything else.
    fn container(
        &self,
        path: &Path,
        platform: Option<&str>,
        options: &OpenOptions,
    ) -> Result<Option<RemoteContainer>>;

    /// Begins an object of a store.
    fn upload(&self, url: &Path, replace: bool, options: &OpenOptions) -> Result<Box<dyn Upload>>;

    /// Fails if no image can be pushed under a name: it has no tag, or one that exists and is not
    /// to be replaced.
    fn require_pushable(&self, url: &Path, replace: bool, options: &OpenOptions) -> Result<()>;

    /// Pushes an image to a registry; returns its name with the digest of the manifest.
    fn push(&self, image: PushedContent, url: &Path, options: &OpenOptions) -> Result<String>;
}

/// An object on its way to a store.
pub(crate) trait Upload: std::fmt::Debug + Send {
    /// Returns the file that takes the bytes.
    fn sink(&self) -> Result<File>;
    /// Completes the object.
    fn finish(self: Box<Self>) -> Result<()>;
    /// Returns why nothing more can be written.
    fn failure(self: Box<Self>) -> Error;
}

/// An ordinary image in a registry.
pub(crate) struct RemoteContainer {
    /// The layers, lowest first.
    pub(crate) layers: Vec<RemoteBlob>,
    /// The configuration.
    pub(crate) config: Option<RemoteBlob>,
}

/// A layer or the configuration of an image in a registry.
pub(crate) struct RemoteBlob {
    /// For messages.
    pub(crate) path: PathBuf,
    /// The digest that the manifest names.
    pub(crate) digest: String,
    pub(crate) source: Arc<dyn ReadAt>,
}

/// An image that is pushed.
#[cfg_attr(
    not(feature = "remote"),
    expect(dead_code, reason = "a push is refused before anything is sent")
)]
pub(crate) struct PushedContent {
    /// Its bytes.
    pub(crate) content: Arc<dyn ReadAt>,
    /// The name of its format.
    pub(crate) format: &'static str,
    /// The root digest of the image's own digests, if it has some.
    pub(crate) root: Option<String>,
    /// The architecture that its programs are for; `None` is this machine's.
    pub(crate) architecture: Option<String>,
    /// The configuration of the original container image, as JSON.
    pub(crate) config: Option<Vec<u8>>,
    /// Whether the tag may name another image until now.
    pub(crate) replace: bool,
    /// A signature to attach to the image.
    pub(crate) signature: Option<AttachedSignature>,
}
