//! New ISO 9660 images: levels, and our options to the writer's own.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::{FileSource, Sink};
use sinterfs_format::{
    Blob, CreateOptions, Level, PipelineFormat, Purpose, VolumeOptions,
    level::{self, per_file},
};
use sinterfs_model::{Categorizers, Error, ImageWriter, Order, Result, Setting};

use crate::write::{
    AppendedPartition, BootContent, BootImage, InterchangeLevel, IsoWriter, WriteOptions,
    ZisofsCompression,
};

/// The most bytes of a boot image or a system area.
const BOOT_MAX: u64 = 1 << 30;

/// Makes ISO 9660 images.
pub(super) struct IsoBuilder;

impl PipelineFormat for IsoBuilder {
    fn level(&self, level: u8, _: Purpose, _: &VolumeOptions) -> Result<&'static Level> {
        level::at(&LEVELS, level)
    }

    fn categorizers(&self) -> Categorizers {
        Categorizers::NONE
    }

    fn knows(&self, option: Setting) -> bool {
        matches!(
            option,
            Setting::Duplicates
                | Setting::CreateTimestamp
                | Setting::Xattrs
                | Setting::Label
                | Setting::Extended
        )
    }

    fn cuts_blocks(&self, compression: &str) -> bool {
        !matches!(compression.parse(), Ok(ZisofsCompression::Plain))
    }

    fn patches(&self) -> bool {
        true
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        Ok(Box::new(IsoWriter::new(out, write_options(options)?)?))
    }
}

/// The levels of ISO 9660 (docs/formats/iso9660.md, "Writing"): only the highest ones compress, as
/// nothing but Linux reads files that are compressed.
const LEVELS: [Level; 10] = [
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("none", 17, Order::Path),
    per_file("zlib:level=9", 17, Order::Path),
    per_file("zlib:level=12", 17, Order::Path),
];

fn write_options(options: &CreateOptions) -> Result<WriteOptions> {
    let volume = &options.volume;
    let mut own = WriteOptions {
        // one that is too large is refused as such
        block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
        compression: options.compression.parse()?,
        xattrs: !options.per_file.no_xattrs,
        made: options.create_timestamp,
        ..WriteOptions::default()
    };
    if let Some(label) = &volume.label {
        label.as_bytes().clone_into(&mut own.volume);
    }
    let words = volume.extended.iter().flat_map(|text| text.split(','));
    words
        .into_iter()
        .try_for_each(|word| extend(&mut own, word))?;
    Ok(own)
}

/// Applies one of the words of further features.
fn extend(options: &mut WriteOptions, word: &str) -> Result<()> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let [system, set, publisher, preparer, application] = &mut options.identifiers;
    match (name, value) {
        ("no-joliet", "") => options.joliet = false,
        ("joliet-long", "") => options.joliet_long = true,
        ("zisofs2", "") => options.version_2 = true,
        ("partitions", "") => options.partitions = true,
        ("system", text) => text.as_bytes().clone_into(system),
        ("volume-set", text) => text.as_bytes().clone_into(set),
        ("publisher", text) => text.as_bytes().clone_into(publisher),
        ("preparer", text) => text.as_bytes().clone_into(preparer),
        ("application", text) => text.as_bytes().clone_into(application),
        ("boot", path) => options.boot.push(image(path, false)?),
        ("efi-boot", path) => options.boot.push(image(path, true)?),
        ("boot-load-size", number) => {
            let parsed = number.parse().map_err(|_| {
                let what = format!("boot-load-size `{number}`: must be a number below 65536");
                Error::invalid(what)
            })?;
            last(options, name)?.load = Some(parsed);
        }
        ("boot-partition", text) => options.boot.push(partition(text, false)?),
        ("efi-partition", text) => options.boot.push(partition(text, true)?),
        ("append", text) => options.appended.push(appended(text)?),
        ("level", text) => options.level = level_of(text)?,
        ("date", text) => {
            let digits = text.as_bytes().try_into();
            let wrong = |_| Error::invalid(format!("date `{text}`: must be YYYYMMDDhhmmsscc"));
            options.date = Some(digits.map_err(wrong)?);
        }
        ("zisofs-marks", "") => options.marks_zisofs = true,
        ("boot-info-table", "") => last(options, name)?.info_table = true,
        ("system-area", path) => options.system_area = read(Path::new(path))?,
        _ => {
            return Err(Error::invalid(format!(
                "`{word}` is not a feature of ISO 9660 images (known are no-joliet, joliet-long, \
                 level=N, zisofs2, zisofs-marks, boot=FILE, efi-boot=FILE, boot-partition=N, \
                 efi-partition=N, and after one of these boot-load-size=N and boot-info-table, \
                 system-area=FILE, partitions, append=N:TYPE:FILE, date=YYYYMMDDhhmmsscc, \
                 system=, volume-set=, publisher=, preparer=, application=TEXT)"
            )));
        }
    }
    Ok(())
}

fn image(path: &str, efi: bool) -> Result<BootImage> {
    Ok(BootImage {
        efi,
        content: BootContent::Stored(read(Path::new(path))?),
        load: None,
        info_table: false,
    })
}

fn partition(number: &str, efi: bool) -> Result<BootImage> {
    let parsed = number.parse().map_err(|_| {
        let what = format!("`{number}` is not the number of an appended partition");
        Error::invalid(what)
    })?;
    Ok(BootImage {
        efi,
        content: BootContent::Appended(parsed),
        load: None,
        info_table: false,
    })
}

/// Parses a partition to append: its number, its type, its file.
fn appended(text: &str) -> Result<AppendedPartition> {
    let parsed = text.split_once(':').and_then(|(number, rest)| {
        let (kind, path) = rest.split_once(':')?;
        let kind = kind.strip_prefix("0x")?;
        Some((
            number.parse().ok()?,
            u8::from_str_radix(kind, 16).ok()?,
            path,
        ))
    });
    let (number, kind, path) = parsed
        .ok_or_else(|| Error::invalid(format!("append `{text}`: must be NUMBER:0xTYPE:FILE")))?;
    Ok(AppendedPartition {
        number,
        kind,
        source: Arc::new(FileSource::open(path)?),
    })
}

fn level_of(text: &str) -> Result<InterchangeLevel> {
    Ok(match text {
        "1" => InterchangeLevel::One,
        "2" => InterchangeLevel::Two,
        "3" => InterchangeLevel::Three,
        "4" => InterchangeLevel::Four,
        _ => {
            return Err(Error::invalid(format!(
                "level `{text}`: must be from 1 to 4"
            )));
        }
    })
}

fn last<'a>(options: &'a mut WriteOptions, word: &str) -> Result<&'a mut BootImage> {
    let last = options.boot.last_mut();
    last.ok_or_else(|| Error::invalid(format!("`{word}` must follow boot=FILE or efi-boot=FILE")))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let io = |error| Error::io("cannot read the boot image", error).path(path);
    let len = path.metadata().map_err(io)?.len();
    if len > BOOT_MAX {
        return Err(Error::limit("a boot image of more than 1 GiB").path(path));
    }
    std::fs::read(path).map_err(io)
}
