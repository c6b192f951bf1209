//! What can be asked of the writer.

use std::str::FromStr;

use model::{Error, Result};

use super::BLOCK;
use super::compression::Compression;
use crate::layout::compressed::CLUSTER_MAX;

/// How an image is written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Bytes of content that are encoded together: a power of two from 4 KiB to 1 MiB.
    pub unit: u32,
    /// The codec of content.
    pub compression: Compression,
    /// The oldest kernel that is to mount the image.
    pub kernel: Kernel,
    /// Whether units of zeros are holes, where the kernel knows them.
    pub holes: bool,
    /// Whether extended attributes are kept.
    pub xattrs: bool,
    /// When the image was made, in seconds since 1970; `None` means the latest time of its files.
    pub made: Option<u64>,
    /// The volume's UUID; `None` makes one of the image's bytes.
    pub uuid: Option<Uuid>,
    /// The volume's name.
    pub label: Label,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            unit: 128 << 10,
            compression: Compression::default(),
            kernel: Kernel::default(),
            holes: true,
            xattrs: true,
            made: None,
            uuid: None,
            label: Label::default(),
        }
    }
}

impl WriteOptions {
    /// Fails with `Invalid` for what the format does not have, with `Unsupported` for what is not
    /// written.
    pub(super) fn check(&self) -> Result<()> {
        let unit = u64::from(self.unit);
        if !unit.is_power_of_two() || !(BLOCK..=CLUSTER_MAX).contains(&unit) {
            return Err(Error::invalid(format!(
                "block size {unit}: EROFS has powers of two from 4 KiB to 1 MiB"
            )));
        }
        if self.compression != Compression::None && !self.kernel.knows_extents() {
            return Err(Error::unsupported(format!(
                "compressed images for Linux {} are not written, only for {FIRST_EXTENTS} and newer; \
                 without compression (-C none) that kernel can mount the image",
                self.kernel
            )));
        }
        Ok(())
    }
}

/// A version of Linux that images can be made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    major: u16,
    minor: u16,
}

/// The first version that reads extents, and times of compact inodes.
const FIRST_EXTENTS: Kernel = Kernel::new(6, 15);

/// The versions that can be named: those with long support or with a new feature of the format.
const KERNELS: [Kernel; 10] = [
    Kernel::new(5, 4),
    Kernel::new(5, 10),
    Kernel::new(5, 15),
    Kernel::new(6, 1),
    Kernel::new(6, 6),
    Kernel::new(6, 10),
    Kernel::new(6, 12),
    FIRST_EXTENTS,
    Kernel::new(6, 17),
    Kernel::new(6, 18),
];

impl Kernel {
    const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Tells whether the kernel reads extents that begin at any byte.
    pub(super) fn knows_extents(self) -> bool {
        self >= FIRST_EXTENTS
    }
}

impl Default for Kernel {
    fn default() -> Self {
        FIRST_EXTENTS
    }
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Kernel {
    type Err = Error;

    /// Reads `6.15`.
    fn from_str(text: &str) -> Result<Self> {
        let known = KERNELS.iter().find(|kernel| kernel.to_string() == text);
        known.copied().ok_or_else(|| {
            let all: Vec<String> = KERNELS.iter().map(ToString::to_string).collect();
            Error::invalid(format!(
                "target kernel `{text}`: the choices are {}",
                all.join(", ")
            ))
        })
    }
}

/// The UUID of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uuid(pub [u8; 16]);

impl FromStr for Uuid {
    type Err = Error;

    /// Reads `01234567-89ab-cdef-0123-456789abcdef`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid(format!(
                "`{text}` is no UUID, as 01234567-89ab-cdef-0123-456789abcdef is one"
            ))
        };
        let groups: Vec<usize> = text.split('-').map(str::len).collect();
        if groups != [8, 4, 4, 4, 12] {
            return Err(wrong());
        }
        let digits: Option<Vec<u32>> = text
            .chars()
            .filter(|&letter| letter != '-')
            .map(|letter| letter.to_digit(16))
            .collect();
        let digits = digits.ok_or_else(wrong)?;
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let value = pair.iter().fold(0, |value, digit| value << 4 | digit);
            *byte = u8::try_from(value).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// The name of a volume: at most 16 bytes without a zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Label(pub(super) [u8; 16]);

impl FromStr for Label {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut bytes = [0; 16];
        match bytes.get_mut(..text.len()) {
            Some(room) if !text.contains('\0') => room.copy_from_slice(text.as_bytes()),
            _ => {
                let what = format!("label `{text}`: at most 16 bytes, none of them zero");
                return Err(Error::invalid(what));
            }
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_known_by_their_versions() {
        let old: Kernel = "5.4".parse().unwrap();
        let new: Kernel = "6.17".parse().unwrap();
        assert!(!old.knows_extents() && new.knows_extents() && old < new);
        for wrong in ["", "6", "6.14", "6.15.1", "newest"] {
            assert!(wrong.parse::<Kernel>().is_err(), "{wrong}");
        }
        assert!(KERNELS.is_sorted());
    }

    #[test]
    fn uuids_and_labels_are_read() {
        let uuid: Uuid = "01234567-89ab-cdef-0123-456789ABCDEF".parse().unwrap();
        assert_eq!(uuid.0[..5], [0x01, 0x23, 0x45, 0x67, 0x89]);
        assert_eq!(uuid.0[15], 0xef);
        for wrong in [
            "",
            "0123456789abcdef0123456789abcdef",
            "01234567-89ab-cdef-0123-456789abcdeg",
            "01234567-89ab-cdef-0123-456789abcde\u{e9}",
        ] {
            assert!(wrong.parse::<Uuid>().is_err(), "{wrong}");
        }
        assert_eq!("ab".parse::<Label>().unwrap().0[..3], *b"ab\0");
        assert!("0123456789abcdef".parse::<Label>().is_ok());
        assert!("0123456789abcdefg".parse::<Label>().is_err());
        assert!("a\0b".parse::<Label>().is_err());
    }

    #[test]
    fn what_an_old_kernel_cannot_read_is_refused() {
        let options = WriteOptions {
            kernel: "6.12".parse().unwrap(),
            ..WriteOptions::default()
        };
        assert_eq!(
            options.check().unwrap_err().kind(),
            model::Kind::Unsupported
        );
        let plain = WriteOptions {
            compression: Compression::None,
            ..options
        };
        plain.check().unwrap();
        for unit in [0, 2048, 12_288, 2 << 20] {
            let options = WriteOptions {
                unit,
                ..WriteOptions::default()
            };
            assert!(options.check().is_err(), "{unit}");
        }
    }
}
