//! The bytes of ISO 9660 and its extensions: descriptors, directory records, system use entries.
//!
//! In: bytes of an image, or fields. Out: fields, or bytes. Nothing is checked here but lengths.
//!
//! **Invariant:** what is decoded from encoded fields equals them. Format:
//! `docs/formats/iso9660.md`.

mod dates;
mod numbers;
mod record;
mod system_use;
mod volume;
mod zisofs;

pub use dates::{LongDate, ShortDate};
pub use numbers::{both16, both32, le16, le32, le64};
pub use record::{DirectoryRecord, RecordFlags};
pub use system_use::{
    ComponentFlags, NameFlags, PosixFields, SystemUseEntries, SystemUseEntry, TimeFlags, signature,
};
pub use volume::{CharacterSet, DescriptorKind, STANDARD_ID, VolumeFields};
pub use zisofs::{ZisofsAlgorithm, ZisofsHeader, ZisofsVersion};

/// The longest name of Rock Ridge in bytes: what Linux has.
pub const NAME_MAX: usize = 255;

/// The longest target of a symlink that is read and written, in bytes.
pub const TARGET_MAX: usize = 1 << 16;

/// The length of a logical sector in bytes.
pub const SECTOR: u64 = 2048;

/// The same, as the length of a buffer.
pub const SECTOR_LEN: usize = 2048;

/// The sector of the first volume descriptor.
pub const FIRST_DESCRIPTOR: u64 = 16;

/// The most bytes of a section of a file whose length is a multiple of a sector.
pub const SECTION_MAX: u64 = (1 << 32) - SECTOR;
