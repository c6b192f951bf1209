//! Thrift's compact protocol, the encoding of schema, history and codec headers.
//!
//! Supports what these structures need; no code is generated from an interface description.

pub(crate) mod read;
