//! Disks with partitions: what is opened is the image in one of them.
//!
//! In: a source that may be a disk. Out: the range of a partition, and how it was chosen.
//!
//! **Invariant:** a file that is an image from its first byte on is no disk, whatever tables it has
//! besides, as installation media do.

use std::sync::Arc;

use sinterfs_block::{ReadAt, Window};
use sinterfs_format::InfoRows;
use sinterfs_model::{Error, Kind, Result, Setting};
use sinterfs_partition::{Partition, PartitionTable};

use super::compressed_device;
use super::identified::Identified;
use crate::formats::format_of;
use crate::image::disk::{ChosenPartition, PassedOver, rows_of};
use crate::open_options::OpenOptions;

/// What is opened of a disk.
pub(super) struct PartitionContent {
    /// The range of the partition.
    pub(super) source: Arc<dyn ReadAt>,
    /// How the image in it is opened.
    pub(super) options: OpenOptions,
    /// How it was chosen.
    pub(super) chosen: ChosenPartition,
}

/// Returns the range of a partition, and how the image in it is opened; `None` for a source that is
/// no disk.
///
/// # Errors
/// `Invalid` where no partition or several could be meant, `NotFound` for one that does not exist,
/// `Corrupt` for damaged tables and unusable ranges.
pub(super) fn content(whole: &mut Identified) -> Result<Option<PartitionContent>> {
    let chosen = match whole.options.partition {
        Some(number) => {
            let Some(table) = sinterfs_partition::read(&*whole.source)? else {
                let what = "the file has no partition table (GPT or MBR)";
                return Err(Error::invalid(what).about([Setting::Partition]));
            };
            ChosenPartition {
                table,
                number,
                found_besides: None,
            }
        }
        None if whole.options.offset.is_some() => return Ok(None),
        None => match found(whole)? {
            Some(chosen) => chosen,
            None => return Ok(None),
        },
    };
    let range = chosen.table.partition(chosen.number)?;
    let window = Window::new(Arc::clone(&whole.source), range.start, range.len)?;
    let inside = OpenOptions {
        partition: None,
        ..whole.options.clone()
    };
    Ok(Some(PartitionContent {
        source: Arc::new(window),
        options: inside,
        chosen,
    }))
}

/// A partition with an image.
struct PartitionImage {
    number: u32,
    format: &'static str,
    /// The firmware or a boot loader may read it: another one is rather meant.
    is_for_boot: bool,
    is_for_firmware: bool,
}

/// Finds the partition whose image is meant; `None` if there is no disk.
fn found(whole: &mut Identified) -> Result<Option<ChosenPartition>> {
    let table = match sinterfs_partition::read(&*whole.source) {
        Ok(None) => return Ok(None),
        _ if whole.is_known()? => return Ok(None),
        Ok(Some(table)) => table,
        Err(error) => return Err(error),
    };
    let formats = formats(&table, &whole.source, &whole.options)?;
    let images = images(&table, &formats);
    let (mut wanted, mut besides): (Vec<_>, Vec<_>) =
        images.into_iter().partition(|image| !image.is_for_boot);
    if wanted.is_empty() {
        std::mem::swap(&mut wanted, &mut besides);
    }
    match &*wanted {
        [image] => Ok(Some(ChosenPartition {
            number: image.number,
            table,
            found_besides: Some(passed_over(&besides)),
        })),
        [] => match whole.start.format(&whole.source, &whole.options) {
            // an image somewhere in the file
            Ok(_) => Ok(None),
            Err(error) if error.kind() == Kind::Unsupported => {
                let (kind, count) = (table.kind.name(), table.partitions.len());
                Err(Error::unsupported(format!(
                    "a disk with {kind} and {count} partitions, none of which holds an image of a \
                     known format"
                )))
            }
            Err(error) => Err(error),
        },
        several => {
            let listed: Vec<_> = several
                .iter()
                .map(|image| format!("{} ({})", image.number, image.format))
                .collect();
            let (listed, option) = (listed.join(", "), Setting::Partition);
            let what = format!("a disk with images in partitions {listed}: {option} names one");
            Err(Error::invalid(what).about([option]))
        }
    }
}

/// Lists the partitions with images.
fn images(table: &PartitionTable, formats: &[Option<Found>]) -> Vec<PartitionImage> {
    let formats = table.partitions.iter().zip(formats);
    let image = |(part, found): (&Partition, &Option<Found>)| {
        let (format, is_for_boot) = (*found)?;
        let is_for_firmware = part.is_for_firmware();
        Some(PartitionImage {
            number: part.number,
            format,
            is_for_boot: is_for_firmware || is_for_boot,
            is_for_firmware,
        })
    };
    formats.filter_map(image).collect()
}

/// Returns which of several images are not meant.
fn passed_over(images: &[PartitionImage]) -> PassedOver {
    if images.is_empty() {
        PassedOver::None
    } else if images.iter().all(|image| image.is_for_firmware) {
        PassedOver::Firmware
    } else {
        PassedOver::Fat
    }
}

/// What is in a partition: the name of its format, and whether a boot loader reads it.
type Found = (&'static str, bool);

/// Returns the format in each partition.
fn formats(
    table: &PartitionTable,
    source: &Arc<dyn ReadAt>,
    options: &OpenOptions,
) -> Result<Vec<Option<Found>>> {
    let format = |part: &Partition| {
        if part.problem.is_some() {
            return Ok(None);
        }
        let window = Window::new(Arc::clone(source), part.start, part.len)?;
        let window: Arc<dyn ReadAt> = Arc::new(window);
        if compressed_device::is_device(&*window)? {
            return Ok(Some((compressed_device::NAME, false)));
        }
        let format = format_of(&window, options)?;
        Ok(format.map(|format| (format.name(), format.is_for_boot())))
    };
    table.partitions.iter().map(format).collect()
}

/// Lists the partitions of a disk; `None` for a source without a table.
pub(crate) fn list(source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Option<InfoRows>> {
    let Some(table) = sinterfs_partition::read(&**source)? else {
        return Ok(None);
    };
    let found = formats(&table, source, options)?.into_iter();
    let formats: Vec<_> = found.map(|found| found.map(|(name, _)| name)).collect();
    Ok(Some(rows_of(&table, Some(&formats))))
}
