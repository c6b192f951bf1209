//! Names an image and the device that has its content, so that each reader finds what belongs
//! together, whenever the process ends.
//!
//! In: both files, complete. Out: both under their names, or what was there before. **Invariant:**
//! while the new device has the name of the former one and the new image does not have its name
//! yet, the former device has a hidden name under which readers of the former image find it; where
//! they would not look for it, the former image has no name in the meantime.

use std::ffi::OsStr;
use std::path::Path;

use sinterfs_format::PipelineFormat;
use sinterfs_model::Result;
use sinterfs_platform::files;

use crate::output::Output;
use crate::output::hidden_file::parent;
use crate::output::naming::{FORMER, FormerFile, former_name, is_replaceable};

/// The number of digits of the identity of a device.
const DIGITS: usize = 32;

/// Names a device, then its image. An error leaves what was there before, both or neither.
pub(crate) fn commit(image: Output, device: Output, format: &dyn PipelineFormat) -> Result<()> {
    image.sync()?;
    device.sync()?;
    let paths = [&image, &device].map(|output| output.path().map(Path::to_owned));
    let [image_path, device_path] = paths;
    let former = match &device_path {
        Some(path) => Former::keep(path, image_path.as_deref(), format)?,
        // a stream or a device of the system
        None => Former::default(),
    };
    let before = image_path.as_deref().map(files::identity);
    match device.commit().and_then(|()| image.commit()) {
        Ok(()) => {
            if let Some(path) = &device_path {
                remove_kept(path);
            }
            // that of a run that was killed, too
            if let Some(path) = &image_path {
                let _ = std::fs::remove_file(former_name(path));
            }
            former.remove();
            Ok(())
        }
        Err(error) => {
            let now = image_path.as_deref().map(files::identity);
            let is_named = match (before, now) {
                (Some(Ok(before)), Some(Ok(now))) => before != now,
                (Some(Err(_)), Some(Ok(_))) => true,
                _ => false,
            };
            if is_named {
                former.remove();
            } else {
                former.restore(device_path.as_deref());
            }
            Err(error)
        }
    }
}

/// What is replaced, under hidden names.
#[derive(Default)]
struct Former(Vec<FormerFile>);

impl Former {
    /// Keeps a device that is going to be replaced; and the image, if its readers do not look for
    /// the device under the other name.
    fn keep(device: &Path, image: Option<&Path>, format: &dyn PipelineFormat) -> Result<Self> {
        let mut former = Self::default();
        if !is_replaceable(device) {
            return Ok(former);
        }
        let found = format.kept_device(device)?;
        let is_found = found.is_some();
        let hidden = found.unwrap_or_else(|| former_name(device));
        former.0.push(FormerFile::besides(device, hidden)?);
        let image = image.filter(|image| !is_found && is_replaceable(image));
        match image.map(FormerFile::aside).transpose() {
            Ok(kept) => former.0.extend(kept),
            Err(error) => {
                former.restore(Some(device));
                return Err(error);
            }
        }
        Ok(former)
    }

    fn remove(self) {
        self.0.into_iter().for_each(FormerFile::remove);
    }

    /// Restores every name; a device that replaced none loses its name. Names that cannot be
    /// restored stay hidden, where readers look for them.
    fn restore(self, device: Option<&Path>) {
        if let (Some(device), true) = (device, self.0.is_empty()) {
            let _ = std::fs::remove_file(device);
        }
        self.0.into_iter().for_each(FormerFile::restore);
    }
}

/// Removes the hidden names of former devices that killed runs left. Failures are ignored: the
/// files only take space.
fn remove_kept(device: &Path) {
    let Ok(entries) = std::fs::read_dir(parent(device)) else {
        return;
    };
    let own = device.file_name().unwrap_or(OsStr::new(""));
    for entry in entries.flatten() {
        if is_kept_name(&entry.file_name(), own) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_kept_name(name: &OsStr, device: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(b".");
    let rest = rest.and_then(|rest| rest.strip_prefix(device.as_encoded_bytes()));
    let rest = rest.and_then(|rest| rest.strip_prefix(b".")?.strip_suffix(b".tmp"));
    rest.is_some_and(|word| {
        let is_identity = word.len() == DIGITS && word.iter().all(u8::is_ascii_hexdigit);
        is_identity || word == FORMER.as_bytes()
    })
}
