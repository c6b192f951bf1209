//! New directories: under a hidden name if they are small, and renamed when they are complete.
//!
//! In: directories of the plan. Out: directories of the target. **Invariant:** a directory that
//! exists is taken, and replaced by nothing; one that got the name of a hidden directory meanwhile
//! becomes one with it.

use sinterfs_model::{Error, FileType, Inode, Result};
use sinterfs_platform::{Directory, OpenFor, Status};

use super::errors::{exists, failed, in_the_way};
use super::leftovers::{hidden_dir_name, remove_tree};
use super::lock::lock;
use super::options::Overwrite;
use super::target::{Came, Target, name, remove, under_hidden_name};
use super::unite::Union;
use crate::plan::{NameRef, Plan};

const UNMADE: &str = "can't make the directory";
const UNNAMED: &str = "can't give the directory its name";

impl Target {
    /// Makes a directory of the plan whose parent is there, under a hidden name if it is new and
    /// small; an existing directory is taken.
    pub(crate) fn make_dir(&self, plan: &Plan, index: u32, inode: &Inode) -> Result<()> {
        let name_ref = plan.dir(index).name_ref;
        let parent = self.parent(plan, name_ref)?;
        let (name, mode) = (name(plan, index), self.dir_mode(inode));
        let top = self.hidden.top(name_ref.dir);
        if top.is_none() && self.hidden.may_hide(index) && self.is_unused(&parent, name_ref, name) {
            let made = under_hidden_name(hidden_dir_name, |name| parent.make_dir(name, mode));
            let (hidden, ()) = made.map_err(failed(UNMADE))?;
            self.hidden.begin(index, hidden);
            lock(&self.came).insert(index, Came::New);
            return Ok(());
        }
        let came = match parent.make_dir(name, mode) {
            Err(error) if !exists(&error) => return Err(failed(UNMADE)(error)),
            Ok(()) => Came::New,
            Err(_) => {
                let found = parent.status(name).map_err(failed("stat failed"))?;
                if found.kind == Some(FileType::Directory) {
                    self.merge(index, &found)
                } else if self.overwrite == Overwrite::Replace {
                    remove(&parent, name)?;
                    parent.make_dir(name, mode).map_err(failed(UNMADE))?;
                    Came::New
                } else {
                    return Err(in_the_way("a file that is not a directory is in the way"));
                }
            }
        };
        if let Some(top) = top {
            self.hidden.join(index, top);
        }
        lock(&self.came).insert(index, came);
        Ok(())
    }

    /// Returns whether nothing has a name, as far as that is known.
    fn is_unused(&self, parent: &Directory, name_ref: NameRef, name: &[u8]) -> bool {
        let found = |error: std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        self.came(name_ref.dir) == Some(Came::New) || parent.status(name).is_err_and(found)
    }

    /// Takes a directory that is there: one that is to be kept keeps its metadata, unless an
    /// extraction was killed before it set them.
    fn merge(&self, index: u32, found: &Status) -> Came {
        lock(&self.file_systems).insert(found.identity.device, index);
        if self.overwrite == Overwrite::Keep && !self.is_to_be_finished(found) {
            Came::Kept
        } else {
            Came::Merged
        }
    }

    /// Renames a topmost hidden directory to its final name. If another directory got that name
    /// meanwhile, both become one. A failure leaves nothing of it.
    pub(super) fn publish_dir(&self, plan: &Plan, top: u32) -> Result<()> {
        let Some(hidden) = self.hidden.name(top) else {
            return Ok(());
        };
        let parent = self.dir(plan, plan.dir(top).name_ref.dir)?;
        let name = name(plan, top);
        let done = match parent.rename_new(&hidden, name) {
            Err(error) if exists(&error) => self.unite(&parent, &hidden, name),
            done => done.map_err(failed(UNNAMED)),
        };
        self.hidden.end(top);
        if done.is_err() {
            // the error that counts is the one of the name
            let _ = remove_tree(&parent, &hidden);
        }
        done
    }

    fn unite(&self, parent: &Directory, hidden: &[u8], name: &[u8]) -> Result<()> {
        let found = parent.status(name).map_err(failed("stat failed"))?;
        if found.kind != Some(FileType::Directory) {
            if self.overwrite != Overwrite::Replace {
                return Err(in_the_way("a file that is not a directory is in the way"));
            }
            remove(parent, name)?;
            return parent.rename_new(hidden, name).map_err(failed(UNNAMED));
        }
        let mut union = Union::new(self.overwrite);
        let to = parent.child(name, OpenFor::Walk);
        let done = to.and_then(|to| union.move_all(parent, hidden, &to));
        done.map_err(failed(UNNAMED))?;
        union.end()
    }

    /// Renames all hidden directories to their final names, when the work ends early: what is in
    /// them is as complete as in other directories.
    pub(super) fn publish_all(&self, plan: &Plan) -> Vec<(NameRef, Error)> {
        let named = |top| match self.publish_dir(plan, top) {
            Err(error) => Some((plan.dir(top).name_ref, error)),
            Ok(()) => None,
        };
        self.hidden.left().into_iter().filter_map(named).collect()
    }
}
