//! Frozen2: the bit-packed layout of the metadata, described by a schema.
//!
//! In: the bytes of schema and metadata. Out: values, lists and strings.
//!
//! **Invariant:** knows structures and lists, but no field of DwarFS. Upstream describes Frozen2
//! in `frozen/thrift/lib/cpp2/frozen/Frozen.h` only; see also `docs/formats/dwarfs.md`.

pub(crate) mod bits;
pub(crate) mod schema;
pub(crate) mod view;
