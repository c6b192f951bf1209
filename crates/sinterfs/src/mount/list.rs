//! Mounts of a list, which one process serves.
//!
//! In: the entries of a list, and the mounts made of them. Out: whether an entry is mounted, and
//! the end of all mounts.

use std::path::PathBuf;
use std::thread::JoinHandle;

use sinterfs_model::{Error, Kind, Result};
use sinterfs_mount::{MountedImage, WantedMount};

use crate::mount::session::Session;
use crate::place;

/// Returns whether the image of an entry is mounted on its directory already.
pub fn is_mounted(wanted: &WantedMount, mounted: &[MountedImage]) -> bool {
    let image = &wanted.image;
    let names = if place::is_url(image) {
        let shown = place::shown(image);
        let last = shown.file_name().map(PathBuf::from).unwrap_or_default();
        [shown, last]
    } else {
        [std::path::absolute(image), image.canonicalize()].map(std::io::Result::unwrap_or_default)
    };
    let Ok(dir) = wanted.dir.canonicalize() else {
        return false;
    };
    let same = |mounted: &MountedImage| names.contains(&mounted.source) && mounted.point == dir;
    mounted.iter().any(same)
}

/// Serves all sessions until each is unmounted, or a signal ends them. Returns the errors of those
/// that failed.
pub fn serve_all(sessions: impl IntoIterator<Item = Session>) -> Vec<Error> {
    let threads = sessions.into_iter().map(|mut session| {
        let thread = std::thread::Builder::new().name("serve".into());
        thread.spawn(move || session.serve().map(drop))
    });
    let threads: Vec<_> = threads.collect();
    let served = threads.into_iter().map(|thread| match thread {
        Ok(thread) => joined(thread),
        // dropped, and so unmounted; the others are still served
        Err(error) => Err(Error::io("cannot start a thread", error)),
    });
    served.filter_map(Result::err).collect()
}

fn joined(thread: JoinHandle<Result<()>>) -> Result<()> {
    let failed = || Error::new(Kind::Io, "a thread that serves a mount has failed");
    thread.join().unwrap_or_else(|_| Err(failed()))
}
