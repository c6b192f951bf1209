//! Hard links: the further names of inodes.
//!
//! In: a first name that was restored, or kept as it was. Out: its further names. **Invariant:** a
//! further name has the content of the image, also where the first name keeps another.

use sinterfs_model::{Error, FileType, Result};

use super::job::Extraction;
use super::lock::lock;
use super::{content, errors};
use crate::plan::{Alias, Item, NameRef};

impl Extraction<'_> {
    /// Makes further names of an inode whose first name is there, or reports that it is not.
    pub(super) fn aliases(&self, further: &[u32], is_there: bool) -> Result<()> {
        for &alias in further {
            self.pause()?;
            let alias = self.plan.alias(alias);
            let made = if is_there {
                self.alias(alias)
            } else {
                let what = "the first name of this hard link was not restored";
                Err(Error::not_found(what))
            };
            self.settle(made.map_err(|error| self.locate(error, alias.name_ref)))?;
        }
        Ok(())
    }

    /// Makes a further name of an inode. If an existing file of the first name was kept, its
    /// content differs: the first of the further names gets a copy, and the rest are linked to that
    /// copy.
    fn alias(&self, alias: &Alias) -> Result<()> {
        let first = self.plan.leaf(alias.first);
        let mut kept = lock(&self.kept.0);
        let linked_to = match kept.get_mut(&first.name_ref.order()) {
            None => first.name_ref,
            Some(Some(stand_in)) => *stand_in,
            Some(stand_in) => {
                // others of the same inode wait for the copy
                if self.copy(alias, first)? {
                    *stand_in = Some(alias.name_ref);
                } else {
                    self.counts.add(|counts| counts.kept += 1);
                }
                return Ok(());
            }
        };
        drop(kept);
        self.link(alias, first, linked_to)
    }

    fn link(&self, alias: &Alias, first: &Item, linked_to: NameRef) -> Result<()> {
        let from = self.target.dir(self.plan, linked_to.dir)?;
        let to = self.target.parent(self.plan, alias.name_ref)?;
        let (old, new) = (self.plan.name(linked_to), self.plan.name(alias.name_ref));
        let made = match self.target.make_link(&from, old, &to, new) {
            // the file system has no hard links, or no more of them: a copy is the next best
            Err(error) if errors::no_links(&error) => {
                if !self.copy(alias, first)? {
                    self.counts.add(|counts| counts.kept += 1);
                }
                return Ok(());
            }
            other => other?,
        };
        self.counts.add(|counts| {
            if made {
                counts.links += 1;
            } else {
                counts.kept += 1;
            }
        });
        Ok(())
    }

    /// Restores an inode under a further name; `false` if an existing file is kept.
    fn copy(&self, alias: &Alias, first: &Item) -> Result<bool> {
        let copy = Item {
            name_ref: alias.name_ref,
            ..*first
        };
        match first.kind {
            FileType::File => content::write_copy(self, &copy),
            _ => self.special(&copy),
        }
    }
}
