//! Finds the volume descriptors of a session.
//!
//! In: a window of the image and the first sector of a session. Out: `Volumes`.
//!
//! **Invariant:** at most `DESCRIPTORS` sectors are read, and the block size is a power of two from
//! 512 to 2048. ECMA-119, sections 6.2 and 8.

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Result};

use crate::layout::{CharacterSet, DescriptorKind, FIRST_DESCRIPTOR, SECTOR, VolumeFields, le32};

/// The most descriptors that are looked at.
const DESCRIPTORS: u64 = 64;

/// The identifier of the boot record of El Torito.
const EL_TORITO: &[u8] = b"EL TORITO SPECIFICATION";

/// The descriptors of a session.
#[derive(Debug, Clone)]
pub struct Volumes {
    /// The first sector of the session.
    pub session: u64,
    /// The primary descriptor.
    pub primary: VolumeFields,
    /// The one of Joliet.
    pub joliet: Option<VolumeFields>,
    /// The one of ISO 9660:1999.
    pub enhanced: Option<VolumeFields>,
    /// The sector of the boot catalog.
    pub boot_catalog: Option<u32>,
}

/// Returns whether a source has an image at an offset.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    Ok(kind_at(source, offset, FIRST_DESCRIPTOR)?.is_some())
}

/// Returns the kind of the descriptor in a sector, if it has one.
pub(super) fn kind_at(
    source: &dyn ReadAt,
    offset: u64,
    sector: u64,
) -> Result<Option<DescriptorKind>> {
    let at = sector.checked_mul(SECTOR);
    let at = at.and_then(|at| at.checked_add(offset));
    let Some(at) = at.filter(|at| at.saturating_add(SECTOR) <= source.len()) else {
        return Ok(None);
    };
    let mut head = [0; 8];
    source.read_at(at, &mut head)?;
    Ok(DescriptorKind::of(&head))
}

impl Volumes {
    /// Reads the descriptors of a session.
    pub(super) fn read(window: &Window, session: u64) -> Result<Self> {
        let (mut primary, mut joliet, mut enhanced, mut boot_catalog) = (None, None, None, None);
        let first = session + FIRST_DESCRIPTOR;
        for number in first..first + DESCRIPTORS {
            let Some(kind) = kind_at(window, 0, number)? else {
                break;
            };
            let sector = window.read(number * SECTOR, SECTOR)?;
            match kind {
                DescriptorKind::Boot => {
                    if sector.get(7..).is_some_and(|id| id.starts_with(EL_TORITO)) {
                        boot_catalog = Some(le32(&sector, 71));
                    }
                }
                DescriptorKind::Primary => primary = primary.or(VolumeFields::decode(&sector)),
                DescriptorKind::Supplementary => {
                    let fields = VolumeFields::decode(&sector);
                    match fields.as_ref().map(|fields| fields.characters) {
                        Some(CharacterSet::Joliet(_)) => joliet = joliet.or(fields),
                        Some(CharacterSet::Bytes) => {
                            enhanced = enhanced.or(fields.filter(|fields| fields.version == 2));
                        }
                        None => {}
                    }
                }
                DescriptorKind::Partition => {}
                DescriptorKind::Terminator => break,
            }
        }
        let at = window.start().saturating_add(first * SECTOR);
        let located = |error: Error| error.at("volume descriptor", at);
        let primary = primary.ok_or_else(|| located(Error::invalid("not an ISO 9660 image")))?;
        for fields in [Some(&primary), joliet.as_ref(), enhanced.as_ref()] {
            if let Some(fields) = fields
                && !matches!(fields.block_size, 512 | 1024 | 2048)
            {
                let what = format!("logical blocks of {} bytes", fields.block_size);
                return Err(located(Error::corrupt(what)));
            }
        }
        Ok(Self {
            session,
            primary,
            joliet,
            enhanced,
            boot_catalog,
        })
    }
}
