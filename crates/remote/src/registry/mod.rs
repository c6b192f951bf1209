//! Images in OCI registries: artifacts of ours, EROFS layers, and the layers of ordinary images.
//!
//! In: `oci://HOST/REPOSITORY:TAG` or `@sha256:...`, and the credentials of `docker login`. Out:
//! blobs by ranges, and images pushed. **Invariant:** a manifest is used only if it has the digest
//! that the reference names, if it names one. Spec: OCI image-spec 1.1, distribution-spec 1.1.

mod answers;
mod blob;
mod challenge;
mod credentials;
mod endpoint;
mod hosts;
mod manifest;
mod push;
mod reference;
mod referrers;
mod resolve;
mod session;
mod upload;

pub(crate) use blob::RegistryBlob;
pub(crate) use manifest::{Descriptor, Manifest};
pub use push::{PushedImage, push, require_free, require_tag};
pub(crate) use reference::Reference;
pub use referrers::AttachedSignature;
pub(crate) use referrers::attached;
pub(crate) use resolve::resolve;
pub(crate) use session::{Access, Session};
