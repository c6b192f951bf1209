//! Options of the writer.
//!
//! In: the caller's choices. Out: the same, checked once.

use std::path::Path;

use sinterfs_format::{NamedOptions, OptionRow, OptionTable, OptionText};
use sinterfs_model::{Error, Result};

use super::appended::{self, AppendedPartition};
use super::boot::{BootContent, BootImage};
use super::compression::ZisofsCompression;
use super::level::InterchangeLevel;
use crate::layout::LongDate;

/// The most bytes of a boot image or a system area.
const BOOT_MAX: u64 = 1 << 30;

/// The options of ISO 9660 images that not all formats have.
#[derive(Debug, Clone)]
pub struct IsoOptions {
    /// Whether files are compressed by zisofs 2, which Linux does not read.
    pub zisofs2: bool,
    /// Whether files that are compressed by mkzftree are announced as such.
    pub zisofs_marks: bool,
    /// The level of interchange of the primary tree.
    pub level: InterchangeLevel,
    /// Whether there is a tree for Joliet, too.
    pub joliet: bool,
    /// Whether names for Joliet have up to 103 characters, not 64 as Joliet says.
    pub joliet_long: bool,
    /// The name of the volume, at most 32 bytes.
    pub label: Vec<u8>,
    /// The identifiers of system, volume set, publisher, preparer and application.
    pub identifiers: [Vec<u8>; 5],
    /// The digits of the creation and modification dates, instead of the time of creation.
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

impl Default for IsoOptions {
    fn default() -> Self {
        Self {
            zisofs2: false,
            zisofs_marks: false,
            level: InterchangeLevel::default(),
            joliet: true,
            joliet_long: false,
            label: b"CDROM".to_vec(),
            identifiers: [b"LINUX", &b""[..], b"", b"", b""].map(<[u8]>::to_vec),
            date: None,
            boot: Vec::new(),
            system_area: Vec::new(),
            partitions: false,
            appended: Vec::new(),
        }
    }
}

impl OptionTable for IsoOptions {
    const ROWS: &'static [OptionRow<Self>] = &[
        ("zisofs2", |own, text| text.switch(&mut own.zisofs2)),
        ("zisofs_marks", |own, text| {
            text.switch(&mut own.zisofs_marks)
        }),
        ("interchange_level", |own, text| text.parse(&mut own.level)),
        ("joliet", |own, text| text.switch(&mut own.joliet)),
        ("joliet_long", |own, text| text.switch(&mut own.joliet_long)),
        ("label", |own, text| text.bytes(&mut own.label)),
        ("system", |own, text| text.bytes(&mut own.identifiers[0])),
        ("volume_set", |own, text| {
            text.bytes(&mut own.identifiers[1])
        }),
        ("publisher", |own, text| text.bytes(&mut own.identifiers[2])),
        ("preparer", |own, text| text.bytes(&mut own.identifiers[3])),
        ("application", |own, text| {
            text.bytes(&mut own.identifiers[4])
        }),
        ("date", |own, text| {
            let text = text.text()?;
            let digits = text.as_bytes().try_into();
            let wrong = |_| Error::invalid(format!("date `{text}`: must be YYYYMMDDhhmmsscc"));
            own.date = Some(digits.map_err(wrong)?);
            Ok(())
        }),
        ("boot", |own, text| own.push_boot(false, stored(text)?)),
        ("efi_boot", |own, text| own.push_boot(true, stored(text)?)),
        ("boot_partition", |own, text| {
            own.push_boot(false, BootContent::Appended(text.number()?))
        }),
        ("efi_partition", |own, text| {
            own.push_boot(true, BootContent::Appended(text.number()?))
        }),
        ("boot_load_size", |own, text| {
            own.last_boot("boot-load-size")?.load = Some(text.number()?);
            Ok(())
        }),
        ("boot_info_table", |own, text| {
            text.switch(&mut own.last_boot("boot-info-table")?.info_table)
        }),
        ("system_area", |own, text| {
            own.system_area = read(&text.path())?;
            Ok(())
        }),
        ("partitions", |own, text| text.switch(&mut own.partitions)),
        ("append", |own, text| {
            own.appended.push(text.text()?.parse()?);
            Ok(())
        }),
        ("extended", |own, text| {
            let mut words = text.text()?.split(',');
            words.try_for_each(|word| own.extend(word))
        }),
    ];
}

impl IsoOptions {
    /// Sets an option by its spelling in a list of features.
    fn extend(&mut self, word: &str) -> Result<()> {
        let pair = match word {
            "no-joliet" => Some(("joliet", "false")),
            "joliet-long" | "zisofs2" | "zisofs-marks" | "partitions" | "boot-info-table" => {
                Some((word, "true"))
            }
            _ => word.split_once('=').map(|(name, value)| match name {
                "level" => ("interchange_level", value),
                _ => (name, value),
            }),
        };
        if let Some((name, value)) = pair.filter(|(name, _)| *name != "extended")
            && self.set(&name.replace('-', "_"), value.as_ref())?
        {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "`{word}` is not a feature of ISO 9660 images (known are no-joliet, joliet-long, \
             level=N, zisofs2, zisofs-marks, boot=FILE, efi-boot=FILE, boot-partition=N, \
             efi-partition=N, and after one of these boot-load-size=N and boot-info-table, \
             system-area=FILE, partitions, append=N:TYPE:FILE, date=YYYYMMDDhhmmsscc, system=, \
             volume-set=, publisher=, preparer=, application=TEXT)"
        )))
    }

    fn push_boot(&mut self, efi: bool, content: BootContent) -> Result<()> {
        self.boot.push(BootImage {
            efi,
            content,
            load: None,
            info_table: false,
        });
        Ok(())
    }

    /// Returns the boot image that an option is about.
    fn last_boot(&mut self, option: &str) -> Result<&mut BootImage> {
        let last = self.boot.last_mut();
        last.ok_or_else(|| {
            Error::invalid(format!("`{option}` must follow boot=FILE or efi-boot=FILE"))
        })
    }
}

fn stored(text: OptionText<'_>) -> Result<BootContent> {
    read(&text.path()).map(BootContent::Stored)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let io = |error| Error::io("cannot read the boot image", error).path(path);
    let len = path.metadata().map_err(io)?.len();
    if len > BOOT_MAX {
        return Err(Error::limit("a boot image of more than 1 GiB").path(path));
    }
    std::fs::read(path).map_err(io)
}

/// Options for writing an image.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Bytes of a block of zisofs: a power of two from 32 KiB to 1 MiB; above 128 KiB files are
    /// compressed by version 2.
    pub block_size: u32,
    /// The compression.
    pub compression: ZisofsCompression,
    /// Whether extended attributes are kept.
    pub xattrs: bool,
    /// When the image is made, in seconds since 1970; else it has no date.
    pub made: Option<u64>,
    /// The options of this format.
    pub own: IsoOptions,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            block_size: 1 << 17,
            compression: ZisofsCompression::Plain,
            xattrs: true,
            made: None,
            own: IsoOptions::default(),
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
        let [system, others @ ..] = &self.own.identifiers;
        let lens = [(&self.own.label, 32), (system, 32)];
        let others = others.iter().map(|text| (text, 128));
        for (text, most) in lens.into_iter().chain(others) {
            if text.len() > most {
                let text = String::from_utf8_lossy(text);
                let what = format!("the identifier {text:?}: must have at most {most} bytes");
                return Err(Error::invalid(what));
            }
        }
        if self.own.system_area.len() > 32 << 10 {
            return Err(Error::invalid("a system area of more than 32 KiB"));
        }
        if let Some(date) = self.own.date.filter(|date| !LongDate::is_date(date)) {
            let text = String::from_utf8_lossy(&date).into_owned();
            return Err(Error::invalid(format!("{text:?} is not a date")));
        }
        let own = |image: &BootImage| image.efi && image.appended().is_none();
        let has_efi = self.own.partitions && self.own.boot.iter().any(own);
        appended::check(&self.own.appended, 1 + usize::from(has_efi))?;
        for image in &self.own.boot {
            let Some(number) = image.appended() else {
                continue;
            };
            if image.info_table {
                let what = "a boot image that is a partition has no table of its place";
                return Err(Error::invalid(what));
            }
            let mut partitions = self.own.appended.iter();
            if !partitions.any(|partition| partition.number == number) {
                let what = format!("a boot image is partition {number}, which is not appended");
                return Err(Error::invalid(what));
            }
        }
        if self.own.boot.len() > 31 {
            return Err(Error::invalid("more than 31 boot images"));
        }
        Ok(())
    }
}
