//! Errors of a file or directory: reading continues, and using the file is an error.
//!
//! **Invariant:** errors of the machine and of limits are not damage.

use sinterfs_model::{Error, Kind, Place, Result};

/// Why a file or directory cannot be read, and where that is seen.
#[derive(Debug)]
pub(crate) struct UdfDamage {
    kind: Kind,
    what: String,
    place: Option<Place>,
}

impl UdfDamage {
    /// Keeps an error of the image; errors of the machine and of limits are returned.
    pub(crate) fn of(error: Error) -> Result<Box<Self>> {
        match error.kind() {
            kind @ (Kind::Corrupt | Kind::Unsupported) => Ok(Box::new(Self {
                kind,
                what: error.what().to_owned(),
                place: error.place().cloned(),
            })),
            _ => Err(error),
        }
    }

    /// Returns the error of a read.
    pub(crate) fn error(&self) -> Error {
        self.located(self.what.clone())
    }

    /// Returns the error of a check, with the number of the inode.
    pub(crate) fn error_of(&self, number: u64) -> Error {
        self.located(format!("inode {number:#x}: {}", self.what))
    }

    fn located(&self, what: String) -> Error {
        let error = Error::new(self.kind, what);
        match &self.place {
            Some(Place { structure, offset }) => match offset {
                Some(offset) => error.at(structure.clone(), *offset),
                None => error.within(structure.clone()),
            },
            None => error,
        }
    }
}
