//! Thrift's compact encoding: schema, history and codec headers of DwarFS are stored in it.
//!
//! Only what these structures need; nothing is generated from an interface description.

pub(crate) mod read;
