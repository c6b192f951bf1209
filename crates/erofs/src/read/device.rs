//! The location of bytes: in the image itself, or on one of its further devices.
//!
//! In: an address (device and byte). Out: the source that has it, and the offset in that.
//!
//! **Invariant:** a range never continues from one source in another; a read beyond the end of a
//! source is an error of that source.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};
use zerocopy::FromBytes;

use crate::layout::{DeviceHeader, DeviceSlot, Superblock};

/// A device as the image describes it.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its identification, without the zeros at the end.
    pub tag: Vec<u8>,
    /// Its length in blocks.
    pub blocks: u64,
    /// Its first block in the address space that all devices share; 0 if it has none.
    pub first_block: u64,
    /// The first bytes of the device, if the image records them.
    pub identity: Option<DeviceIdentity>,
}

/// Which device it is, as it says itself in its first block: the images of this program name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceIdentity([u8; 16]);

impl std::fmt::Display for DeviceIdentity {
    /// Writes hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl DeviceIdentity {
    /// Reads that of a device; `None` if it has none.
    ///
    /// # Errors
    /// What the source reports.
    pub fn of(device: &dyn ReadAt) -> Result<Option<Self>> {
        let len = size_of::<DeviceHeader>() as u64;
        if device.len() < len {
            return Ok(None);
        }
        let bytes = device.read(0, len)?;
        let header = DeviceHeader::read_from_bytes(&bytes);
        Ok(header.ok().and_then(|header| Self::found(&header)))
    }

    fn found(header: &DeviceHeader) -> Option<Self> {
        let is_one = header.magic == DeviceHeader::MAGIC;
        is_one.then_some(Self(header.identity))
    }
}

impl Slot {
    /// Returns its name for messages, in parentheses.
    fn shown(&self) -> String {
        match &*String::from_utf8_lossy(&self.tag) {
            "" => String::new(),
            tag => format!(" ({tag})"),
        }
    }

    /// Returns whether a device belongs to the image; a device without an identity is accepted.
    ///
    /// # Errors
    /// What the source reports.
    pub fn accepts(&self, device: &dyn ReadAt) -> Result<bool> {
        match self.identity {
            Some(own) => Ok(DeviceIdentity::of(device)? == Some(own)),
            None => Ok(true),
        }
    }
}

/// A byte on a device; device 0 is the image and the address space that all devices share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The number of the device.
    pub device: u16,
    /// The offset in bytes.
    pub at: u64,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.device {
            0 => write!(f, "{:#x}", self.at),
            device => write!(f, "{:#x} on device {device}", self.at),
        }
    }
}

impl Address {
    /// Returns a number that grows along the devices: for the order of reading, and for messages.
    pub(crate) fn rank(self) -> u64 {
        u64::from(self.device) << 56 ^ self.at
    }

    /// Returns the address the given number of bytes further on.
    pub(crate) fn skip(self, bytes: u64) -> Self {
        Self {
            at: self.at.saturating_add(bytes),
            ..self
        }
    }
}

/// The image and its further devices.
pub(crate) struct Devices {
    image: Arc<dyn ReadAt>,
    extra: Vec<Extra>,
}

struct Extra {
    slot: Slot,
    start: u64,
    len: u64,
    source: Option<Arc<dyn ReadAt>>,
    /// Whether the image contains it, at its shared addresses.
    within: bool,
}

/// Reads the device table, whose length is bounded by the type of its count.
pub(super) fn slots(source: &dyn ReadAt, raw: &Superblock) -> Result<Vec<Slot>> {
    let count = u64::from(raw.extra_devices.get());
    let size = size_of::<DeviceSlot>() as u64;
    let start = u64::from(raw.device_slot.get()) * size;
    let bytes = source.read(start, count * size)?;
    let mut slots = Vec::new();
    let mut rest: &[u8] = &bytes;
    while let Ok((slot, next)) = DeviceSlot::ref_from_prefix(rest) {
        let end = slot.tag.iter().rposition(|byte| *byte != 0);
        let tag = slot.tag.get(..end.map_or(0, |end| end + 1));
        slots.push(Slot {
            tag: tag.unwrap_or_default().to_vec(),
            blocks: u64::from(slot.blocks.get()) | u64::from(slot.blocks_high.get()) << 32,
            first_block: u64::from(slot.first_block.get())
                | u64::from(slot.first_block_high.get()) << 32,
            identity: DeviceIdentity::found(&slot.header),
        });
        rest = next;
    }
    Ok(slots)
}

impl Devices {
    /// Assigns the sources to the devices in order; further ones may be missing until they are
    /// needed. Fails with `Invalid` for more sources than there are devices, with `Corrupt` for one
    /// that belongs to another image.
    pub(crate) fn new(
        image: Arc<dyn ReadAt>,
        slots: &[Slot],
        given: &[Arc<dyn ReadAt>],
        block_bits: u32,
    ) -> Result<Self> {
        if given.len() > slots.len() {
            return Err(Error::invalid(format!(
                "{} further devices were given, but the image has {}",
                given.len(),
                slots.len()
            )));
        }
        for (index, (slot, source)) in slots.iter().zip(given).enumerate() {
            if !slot.accepts(&**source)? {
                let named = slot.shown();
                let number = index + 1;
                return Err(Error::corrupt(format!(
                    "device {number}{named} is not of this image: it was written for another"
                )));
            }
        }
        let bytes = |blocks: u64| {
            let bytes = blocks.checked_mul(1 << block_bits);
            bytes.ok_or_else(|| Error::corrupt("a device is too long").within("table of devices"))
        };
        let mut extra = Vec::with_capacity(slots.len());
        for (index, slot) in slots.iter().enumerate() {
            extra.push(Extra {
                slot: slot.clone(),
                start: bytes(slot.first_block)?,
                len: bytes(slot.blocks)?,
                source: given.get(index).cloned(),
                within: false,
            });
        }
        // the image and its devices may be one file, one after the other
        if given.is_empty() {
            for extra in &mut extra {
                let end = extra.start.saturating_add(extra.len);
                extra.within = extra.start > 0 && end <= image.len();
            }
        }
        Ok(Self { image, extra })
    }

    /// Returns the source of the image itself.
    pub(crate) fn image(&self) -> &Arc<dyn ReadAt> {
        &self.image
    }

    /// Returns the numbers of the devices without a source.
    pub(crate) fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        let extra = self.extra.iter().enumerate();
        let is_missing = |extra: &Extra| extra.source.is_none() && !extra.within;
        extra.filter_map(move |(index, extra)| is_missing(extra).then_some(index + 1))
    }

    /// Returns a mask wide enough for the numbers of all devices.
    pub(crate) fn mask(&self) -> u16 {
        let devices = (self.extra.len() + 1).next_power_of_two();
        u16::try_from(devices - 1).unwrap_or(u16::MAX)
    }

    /// Fills the buffer from an address on.
    pub(crate) fn read(&self, address: Address, buf: &mut [u8]) -> Result<()> {
        let (source, at) = self.find(address)?;
        source
            .read_at(at, buf)
            .map_err(|error| error.at("content", address.at))
    }

    fn find(&self, address: Address) -> Result<(&dyn ReadAt, u64)> {
        if address.device == 0 {
            let home = self.extra.iter().enumerate().find(|(_, extra)| {
                extra.start > 0 && address.at >= extra.start && address.at - extra.start < extra.len
            });
            return match home {
                None => Ok((&*self.image, address.at)),
                Some((_, extra)) if extra.within => Ok((&*self.image, address.at)),
                Some((index, extra)) => Ok((extra.source(index)?, address.at - extra.start)),
            };
        }
        let index = usize::from(address.device) - 1;
        let extra = self.extra.get(index).ok_or_else(|| {
            Error::corrupt(format!("device {} does not exist", address.device))
                .at("content", address.at)
        })?;
        if extra.within {
            Ok((&*self.image, extra.start.saturating_add(address.at)))
        } else {
            Ok((extra.source(index)?, address.at))
        }
    }
}

impl Extra {
    fn source(&self, index: usize) -> Result<&dyn ReadAt> {
        self.source.as_deref().ok_or_else(|| {
            let named = self.slot.shown();
            Error::invalid(format!(
                "the content is on device {}{named} of the image, which was not given",
                index + 1
            ))
        })
    }
}
