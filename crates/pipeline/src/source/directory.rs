//! A directory of the running system as a source.
//!
//! Enters a path; leaves a `Tree` (see `scan`) and the content of its files (see `content`).
//! Everything below the root is opened relative to the root's descriptor and never through a
//! symlink (see `beneath`). So nothing outside of the root is packed, whatever other processes do
//! meanwhile, and paths may be longer than `PATH_MAX`.
//! **Invariant:** the tree does not depend on the number of threads or on their timing.

mod attributes;
pub(super) mod beneath;
pub(super) mod content;
mod opened;
mod scan;
pub(super) mod single_file;
pub(super) mod status;

use std::os::fd::AsFd;

use rustix::fs::OFlags;
use sinterfs_model::{Error, FileContent, FileType, NodeId, Observer, Result, Source, Tree};

use content::OpenFile;

pub use opened::{Directory, Options};

impl Source for Directory {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        scan::scan(
            self,
            sinterfs_workers::thread_count(self.options.threads),
            observer,
        )
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        let path = tree.path(file);
        let fail = |error: Error| error.path(self.full_path(&path));
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = beneath::open(self.root.as_fd(), &path, flags)
            .map_err(|errno| fail(Error::io("cannot open", errno)))?;
        let status = status::of_fd(&fd).map_err(|errno| fail(Error::io("cannot stat", errno)))?;
        if status.kind != Some(FileType::File) {
            return Err(fail(Error::invalid(
                "was a regular file when scanned, but is not any more",
            )));
        }
        Ok(Box::new(OpenFile::new(
            fd,
            self.full_path(&path),
            status.size,
        )))
    }
}
