//! The levels of interchange of ECMA-119, section 10, and of ISO 9660:1999.

/// Which names of files and how many sections of them the primary tree may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InterchangeLevel {
    /// Names of 8 characters and an extension of 3, files in one section.
    One,
    /// Names of up to 31 characters, files in one section.
    Two,
    /// Names of up to 31 characters.
    #[default]
    Three,
    /// ISO 9660:1999: an enhanced descriptor, and names of up to 193 bytes as they are.
    Four,
}

impl InterchangeLevel {
    /// Returns whether a file may have several sections.
    pub(super) fn has_sections(self) -> bool {
        matches!(self, Self::Three | Self::Four)
    }
}
