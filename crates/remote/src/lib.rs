//! Images on web servers and in object stores, read in place by position.
//!
//! In: a URL (`http:`, `https:`, `s3:`, `gs:`, `az:`, `oci:`). Out: a `ReadAt` over the object's
//! bytes; new objects in stores and registries. **Invariant:** all bytes are of one version of the
//! object: the first answer pins its length and entity tag, every later one must have the same, and
//! a changed object is an error (`Stale`). Only this crate has threads of the asynchronous runtime:
//! no caller sees a future. Spec: RFC 9110 (ranges: section 14, preconditions: section 13),
//! `docs/remote.md`.

#![warn(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "a test may panic"
    )
)]

mod address;
pub mod cache;
mod content_range;
mod failure;
mod fetch;
mod fill;
mod in_registry;
mod inflight;
mod leaves;
#[cfg_attr(not(unix), path = "no_object_upload.rs")]
mod object_upload;
mod objects;
mod open;
mod options;
mod plan;
mod queue;
mod read_ahead;
mod recorded_reads;
mod redirects;
mod registry;
mod remote;
mod retry;
mod runtime;
mod service;
mod shared;
mod version;

pub use address::Address;
pub use fill::Filled;
pub use in_registry::{ContainerImage, ImageBlob, MOST_LAYERS, container_image, signatures};
pub use object_upload::Upload;
pub use options::{FillOptions, RemoteOptions};
pub use recorded_reads::{ReadRecorder, RecordedReads};
pub use registry::{AttachedSignature, PushedImage, push, require_free, require_tag};
pub use remote::Remote;
