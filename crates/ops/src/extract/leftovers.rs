//! Hidden names that entries have until they are complete, and what killed extractions left.
//!
//! In: directories of the target. Out: the same without leftovers. **Invariant:** what is removed
//! is a file with a name `.sinter-PID-N`, or a directory with a name `.sinter-PID-N.d`, that no
//! entry of the plan has, and its process does not run any more; nothing is removed while another
//! extraction has the target locked.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sinterfs_platform::{Directory, OpenFor, files, process};

use crate::plan::Plan;

const PREFIX: &[u8] = b".sinter-";
/// The end of the hidden names of directories.
const DIR: &[u8] = b".d";
/// The most levels that a hidden directory has.
pub(super) const MAX_LEVELS: u32 = 64;
/// The most levels of a hidden directory that are removed.
const MAX_REMOVED_LEVELS: u32 = 2 * MAX_LEVELS;

/// The extractions of this process that are running.
static RUNNING: AtomicU32 = AtomicU32::new(0);
/// The number of hidden names that this process has used.
static NAMES: AtomicU64 = AtomicU64::new(0);

/// Returns a hidden name that this process has not used before.
pub(super) fn hidden_name() -> Vec<u8> {
    let number = NAMES.fetch_add(1, Ordering::Relaxed);
    format!(".sinter-{}-{number}", std::process::id()).into_bytes()
}

/// Returns a hidden name of a directory that this process has not used before.
pub(super) fn hidden_dir_name() -> Vec<u8> {
    let mut name = hidden_name();
    name.extend_from_slice(DIR);
    name
}

/// Returns the process whose hidden name this is, of a file or of a directory.
fn owner(name: &[u8]) -> Option<u32> {
    let name = name.strip_suffix(DIR).unwrap_or(name);
    let name = std::str::from_utf8(name.strip_prefix(PREFIX)?).ok()?;
    let (process, number) = name.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(process) && is_number(number)).then(|| process.parse().ok())?
}

/// The right to remove leftovers below one target.
#[derive(Debug)]
pub(super) struct Leftovers {
    /// Whether no other extraction writes to the target; determined when something is to be
    /// removed.
    alone: OnceLock<bool>,
    /// The names of the plan that look like hidden ones, with their directories.
    planned: OnceLock<HashSet<(u32, Vec<u8>)>>,
}

impl Leftovers {
    /// Locks the target against removal by other extractions, for as long as it is open.
    pub(super) fn new(root: &Directory) -> Self {
        RUNNING.fetch_add(1, Ordering::AcqRel);
        // file systems without locks, and systems that lock no directories, remove nothing
        let _ = root.as_file().try_lock_shared();
        Self {
            alone: OnceLock::new(),
            planned: OnceLock::new(),
        }
    }

    /// Removes what killed extractions left in a directory that is open to list it. Failures are
    /// ignored: the files only take space.
    pub(super) fn remove(&self, root: &Directory, dir: &Directory, in_plan: Option<(&Plan, u32)>) {
        let mut found = Vec::new();
        let listed = dir.list(&mut |name| {
            if let Some(process) = owner(name) {
                found.push((process, name.to_vec()));
            }
            ControlFlow::Continue(())
        });
        if listed.is_err() || found.is_empty() {
            return;
        }
        for (process, name) in found {
            let is_planned = in_plan.is_some_and(|(plan, dir)| self.is_planned(plan, dir, &name));
            if is_planned || !is_dead(process) || !self.is_alone(root) {
                continue;
            }
            // each refuses what the other one removes
            let _ = if name.ends_with(DIR) {
                remove_tree(dir, &name)
            } else {
                dir.remove(&name)
            };
        }
    }

    fn is_alone(&self, root: &Directory) -> bool {
        *self.alone.get_or_init(|| root.as_file().try_lock().is_ok())
    }

    fn is_planned(&self, plan: &Plan, dir: u32, name: &[u8]) -> bool {
        let planned = self.planned.get_or_init(|| {
            let like_hidden = plan
                .name_refs()
                .filter(|name_ref| owner(plan.name(*name_ref)).is_some());
            let key = |name_ref: crate::plan::NameRef| (name_ref.dir, plan.name(name_ref).to_vec());
            like_hidden.map(key).collect()
        });
        planned.contains(&(dir, name.to_vec()))
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns whether a process does not run. An earlier one with the number of this process, as in
/// containers, is dead if no other extraction of this process is running.
fn is_dead(process: u32) -> bool {
    if process == std::process::id() {
        return RUNNING.load(Ordering::Acquire) == 1;
    }
    !process::may_be_running(process)
}

/// Removes a directory with all that is in it.
pub(super) fn remove_tree(dir: &Directory, name: &[u8]) -> io::Result<()> {
    remove_levels(dir, name, MAX_REMOVED_LEVELS)
}

fn remove_levels(dir: &Directory, name: &[u8], levels: u32) -> io::Result<()> {
    let too_deep = || io::Error::from(ErrorKind::InvalidInput);
    let below = levels.checked_sub(1).ok_or_else(too_deep)?;
    let child = open_all_rights(dir, name)?;
    let mut names = Vec::new();
    child.list(&mut |name| {
        names.push(name.to_vec());
        ControlFlow::Continue(())
    })?;
    for name in names {
        match child.remove(&name) {
            Err(error) if error.kind() == ErrorKind::IsADirectory => {
                remove_levels(&child, &name, below)?;
            }
            done => done?,
        }
    }
    dir.remove_dir(name)
}

/// Opens a directory of any permissions to remove what is in it.
fn open_all_rights(dir: &Directory, name: &[u8]) -> io::Result<Directory> {
    let child = match dir.child(name, OpenFor::List) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let found = dir.child(name, OpenFor::Walk)?;
            Directory::set_mode_of(found.as_file(), 0o700)?;
            dir.child(name, OpenFor::List)
        }
        opened => opened,
    }?;
    files::set_mode(child.as_file(), 0o700)?;
    Ok(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hidden_names_have_an_owner() {
        assert_eq!(owner(b".sinter-12-0"), Some(12));
        assert_eq!(owner(b".sinter-12-0.d"), Some(12));
        assert_eq!(owner(&hidden_name()), Some(std::process::id()));
        assert_eq!(owner(&hidden_dir_name()), Some(std::process::id()));
        for name in [
            &b".sinter-12"[..],
            b".sinter-12-",
            b".sinter--1",
            b".sinter-+1-1",
            b".sinter-1-2.txt",
            b".sinter-1-2.d.d",
            b"sinter-1-2",
            b".sinter-case-12",
            b".sinter-scratch-1-2",
            b".sinter-99999999999-1",
        ] {
            assert_eq!(owner(name), None);
        }
    }
}
