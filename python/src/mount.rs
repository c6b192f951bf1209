//! Mounts of images, which threads of this process serve (Linux).
//!
//! **Invariants:** no thread that serves a mount needs the interpreter; a child of a fork neither
//! uses nor ends a mount of its parent.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::Borrowed;
use pyo3::prelude::*;
use sinterfs::errno::{Errno, errno};
use sinterfs::mount::{DamageLog, MountMethod, Mounter, Session, Upper};
use sinterfs::{Error, Image, Result};

use crate::error::{checked, raised};
use crate::image::RawImage;

/// A mount.
#[pyclass(frozen, module = "sinterfs._sinterfs")]
pub struct RawMount {
    session: Mutex<Option<Session>>,
    process: u32,
    warnings: Vec<String>,
}

/// The options of a mount by their names; `None` is the library's default.
pub struct RawMountOptions {
    method: String,
    overlay: Option<PathBuf>,
    threads: usize,
    allow_other: Option<bool>,
    uid: Option<u32>,
    gid: Option<u32>,
    umask: u16,
    fsname: Option<String>,
    decode_ahead: bool,
    trim_after: Option<f64>,
    unmount_after: Option<f64>,
    stats: Option<PathBuf>,
    record: Option<PathBuf>,
    damage_log: Option<PathBuf>,
}

impl<'py> FromPyObject<'_, 'py> for RawMountOptions {
    type Error = PyErr;

    // not derived: what a derived one raises is always a TypeError, also for a negative number
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            method: given.get_item("method")?.extract()?,
            overlay: given.get_item("overlay")?.extract()?,
            threads: given.get_item("threads")?.extract()?,
            allow_other: given.get_item("allow_other")?.extract()?,
            uid: given.get_item("uid")?.extract()?,
            gid: given.get_item("gid")?.extract()?,
            umask: given.get_item("umask")?.extract()?,
            fsname: given.get_item("fsname")?.extract()?,
            decode_ahead: given.get_item("decode_ahead")?.extract()?,
            trim_after: given.get_item("trim_after")?.extract()?,
            unmount_after: given.get_item("unmount_after")?.extract()?,
            stats: given.get_item("stats")?.extract()?,
            record: given.get_item("record")?.extract()?,
            damage_log: given.get_item("damage_log")?.extract()?,
        })
    }
}

impl RawMountOptions {
    fn mounter(self) -> Result<Mounter> {
        let mut mounter = Mounter {
            method: method(&self.method)?,
            upper: self.overlay.map(upper),
            decode_ahead: self.decode_ahead,
            unmount_after: self.unmount_after.map(seconds).transpose()?,
            stats: self.stats,
            record: self.record,
            damage: self.damage_log.map(DamageLog::File),
            ..Mounter::default()
        };
        if let Some(after) = self.trim_after {
            mounter.trim_after = seconds(after)?;
        }
        let options = &mut mounter.options;
        options.threads = self.threads;
        options.allow_other = self.allow_other.unwrap_or(options.allow_other);
        options.uid = self.uid;
        options.gid = self.gid;
        options.umask = self.umask;
        options.fsname = self.fsname.unwrap_or_default();
        if self.umask > 0o777 {
            return Err(Error::invalid("umask has permission bits only"));
        }
        Ok(mounter)
    }
}

fn method(name: &str) -> Result<MountMethod> {
    match name {
        "auto" => Ok(MountMethod::Auto),
        "kernel" => Ok(MountMethod::Kernel),
        "fuse" => Ok(MountMethod::Fuse),
        _ => Err(Error::invalid(format!(
            "the method {name:?} is not \"auto\", \"kernel\" or \"fuse\""
        ))),
    }
}

fn upper(path: PathBuf) -> Upper {
    if path == Path::new("tmpfs") {
        Upper::Memory
    } else {
        Upper::Directory(path)
    }
}

fn seconds(number: f64) -> Result<Duration> {
    let what = |_| Error::invalid(format!("{number} is no number of seconds"));
    Duration::try_from_secs_f64(number).map_err(what)
}

/// Mounts images on a directory; several are layers, the topmost first.
#[pyfunction]
pub fn mount(
    py: Python<'_>,
    images: Vec<PyRef<'_, RawImage>>,
    dir: PathBuf,
    options: RawMountOptions,
) -> PyResult<RawMount> {
    let mut mounter = checked(py, options.mounter())?;
    let parts = images.iter().map(|image| image.mounted_parts(py));
    let parts: Vec<(Image, Option<PathBuf>)> = parts.collect::<PyResult<_>>()?;
    let paths: Option<Vec<&Path>> = parts.iter().map(|(_, path)| path.as_deref()).collect();
    if let Some(paths) = paths.filter(|_| mounter.options.fsname.is_empty()) {
        mounter.name(&paths);
    }
    let images: Vec<Image> = parts.iter().map(|(image, _)| image.clone()).collect();
    let mounted = py.detach(|| mounter.mount_opened(&images, &dir));
    let mut mounted = checked(py, mounted)?;
    let warnings = mounted.take_warnings();
    Ok(RawMount {
        session: Mutex::new(mounted.session),
        process: std::process::id(),
        warnings: warnings.iter().map(ToString::to_string).collect(),
    })
}

#[pymethods]
impl RawMount {
    /// What a user should know of: why the mount is not through the kernel, what it does not show.
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Unmounts. What is in use is an error, or detached from its directory and served until the
    /// last file is closed.
    fn unmount(&self, py: Python<'_>, lazy: bool) -> PyResult<()> {
        if self.process != std::process::id() {
            return Ok(());
        }
        let ended = py.detach(|| {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            match session.take() {
                Some(ended) if lazy => ended.detach(),
                Some(mut ended) => {
                    let result = ended.unmount();
                    let is_busy = |error: &Error| errno(error) == Errno::BUSY;
                    if result.as_ref().is_err_and(is_busy) {
                        *session = Some(ended);
                    }
                    result
                }
                None => Ok(()),
            }
        });
        ended.map_err(|error| raised(py, &error))
    }
}

impl Drop for RawMount {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            let session = self.session.get_mut();
            let session = session.unwrap_or_else(PoisonError::into_inner).take();
            // its threads are the parent's
            std::mem::forget(session);
        }
    }
}
