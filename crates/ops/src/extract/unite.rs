//! A hidden directory whose name another directory got meanwhile: both become one.
//!
//! In: a hidden directory and the one that has its name. Out: one directory. **Invariant:** a file
//! that exists is replaced only if the options say so, and one of ours that finds no place is
//! counted and removed; the hidden directory is gone.

use std::io;
use std::ops::ControlFlow;

use sinterfs_model::{Error, FileType, Kind, Result};
use sinterfs_platform::{Directory, OpenFor, files};

use super::errors::exists;
use super::leftovers::remove_tree;
use super::options::Overwrite;

/// The work to make two directories one.
#[derive(Debug)]
pub(super) struct Union {
    overwrite: Overwrite,
    /// The files that found no place.
    refused: u64,
}

impl Union {
    pub(super) fn new(overwrite: Overwrite) -> Self {
        Self {
            overwrite,
            refused: 0,
        }
    }

    /// Moves all that is in a directory of `parent` to another directory, and removes it.
    pub(super) fn move_all(
        &mut self,
        parent: &Directory,
        name: &[u8],
        to: &Directory,
    ) -> io::Result<()> {
        let from = parent.child(name, OpenFor::List)?;
        // it may have its final permissions already
        files::set_mode(from.as_file(), 0o700)?;
        let mut names = Vec::new();
        from.list(&mut |name| {
            names.push(name.to_vec());
            ControlFlow::Continue(())
        })?;
        for name in names {
            match from.move_new(&name, to, &name) {
                Err(error) if exists(&error) => self.settle(&from, &name, to)?,
                done => done?,
            }
        }
        parent.remove_dir(name)
    }

    /// Finds a place for an entry whose name another one has.
    fn settle(&mut self, from: &Directory, name: &[u8], to: &Directory) -> io::Result<()> {
        let is_dir = |dir: &Directory| {
            let found = dir.status(name)?;
            io::Result::Ok(found.kind == Some(FileType::Directory))
        };
        let is_ours_dir = is_dir(from)?;
        match (is_ours_dir, is_dir(to)?) {
            (true, true) => return self.move_all(from, name, &to.child(name, OpenFor::Walk)?),
            (false, false) if self.overwrite == Overwrite::Replace => {
                return from.move_over(name, to, name);
            }
            (true, false) if self.overwrite == Overwrite::Replace => {
                to.remove(name)?;
                return from.move_new(name, to, name);
            }
            (false, false) if self.overwrite == Overwrite::Keep => {}
            _ => self.refused += 1,
        }
        if is_ours_dir {
            remove_tree(from, name)
        } else {
            from.remove(name)
        }
    }

    /// Returns an error if there was no place for something.
    pub(super) fn end(self) -> Result<()> {
        match self.refused {
            0 => Ok(()),
            count => {
                let what = format!("another process made it, too: {count} entries exist already");
                Err(Error::new(Kind::Io, what))
            }
        }
    }
}
