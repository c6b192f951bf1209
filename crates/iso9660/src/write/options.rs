//! Options of the writer.
//!
//! In: the caller's choices. Out: the same, checked once.

use sinterfs_model::{Error, Result};

use super::appended::{self, AppendedPartition};
use super::boot::BootImage;
use super::compression::ZisofsCompression;
use super::level::InterchangeLevel;
use crate::layout::LongDate;

/// Options for writing an image.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Bytes of a block of zisofs: a power of two from 32 KiB to 1 MiB; above 128 KiB files are
    /// compressed by version 2.
    pub block_size: u32,
    /// The compression.
    pub compression: ZisofsCompression,
    /// Whether files are compressed by zisofs 2, which Linux does not read.
    pub version_2: bool,
    /// Whether files that are compressed by mkzftree are announced as such.
    pub marks_zisofs: bool,
    /// The level of interchange of the primary tree.
    pub level: InterchangeLevel,
    /// Whether there is a tree for Joliet, too.
    pub joliet: bool,
    /// Whether names for Joliet have up to 103 characters, not 64 as Joliet says.
    pub joliet_long: bool,
    /// Whether extended attributes are kept.
    pub xattrs: bool,
    /// The name of the volume, at most 32 bytes.
    pub volume: Vec<u8>,
    /// The identifiers of system, volume set, publisher, preparer and application.
    pub identifiers: [Vec<u8>; 5],
    /// When the image is made, in seconds since 1970; else it has no date.
    pub made: Option<u64>,
    /// The digits of the creation and modification dates, instead of `made`.
    pub date: Option<[u8; 16]>,
    /// The boot images in their order.
    pub boot: Vec<BootImage>,
    /// The bytes of the system area, at most 32 KiB: a boot record of disks.
    pub system_area: Vec<u8>,
    /// Whether the system area has a partition table that covers the image.
    pub partitions: bool,
    /// Partitions appended to the image.
    pub appended: Vec<AppendedPartition>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            block_size: 1 << 17,
            compression: ZisofsCompression::Plain,
            version_2: false,
            marks_zisofs: false,
            level: InterchangeLevel::default(),
            joliet: true,
            joliet_long: false,
            xattrs: true,
            volume: b"CDROM".to_vec(),
            identifiers: [b"LINUX", &b""[..], b"", b"", b""].map(<[u8]>::to_vec),
            made: None,
            date: None,
            boot: Vec::new(),
            system_area: Vec::new(),
            partitions: false,
            appended: Vec::new(),
        }
    }
}

impl WriteOptions {
    /// Fails with `Invalid` for unsupported values.
    pub(super) fn check(&self) -> Result<()> {
        let size = self.block_size;
        if !size.is_power_of_two() || !(1 << 15..=1 << 20).contains(&size) {
            return Err(Error::invalid(format!(
                "block size {size}: must be a power of two from 32 KiB to 1 MiB"
            )));
        }
        let [system, others @ ..] = &self.identifiers;
        let lens = [(&self.volume, 32), (system, 32)];
        let others = others.iter().map(|text| (text, 128));
        for (text, most) in lens.into_iter().chain(others) {
            if text.len() > most {
                let text = String::from_utf8_lossy(text);
                let what = format!("the identifier {text:?}: must have at most {most} bytes");
                return Err(Error::invalid(what));
            }
        }
        if self.system_area.len() > 32 << 10 {
            return Err(Error::invalid("a system area of more than 32 KiB"));
        }
        if let Some(date) = self.date.filter(|date| !LongDate::is_date(date)) {
            let text = String::from_utf8_lossy(&date).into_owned();
            return Err(Error::invalid(format!("{text:?} is not a date")));
        }
        let own = |image: &BootImage| image.efi && image.appended().is_none();
        let has_efi = self.partitions && self.boot.iter().any(own);
        appended::check(&self.appended, 1 + usize::from(has_efi))?;
        for image in &self.boot {
            let Some(number) = image.appended() else {
                continue;
            };
            if image.info_table {
                let what = "a boot image that is a partition has no table of its place";
                return Err(Error::invalid(what));
            }
            let mut partitions = self.appended.iter();
            if !partitions.any(|partition| partition.number == number) {
                let what = format!("a boot image is partition {number}, which is not appended");
                return Err(Error::invalid(what));
            }
        }
        if self.boot.len() > 31 {
            return Err(Error::invalid("more than 31 boot images"));
        }
        Ok(())
    }
}
