//! The devices that have the content of an EROFS image.
//!
//! In: the devices that options name, else those beside the image under the names that it calls
//! them. Out: their sources, in order. **Invariant:** of images that say which device is theirs no
//! other one is read: while image and device are replaced, and after that was interrupted, the
//! image's own device has another name beside the new one (`write/device_names.rs`).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_format::ReadOptions;
use sinterfs_model::Result;

use crate::read::{DeviceIdentity, Slot, needed_devices};

/// Opens the devices of an image, as far as they are found.
pub(super) fn open(image: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Vec<Arc<dyn ReadAt>>> {
    let beside = options.beside.as_deref();
    if options.devices.is_empty() && beside.is_none() {
        return Ok(Vec::new());
    }
    let slots = needed_devices(image, options.start_offset())?;
    if !options.devices.is_empty() {
        let slot = |index: usize| slots.get(index);
        let given = options.devices.iter().enumerate();
        let opened = given.map(|(index, path)| own_or_other(path, slot(index)));
        return opened.collect();
    }
    let named = slots.iter().map(|slot| named(beside?, slot));
    let paths: Option<Vec<PathBuf>> = named.collect();
    let pairs = paths.iter().flatten().zip(&slots);
    pairs
        .map(|(path, slot)| own_or_other(path, Some(slot)))
        .collect()
}

/// Returns the path of a device by its tag, if that is the name of a file in the image's directory
/// and no way out of it.
fn named(dir: &Path, slot: &Slot) -> Option<PathBuf> {
    let name = std::str::from_utf8(&slot.tag).ok()?;
    let is_name = !name.is_empty() && name != "." && name != ".." && !name.contains('/');
    let path = dir.join(name);
    let kept = || Some(other_name(&path, slot.identity?));
    let is_there = path.is_file() || kept().is_some_and(|kept| kept.is_file());
    (is_name && is_there).then_some(path)
}

/// Opens a device. One of another image is only opened if the image's own has no other name, for
/// the error of the reader.
fn own_or_other(path: &Path, slot: Option<&Slot>) -> Result<Arc<dyn ReadAt>> {
    let open = |path: &Path| -> Result<Arc<dyn ReadAt>> { Ok(Arc::new(FileSource::open(path)?)) };
    let found = open(path);
    let Some(slot) = slot else { return found };
    let Some(identity) = slot.identity else {
        return found;
    };
    if let Ok(device) = &found
        && slot.accepts(&**device)?
    {
        return found;
    }
    // links to a device are followed, and its other name is beside the file
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for path in [path, &real] {
        if let Ok(kept) = open(&other_name(path, identity))
            && slot.accepts(&*kept)?
        {
            return Ok(kept);
        }
    }
    found
}

/// Returns the hidden name that a device has while another one takes its place.
pub(super) fn other_name(path: &Path, identity: DeviceIdentity) -> PathBuf {
    let mut hidden = OsString::from(".");
    hidden.push(path.file_name().unwrap_or(OsStr::new("")));
    hidden.push(format!(".{identity}.tmp"));
    path.with_file_name(hidden)
}

/// Returns the hidden name of a device that a path names, if the device says which one it is.
#[cfg(feature = "write")]
pub(super) fn other_name_of(path: &Path) -> Result<Option<PathBuf>> {
    let identity = DeviceIdentity::of(&FileSource::open(path)?)?;
    Ok(identity.map(|identity| other_name(path, identity)))
}
