//! What follows when an entry is done: its further names, and directories that are complete by it.
//!
//! In: entries that are done. Out: hard links, and directories with their metadata and their final
//! names. **Invariant:** each leaf is done once, well or not; its directory has its own metadata,
//! which may close it to us, only when all further names of what is in it are made.

use sinterfs_model::Result;

use super::job::Extraction;
use super::metadata;
use super::target::Came;
use crate::plan::NameRef;

impl Extraction<'_> {
    /// Takes note that a file or special file is done, well or not: makes its further names, and
    /// completes the hidden directories that lack nothing any more.
    pub(crate) fn leaf_done(&self, leaf: u32, is_there: impl FnOnce() -> bool) -> Result<()> {
        let further = self.further_names.of(self.plan, leaf);
        if !further.is_empty() {
            self.aliases(further, is_there())?;
        }
        // its directory stays open to further names until all of them are made
        self.arrived(self.plan.leaf(leaf).name_ref)?;
        for &alias in further {
            self.arrived(self.plan.alias(alias).name_ref)?;
        }
        Ok(())
    }

    fn arrived(&self, name_ref: NameRef) -> Result<()> {
        match self.target.hidden.arrived(name_ref) {
            Some(top) => self.complete_dir(top),
            None => Ok(()),
        }
    }

    /// Sets the metadata of a hidden directory and of all below it, and gives it its final name.
    pub(crate) fn complete_dir(&self, top: u32) -> Result<()> {
        for dir in self.target.hidden.deepest_first(top) {
            self.finish_dir(dir)?;
        }
        let named = self.target.publish_dir(self.plan, top);
        let name_ref = self.plan.dir(top).name_ref;
        self.settle(named.map_err(|error| self.locate(error, name_ref)))?;
        Ok(())
    }

    /// Sets the metadata of a directory; removes what killed extractions left in it.
    pub(crate) fn finish_dir(&self, index: u32) -> Result<()> {
        let dir = self.plan.dir(index);
        let is_kept = self.target.came(index) == Some(Came::Kept);
        let done = match self.target.reopen_dir(self.plan, index) {
            // the user who keeps it may not be allowed to read it
            Err(_) if is_kept => Ok(()),
            done => done.and_then(|fd| {
                self.target.remove_leftovers(self.plan, index, &fd);
                if !is_kept {
                    let inode = self.image.inode(dir.ino)?;
                    metadata::of_open(self, fd.as_file(), dir.name_ref, &inode);
                }
                Ok(())
            }),
        };
        self.settle(done.map_err(|error| self.locate(error, dir.name_ref)))?;
        Ok(())
    }
}
