//! Names that several entries would have, where leading components of paths are removed.
//!
//! In: names in the directories of a plan. Out: whether they are taken. **Invariant:** the first
//! entry that a walk meets has the name; no other one replaces it without an error. Directories of
//! one name become one.

use std::collections::HashMap;

use sinterfs_model::{Error, Image, Ino, Result};

use crate::plan::Plan;

/// Which names of a plan are taken, where entries of several directories may get one name.
pub(crate) struct TakenNames<'a> {
    image: &'a dyn Image,
    /// Nothing where no components are removed: then names differ.
    names: Option<HashMap<(u32, Vec<u8>), Place>>,
}

/// The file that has a name.
#[derive(Clone, Copy)]
enum Place {
    Dir(u32),
    Leaf(Ino),
}

const TAKEN: &str = "another entry has this name already, since leading components are removed";

impl<'a> TakenNames<'a> {
    pub(crate) fn new(image: &'a dyn Image, strip: usize) -> Self {
        let names = (strip > 0).then(HashMap::new);
        Self { image, names }
    }

    fn get(&self, parent: u32, name: &[u8]) -> Option<Place> {
        let names = self.names.as_ref()?;
        names.get(&(parent, name.to_vec())).copied()
    }

    /// Returns the directory of a name that is in the plan; an error if another entry has it.
    pub(crate) fn dir(&self, parent: u32, name: &[u8], ino: Ino) -> Result<Option<u32>> {
        match self.get(parent, name) {
            Some(Place::Dir(dir)) => Ok(Some(dir)),
            Some(Place::Leaf(leaf)) if leaf != ino => {
                let what = format!("{TAKEN}: nothing below it is taken");
                Err(Error::invalid(what))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn add_dir(&mut self, parent: u32, name: &[u8], dir: u32) {
        if let Some(names) = &mut self.names {
            names.insert((parent, name.to_vec()), Place::Dir(dir));
        }
    }

    /// Returns whether a directory has other attributes than one of the plan with its name. Times
    /// are not compared: a directory's times change with its entries.
    pub(crate) fn differs(&self, plan: &Plan, dir: u32, ino: Ino) -> bool {
        let rights = |ino| {
            let meta = self.image.inode(ino)?.meta;
            let has_xattrs = self.image.info().capability.xattrs;
            let xattrs = has_xattrs.then(|| self.image.xattrs(ino)).transpose()?;
            Ok((meta.mode, meta.uid, meta.gid, xattrs))
        };
        let both: [Result<_>; 2] = [plan.dir(dir).ino, ino].map(rights);
        // what cannot be read is reported when it is restored
        !matches!(both, [Ok(one), Ok(other)] if one == other)
    }

    /// Takes a name for an entry that is no directory; `false` if the same inode has it.
    pub(crate) fn leaf(&mut self, parent: u32, name: &[u8], ino: Ino) -> Result<bool> {
        let found = self.get(parent, name);
        let Some(names) = &mut self.names else {
            return Ok(true);
        };
        match found {
            Some(Place::Leaf(leaf)) if leaf == ino => Ok(false),
            Some(_) => Err(Error::invalid(TAKEN)),
            None => {
                names.insert((parent, name.to_vec()), Place::Leaf(ino));
                Ok(true)
            }
        }
    }
}
