//! What an encoder of .xz is asked for, and the dictionaries of liblzma's presets.

use super::Bcj;

/// The options of an encoder.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "lzma"),
    allow(dead_code, reason = "nothing encodes then")
)]
pub(super) struct Options {
    pub(super) level: u32,
    pub(super) extreme: bool,
    pub(super) dict: Option<u32>,
    pub(super) binary: Option<Bcj>,
}

/// The dictionaries of the presets 0 to 9 as powers of two.
pub(super) const DICT_OF_LEVEL: [u32; 10] = [18, 20, 21, 22, 22, 23, 23, 24, 25, 26];
