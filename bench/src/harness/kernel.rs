//! Mounts by the kernel's drivers, and what they read of the device below.
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
        let said = output(command.args(["--find", "--show", "--read-only"]).arg(image));
        let said = said.map_err(|said| format!("no loop device: {said}"))?;
        Ok(Self(said.trim().into()))
    }

    /// Returns the bytes that were read of it.
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
    // behind `at`: unmounted first
    device: Option<Loop>,
}

/// What something took on a mount.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    pub seconds: f64,
    /// Bytes read of the device.
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

    /// Returns what something takes; `Took::read` is of this mount's device.
    pub fn take<T>(&self, what: impl FnOnce() -> Result<T, String>) -> Result<Took, String> {
        let read = || self.device.as_ref().map_or(0.0, Loop::read);
        let (before, start) = (read(), Instant::now());
        what()?;
        Ok(Took {
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

/// Mounts on top of each other, the first with the device; the last one is what is looked at.
#[derive(Debug)]
pub struct Stack(pub Vec<Mount>);

impl Stack {
    /// Returns what something takes at the top; `Took::read` is of the first mount's device.
    pub fn take<T>(&self, what: impl FnOnce(&Path) -> Result<T, String>) -> Result<Took, String> {
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) => first.take(|| what(last.at())),
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

/// Drops all that is cached.
pub fn drop_caches() -> Result<(), String> {
    nix::unistd::sync();
    let dropped = fs::write("/proc/sys/vm/drop_caches", "3");
    dropped.map_err(|e| format!("cannot drop caches: {e}"))
}

/// Drops all that is cached, and gets at hand again what `list` needs of the system: `ls` itself is not what is
/// measured.
pub fn forget(empty: &Path) -> Result<(), String> {
    drop_caches()?;
    list(empty).map(drop)
}

/// Lists a tree as people do, and tells the number of lines.
pub fn list(dir: &Path) -> Result<usize, String> {
    interrupt::check()?;
    let mut command = Command::new("ls");
    command.arg("-lR").current_dir(dir).env("LC_ALL", "C");
    output(&mut command).map(|text| text.lines().count())
}
