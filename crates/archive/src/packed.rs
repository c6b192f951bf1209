//! The members of an archive whose content is compressed one by one (zip) or in groups (7z).
//!
//! In: what a parser found. Out: each member, and the steps that decode its content. **Invariant:**
//! a parser makes only units whose stored bytes are within the file, and parts that are in order
//! within their unit; a method that nobody decodes is no unit but a reason to leave members out.

use std::borrow::Cow;

use crate::member::{Member, Notes};

/// A member, and where its content is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedMember {
    /// Name, attributes and size; the target of a symlink is its content, to be decoded. `content`
    /// means nothing.
    pub member: Member,
    /// Its content; `None` for what has none.
    pub part: Option<UnitRange>,
    /// Why it cannot be read; it is left out.
    pub refused: Option<Cow<'static, str>>,
}

/// The content of a member: a range of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitRange {
    /// The number of the unit.
    pub unit: u32,
    /// Its first byte in the decoded unit.
    pub offset: u64,
    /// Its length.
    pub len: u64,
    /// Its checksum, if the archive has one.
    pub crc: Option<u32>,
}

/// What is decoded as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// How.
    pub step: DecodeStep,
    /// The length of the result.
    pub len: u64,
    /// The position in the archive, for messages.
    pub at: u64,
}

/// Bytes, as they are stored or by decoding others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeStep {
    /// Bytes of the file.
    Stored {
        /// Their position.
        at: u64,
        /// Their number.
        len: u64,
    },
    /// The result of a method.
    Decoded {
        /// The method.
        method: Method,
        /// What it decodes; one, but for BCJ2.
        inputs: Vec<DecodeStep>,
        /// The length of the result.
        len: u64,
    },
}

impl DecodeStep {
    /// Calls a function with the name of each method, the last one to run first.
    pub fn visit_methods(&self, visit: &mut dyn FnMut(&'static str)) {
        match self {
            Self::Stored { .. } => {}
            Self::Decoded { method, inputs, .. } => {
                visit(method.name());
                inputs.iter().for_each(|input| input.visit_methods(visit));
            }
        }
    }
}

impl Method {
    /// Returns the name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Deflate => "deflate",
            Self::Bzip2 => "bzip2",
            Self::Lzma { .. } | Self::ZipLzma => "lzma",
            Self::Lzma2 { .. } => "lzma2",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }
}

/// A method that is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Raw deflate.
    Deflate,
    /// bzip2.
    Bzip2,
    /// LZMA with its properties and the size of its dictionary.
    Lzma {
        /// `(pb * 5 + lp) * 9 + lc`.
        properties: u8,
        /// In bytes.
        dictionary: u32,
    },
    /// LZMA as zip has it: a version, the length of the properties and these come first.
    ZipLzma,
    /// LZMA2 with the size of its dictionary.
    Lzma2 {
        /// In bytes.
        dictionary: u32,
    },
    /// Frames of zstd.
    Zstd,
    /// A file of xz.
    Xz,
}

/// What a parser found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// The members in the order of the archive's directory.
    pub members: Vec<PackedMember>,
    /// What their content is decoded of.
    pub units: Vec<Unit>,
    /// What was passed over, and how often.
    pub warnings: Notes,
}
