//! Features of an image that this system, or the file system of the target, does not have.
//!
//! In: the plan of an extraction and its target. Out: the names that cannot be made, warnings, and
//! counts. **Invariant:** what is lost is counted, and the first of its kind is reported.

use std::collections::HashSet;

use sinterfs_model::{Error, FileType, Inode, Result};
use sinterfs_platform::{KEEPS, NAMES_DIFFER, names};

use super::job::Extraction;
use super::options::ExtractOptions;
use super::report::Loss;
use crate::plan::{NameRef, Plan};

/// The most changed names that are reported one by one.
const MAX_REPORTED: u64 = 10;

/// Returns the names that differ from an earlier name of their directory only in case, by their
/// order in the walk.
pub(crate) fn clashes(plan: &Plan) -> HashSet<usize> {
    let (mut seen, mut later) = (HashSet::new(), HashSet::new());
    for name_ref in plan.name_refs() {
        let name = String::from_utf8_lossy(plan.name(name_ref)).to_lowercase();
        if !seen.insert((name_ref.dir, name)) {
            later.insert(name_ref.order());
        }
    }
    later
}

/// Returns whether the options ask for something of an inode that files here do not have.
fn loses(options: &ExtractOptions, inode: &Inode) -> bool {
    let usual = match inode.kind {
        FileType::Directory => 0o755,
        _ if inode.meta.mode & 0o200 == 0 => 0o444,
        _ => 0o644,
    };
    let other_mode = inode.kind != FileType::Symlink && inode.meta.mode & 0o7777 != usual;
    let owned = inode.meta.uid != 0 || inode.meta.gid != 0;
    (options.permissions && !KEEPS.modes && other_mode) || (options.owner && !KEEPS.owners && owned)
}

impl Extraction<'_> {
    /// Counts and reports names that files here cannot have; in strict mode fails instead, before
    /// anything is written.
    pub(crate) fn compare_with_system(&self) -> Result<()> {
        let differs = |name_ref: &NameRef| !names::is_kept(self.plan.name(*name_ref));
        let mut count = 0_u64;
        for name_ref in self
            .plan
            .name_refs()
            .filter(|name_ref| NAMES_DIFFER && differs(name_ref))
        {
            count += 1;
            if count <= MAX_REPORTED && !self.options.strict {
                let what = "the system has no such name: some of its characters were replaced";
                self.observer
                    .warn(&self.locate(Error::unsupported(what), name_ref));
            }
        }
        self.counts.add(|counts| counts.renamed = count);
        if self.options.strict {
            self.require_all_kept(count)?;
        }
        Ok(())
    }

    /// Fails if anything of the plan would be lost.
    fn require_all_kept(&self, renamed: u64) -> Result<()> {
        let mut lost = renamed;
        for item in self.plan.dirs.iter().chain(&self.plan.leaves) {
            let is_file = matches!(item.kind, FileType::File | FileType::Directory);
            let is_special = !is_file && item.kind != FileType::Symlink;
            let inode = item.inode(self.image)?;
            let attributes = !KEEPS.xattrs && self.has_xattrs(item.ino)?;
            let is_lost = (is_special && !KEEPS.specials) || loses(self.options, &inode);
            lost += u64::from(is_lost || attributes);
        }
        lost += self.target.refused_count();
        if lost == 0 {
            return Ok(());
        }
        let what = format!("{lost} entries cannot be restored as they are on this system");
        Err(Error::unsupported(what))
    }

    fn has_xattrs(&self, ino: sinterfs_model::Ino) -> Result<bool> {
        let has_any = self.options.xattrs && self.image.info().capability.xattrs;
        Ok(has_any && !self.image.xattrs(ino)?.is_empty())
    }

    /// Counts an entry whose owner, permissions or attributes are not kept; reports the first.
    pub(crate) fn note_unkept(&self, name_ref: NameRef, inode: &Inode) {
        if KEEPS.modes && KEEPS.owners && KEEPS.xattrs {
            return;
        }
        let attributes = !KEEPS.xattrs && self.has_xattrs(inode.ino).unwrap_or(false);
        if loses(self.options, inode) || attributes {
            self.counts.add(|counts| counts.unkept += 1);
            let what = "owners, permissions and attributes are not restored on this system: this \
                        and other files have its defaults";
            self.report_once(Loss::Attributes, Error::unsupported(what), name_ref);
        }
    }

    /// Counts an entry that cannot be here; reports the first of its kind.
    pub(crate) fn note_impossible(&self, loss: Loss, error: Error, name_ref: NameRef) {
        self.counts.add(|counts| counts.impossible += 1);
        self.report_once(loss, error, name_ref);
    }

    fn report_once(&self, loss: Loss, error: Error, name_ref: NameRef) {
        if self.reported.first(loss) {
            self.observer.warn(&self.locate(error, name_ref));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinterfs_model::Ino;

    #[test]
    fn names_that_differ_in_case_clash_in_one_directory() {
        let mut plan = Plan::new(Ino(1));
        let a = plan.add_dir(0, b"Doc", Ino(2)).unwrap();
        let b = plan.add_dir(0, b"doc", Ino(3)).unwrap();
        plan.add_dir(a, b"doc", Ino(4)).unwrap();
        plan.add_dir(b, "\u{c4}x".as_bytes(), Ino(5)).unwrap();
        plan.add_dir(b, "\u{e4}X".as_bytes(), Ino(6)).unwrap();
        plan.add_dir(a, "\u{e4}X".as_bytes(), Ino(6)).unwrap();
        let later = clashes(&plan);
        let found: Vec<u32> = (1..7)
            .filter(|&dir| later.contains(&plan.dir(dir).name_ref.order()))
            .collect();
        assert_eq!(found, [2, 5]);
    }
}
