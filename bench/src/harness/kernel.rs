//! Mounts by the kernel's drivers, and the bytes that they read from their device.
//!
//! **Invariant:** dropping a mount unmounts it and takes its loop device away.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::harness::interrupt;
use crate::workspace::output;

/// A loop device of an image.
#[derive(Debug)]
struct Loop(PathBuf);

impl Loop {
    fn new(image: &Path) -> Result<Self, String> {
        let mut command = Command::new("losetup");
        let device = output(command.args(["--find", "--show", "--read-only"]).arg(image));
        let device = device.map_err(|why| format!("no loop device: {why}"))?;
        Ok(Self(device.trim().into()))
    }

    /// Returns the bytes that were read from it.
    fn read(&self) -> f64 {
        let name = self.0.file_name().unwrap_or_default();
        let stat = fs::read_to_string(Path::new("/sys/block").join(name).join("stat"));
        let sectors = stat
            .ok()
            .and_then(|stat| stat.split_whitespace().nth(2)?.parse::<f64>().ok());
        sectors.unwrap_or(0.0) * 512.0
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .arg("--detach")
            .arg(&self.0)
            .status();
    }
}

/// A mounted file system.
#[derive(Debug)]
pub struct Mount {
    at: PathBuf,
    // detached after the mount is gone
    device: Option<Loop>,
}

/// The cost of an operation on a mount.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub seconds: f64,
    /// Bytes read from the device.
    pub read: f64,
}

impl Mount {
    /// Mounts an image with one of the kernel's drivers.
    pub fn image(driver: &str, image: &Path, at: &Path) -> Result<Self, String> {
        let device = Loop::new(image)?;
        mount(driver, "ro", &device.0, at)?;
        Ok(Self {
            at: at.to_owned(),
            device: Some(device),
        })
    }

    /// Mounts layers of overlayfs, read-only.
    pub fn overlay(options: &str, at: &Path) -> Result<Self, String> {
        mount("overlay", options, Path::new("overlay"), at)?;
        Ok(Self {
            at: at.to_owned(),
            device: None,
        })
    }

    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Measures an operation; `Cost::read` counts reads of this mount's device.
    pub fn measure<T>(
        &self,
        operation: impl FnOnce() -> Result<T, String>,
    ) -> Result<Cost, String> {
        let read = || self.device.as_ref().map_or(0.0, Loop::read);
        let (before, start) = (read(), Instant::now());
        operation()?;
        Ok(Cost {
            seconds: start.elapsed().as_secs_f64(),
            read: read() - before,
        })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

/// Mounts on top of each other, the first with the device, the last one visible.
#[derive(Debug)]
pub struct Stack(pub Vec<Mount>);

impl Stack {
    /// Measures an operation at the top; `Cost::read` counts reads of the first mount's device.
    pub fn measure<T>(
        &self,
        operation: impl FnOnce(&Path) -> Result<T, String>,
    ) -> Result<Cost, String> {
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) => first.measure(|| operation(last.at())),
            _ => Err("nothing is mounted".into()),
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

fn mount(driver: &str, options: &str, source: &Path, at: &Path) -> Result<(), String> {
    fs::create_dir_all(at).map_err(|e| format!("{}: {e}", at.display()))?;
    let mut command = Command::new("mount");
    command
        .args(["-t", driver, "-o", options])
        .args([source, at]);
    output(&mut command).map(drop)
}

/// Drops all caches of the kernel.
pub fn drop_caches() -> Result<(), String> {
    nix::unistd::sync();
    let dropped = fs::write("/proc/sys/vm/drop_caches", "3");
    dropped.map_err(|e| format!("cannot drop caches: {e}"))
}

/// Drops all caches, then loads `ls` again, which is not to be measured.
pub fn make_cold(empty: &Path) -> Result<(), String> {
    drop_caches()?;
    list(empty).map(drop)
}

/// Lists a tree by `ls -lR` and returns the number of lines.
pub fn list(dir: &Path) -> Result<usize, String> {
    interrupt::check()?;
    let mut command = Command::new("ls");
    command.arg("-lR").current_dir(dir).env("LC_ALL", "C");
    output(&mut command).map(|text| text.lines().count())
}
