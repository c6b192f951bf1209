//! A directory of the running system as a source.
//!
//! Enters a path; leaves a `Tree` (see `scan`) and the content of its files (see `content`).
//! Everything below the root is opened relative to the root's descriptor and never through a
//! symlink (see `sinterfs_platform::Directory`). So nothing outside of the root is packed, whatever
//! other processes do meanwhile, and paths may be longer than `PATH_MAX`.
//! **Invariant:** the tree does not depend on the number of threads or on their timing.

mod attributes;
pub(super) mod content;
mod opened;
mod scan;
pub(super) mod single_file;
mod unfinished;

use sinterfs_model::{Error, FileContent, FileType, NodeId, Observer, Result, Source, Tree};
use sinterfs_platform::{self as platform, OpenFor};

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

    fn open(&self, tree: &Tree, node: NodeId) -> Result<Box<dyn FileContent>> {
        let path = tree.path(node);
        let fail = |error: Error| error.path(self.full_path(&path));
        let opened = self.root.open_beneath(&path, OpenFor::Read);
        let file = opened.map_err(|error| fail(Error::io("cannot open", error)))?;
        let status = platform::Directory::status_of(&file);
        let status = status.map_err(|error| fail(Error::io("cannot stat", error)))?;
        if status.kind != Some(FileType::File) {
            return Err(fail(Error::invalid(
                "was a regular file when scanned, but is not any more",
            )));
        }
        Ok(Box::new(OpenFile::new(
            file,
            self.full_path(&path),
            status.size,
        )))
    }

    fn may_change(&self, _: NodeId) -> bool {
        true
    }
}
