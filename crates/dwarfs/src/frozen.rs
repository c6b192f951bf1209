//! Frozen2: how the metadata lies in its section, bit by bit, as a schema says.
//!
//! In: the schema's and the metadata's bytes. Out: values, lists and strings at their places.
//!
//! **Invariant:** knows structures and lists, but no field of DwarFS. Upstream describes Frozen2
//! in `frozen/thrift/lib/cpp2/frozen/Frozen.h` only; the rules are in `docs/formats/dwarfs.md`.

pub(crate) mod bits;
pub(crate) mod schema;
pub(crate) mod view;
