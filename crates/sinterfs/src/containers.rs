//! Container images as they are stored in files: layouts of OCI, archives of `docker save`.
//!
//! In: a directory, an archive, and which image of it is meant. Out: its layers, lowest first, and
//! its configuration. **Invariant:** nothing is used whose digest is not the named one. Spec: OCI
//! image-spec 1.1, "Image Layout".

pub(crate) mod docker_archive;
pub(crate) mod layer_digests;
pub(crate) mod named;
pub(crate) mod oci;
