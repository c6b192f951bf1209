//! Entries without content: symlinks, devices, fifos and sockets.
//!
//! In: an entry of the plan. Out: the same in the target, with its metadata. **Invariant:** an
//! existing file is replaced only if the options say so.

use sinterfs_model::{FileType, Result};
use sinterfs_platform::SYMLINKS_HAVE_KINDS;

use super::job::Extraction;
use super::metadata;
use crate::plan::Item;
use crate::resolve::{Follow, resolve};

impl Extraction<'_> {
    /// Returns whether a symlink leads to a directory of the image, where symlinks differ by that.
    fn leads_to_dir(&self, item: &Item) -> bool {
        if !SYMLINKS_HAVE_KINDS || self.options.strip > 0 {
            return false;
        }
        let (image, path) = (self.image, self.plan.path_bytes(item.name_ref));
        let found = resolve(image, &path, Follow::All).and_then(|ino| image.inode(ino));
        found.is_ok_and(|inode| inode.kind == FileType::Directory)
    }

    /// Creates an entry without content; `false` if an existing file is kept.
    pub(super) fn special(&self, item: &Item) -> Result<bool> {
        let inode = item.inode(self.image)?;
        let dir = self.target.parent(self.plan, item.name_ref)?;
        let name = self.plan.name(item.name_ref);
        let made = if item.kind == FileType::Symlink {
            let text = self.image.read_link(item.ino)?;
            let leads_to_dir = self.leads_to_dir(item);
            self.target.make_symlink(&dir, name, &text, leads_to_dir)
        } else {
            self.target.make_special(&dir, name, &inode)
        }?;
        if !made {
            return Ok(false);
        }
        self.counts.add(|counts| match item.kind {
            FileType::Symlink => counts.symlinks += 1,
            _ => counts.specials += 1,
        });
        metadata::of_name(self, &dir, item, &inode);
        Ok(true)
    }
}
