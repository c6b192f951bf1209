//! Names files of a damaged image that could not be read while it is mounted.
//!
//! **Invariant:** each path is named once, at the latest when the mount ends. A failure to write
//! one affects neither the mount nor its end.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinterfs_model::{Error, Image, Result, one_line, shown_name};
use sinterfs_ops::{FailedInode, ReadFailures};

use crate::mount::ticker::Ticker;

/// The interval at which new paths are named.
const EVERY: Duration = Duration::from_secs(1);

/// How much longer than the naming of paths, which walks the image, the pause after it is.
const PAUSE: u32 = 9;

/// Where files that could not be read are named, each when it is read for the first time: a path
/// and the reason a line.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DamageLog {
    /// A file, which is replaced.
    File(PathBuf),
    /// A function that gets each line, without its end.
    Lines(fn(&str)),
}

/// Where lines are written.
enum Output {
    File(File, PathBuf),
    Lines(fn(&str)),
}

impl DamageLog {
    /// Starts to name what could not be read of images; puts images in their places that notice
    /// that. `names` are the names of the images; `warn` gets a failure to write.
    pub(super) fn start(
        &self,
        images: &mut [Arc<dyn Image>],
        names: &[String],
        warn: fn(&Error),
    ) -> Result<Ticker> {
        let mut output = Some(self.open()?);
        let mut watched = Vec::new();
        let is_one = images.len() == 1;
        for (image, name) in images.iter_mut().zip(names) {
            let failures = Arc::new(ReadFailures::new(Arc::clone(image)));
            *image = Arc::clone(&failures) as Arc<dyn Image>;
            let prefix = if is_one {
                String::new()
            } else {
                format!("{name}: ")
            };
            watched.push((failures, prefix));
        }
        let tick = move |_: bool| {
            let began = Instant::now();
            for (failures, prefix) in &watched {
                for failed in failures.take() {
                    let line = format!("{prefix}{}", shown(&failed));
                    let written = output.as_mut().map_or(Ok(()), |output| output.write(&line));
                    if let Err(error) = written {
                        warn(&error);
                        output = None;
                    }
                }
            }
            EVERY.max(began.elapsed().saturating_mul(PAUSE))
        };
        Ticker::start("damage", EVERY, tick)
    }

    fn open(&self) -> Result<Output> {
        match self {
            Self::File(path) => {
                let file = File::create(path).map_err(|error| cannot_write(error, path))?;
                Ok(Output::File(file, path.clone()))
            }
            Self::Lines(to) => Ok(Output::Lines(*to)),
        }
    }
}

impl Output {
    fn write(&mut self, line: &str) -> Result<()> {
        match self {
            Self::File(file, path) => {
                let written = file.write_all(format!("{line}\n").as_bytes());
                written.map_err(|error| cannot_write(error, path))
            }
            Self::Lines(to) => {
                to(line);
                Ok(())
            }
        }
    }
}

fn cannot_write(error: std::io::Error, path: &Path) -> Error {
    Error::io("cannot write", error).path(path)
}

/// Returns a path with what is wrong with it, in one line.
fn shown(failed: &FailedInode) -> String {
    let path = match failed.path.as_deref() {
        Some([]) => ".".to_owned(),
        Some(path) => shown_name(path),
        None => format!("inode {}", failed.ino.0),
    };
    format!("{path}: {}", one_line(&failed.why))
}
