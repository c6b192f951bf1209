//! Loop devices, for kernels that do not mount a file directly.
//!
//! **Invariant:** a device is detached as soon as nothing uses it.

use std::path::Path;
use std::process::{Command, Stdio};

use sinterfs_model::{Error, Kind, Result};

/// Bypasses the page cache of the file.
pub(crate) const DIRECT: &str = "--direct-io=on";

/// Calls `mount` with a new read-only loop device on a file; the device vanishes with the mount.
/// `more` are further arguments of losetup(8).
pub(crate) fn with_loop_device<T>(
    file: &Path,
    more: &[&str],
    mount: impl FnOnce(&str) -> Result<T>,
) -> Result<T> {
    let device = losetup(&[more, &["--show", "-f", "-r", "--"]].concat(), file)?;
    let device = device.trim();
    let mounted = mount(device);
    // the kernel detaches it once nothing uses it
    let detached = losetup(&["-d"], Path::new(device));
    let mounted = mounted?;
    detached.map(|_| mounted)
}

/// Runs losetup(8) for a file or a device and returns its output.
fn losetup(arguments: &[&str], path: &Path) -> Result<String> {
    let mut command = Command::new("losetup");
    command.args(arguments).arg(path).stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| Error::io("cannot run losetup", error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Error::new(Kind::Io, complaint))
    }
}
