//! `--salvage` and `--damage-log` of `sinter mount`: which files of a damaged image cannot be read.
//!
//! **Invariant:** each path is named once, at the latest when the mount ends. A failure to write
//! one affects neither the mount nor its end.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sinterfs::model;
use sinterfs::ops::{FailedInode, ReadFailures};
use sinterfs::{Error, Result};

use crate::{messages, text};

/// The interval at which new paths are named.
const EVERY: Duration = Duration::from_secs(1);

/// How much longer than the naming of paths, which walks the image, the pause after it is.
const PAUSE: u32 = 9;

/// The handling of damage.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Damaged images")]
pub struct DamageArgs {
    /// Mount a damaged image: readable parts are shown, and reading the rest is an error (EIO). The
    /// end of a DwarFS image may be lost, after the metadata. With -f each file that could not be
    /// read is named; `sinter check --deep` lists all of them.
    #[arg(long)]
    pub salvage: bool,

    /// Write to this file which files could not be read, one line with path and reason for each,
    /// each when it is read for the first time.
    #[arg(long, value_name = "FILE")]
    damage_log: Option<PathBuf>,
}

/// Names files that could not be read while a mount is served.
#[derive(Debug)]
pub struct DamageLog {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Where paths are written.
enum Log {
    File(File, PathBuf),
    Messages,
}

impl DamageArgs {
    /// Returns whether the options need a mount served by this program, which notices damage.
    pub fn is_asked(&self) -> bool {
        self.damage_log.is_some() || self.salvage
    }

    /// Returns whether damage is written to a file.
    pub fn is_logged(&self) -> bool {
        self.damage_log.is_some()
    }

    /// Starts to name unreadable files of images; puts images in their places that notice that.
    /// `names` are the names of the images. Without a file, messages name it if `messages`.
    pub fn start(
        &self,
        messages: bool,
        images: &mut [Arc<dyn model::Image>],
        names: &[String],
    ) -> Result<DamageLog> {
        let log = match &self.damage_log {
            Some(path) => Log::create(path)?,
            None if messages => Log::Messages,
            None => return Ok(DamageLog { thread: None }),
        };
        let mut watched = Vec::new();
        let is_one = images.len() == 1;
        for (image, name) in images.iter_mut().zip(names) {
            let failures = Arc::new(ReadFailures::new(Arc::clone(image)));
            *image = Arc::clone(&failures) as Arc<dyn model::Image>;
            let prefix = if is_one {
                String::new()
            } else {
                format!("{name}: ")
            };
            watched.push((failures, prefix));
        }
        let (end, ended) = channel::<()>();
        let work = move || {
            let mut log = Some(log);
            let mut pause = EVERY;
            loop {
                let is_last = ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
                let began = Instant::now();
                for (failures, prefix) in &watched {
                    for failed in failures.take() {
                        let line = format!("{prefix}{}", shown(&failed));
                        let written = log.as_mut().map_or(Ok(()), |log| log.write(&line));
                        if let Err(error) = written {
                            text::warn(&crate::flags::message(&error));
                            log = None;
                        }
                    }
                }
                if is_last {
                    return;
                }
                pause = EVERY.max(began.elapsed().saturating_mul(PAUSE));
            }
        };
        let thread = std::thread::Builder::new()
            .name("damage".into())
            .spawn(work);
        let thread = thread.map_err(|error| Error::io("cannot start a thread", error))?;
        Ok(DamageLog {
            thread: Some((end, thread)),
        })
    }
}

impl DamageLog {
    /// Names the files that were not named yet.
    pub fn finish(self) {
        if let Some((end, thread)) = self.thread {
            drop(end);
            // it has warned about failures itself
            let _ = thread.join();
        }
    }
}

impl Log {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create(path);
        let file = file.map_err(|error| Error::io("cannot write", error).path(path))?;
        Ok(Self::File(file, path.to_owned()))
    }

    fn write(&mut self, line: &str) -> Result<()> {
        match self {
            Self::File(file, path) => {
                let written = file.write_all(format!("{line}\n").as_bytes());
                written.map_err(|error| Error::io("cannot write", error).path(&*path))
            }
            Self::Messages => {
                messages::line(format_args!("sinter: {line}"));
                Ok(())
            }
        }
    }
}

/// Returns a path with what is wrong with it, in one line.
fn shown(failed: &FailedInode) -> String {
    let path = match failed.path.as_deref() {
        Some([]) => ".".to_owned(),
        Some(path) => text::name(path),
        None => format!("inode {}", failed.ino.0),
    };
    format!("{path}: {}", text::one_line(&failed.why))
}
