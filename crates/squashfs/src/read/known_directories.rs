//! Directories that were looked up, by their parent and name.
//!
//! In: the directories that lookups found. Out: the same ones. A path of a program has the same
//! first components again and again, and a listing has to be read from its start, or from the last
//! header before the name. **Invariant:** at most [`COUNT`] names of at most 255 bytes.

use quick_cache::UnitWeighter;
use quick_cache::sync::Cache;
use sinterfs_model::Ino;

use crate::layout::NAME_MAX;

/// Directories that are remembered.
const COUNT: u64 = 4096;

/// The bytes of a parent's number.
const INO_LEN: usize = 8;

/// The remembered directories.
pub(crate) struct KnownDirectories(Cache<Box<[u8]>, Ino>);

impl KnownDirectories {
    pub(crate) fn new() -> Self {
        // grows with what is looked up
        Self(Cache::with_weighter(16, COUNT, UnitWeighter))
    }

    /// Returns the directory of a name in another one.
    pub(crate) fn get(&self, parent: Ino, name: &[u8]) -> Option<Ino> {
        let mut room = [0; INO_LEN + NAME_MAX];
        self.0.get(key(parent, name, &mut room)?)
    }

    /// Remembers a directory.
    pub(crate) fn add(&self, parent: Ino, name: &[u8], found: Ino) {
        let mut room = [0; INO_LEN + NAME_MAX];
        if let Some(key) = key(parent, name, &mut room) {
            self.0.insert(key.into(), found);
        }
    }
}

/// Makes the key of a name; `None` if no directory can have it.
fn key<'a>(parent: Ino, name: &[u8], room: &'a mut [u8; INO_LEN + NAME_MAX]) -> Option<&'a [u8]> {
    let end = INO_LEN.checked_add(name.len())?;
    let key = room.get_mut(..end)?;
    let (front, back) = key.split_at_mut(INO_LEN);
    front.copy_from_slice(&parent.0.to_le_bytes());
    back.copy_from_slice(name);
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_known_by_parent_and_name() {
        let known = KnownDirectories::new();
        known.add(Ino(1), b"usr", Ino(2));
        known.add(Ino(2), b"usr", Ino(3));
        let found = |parent, name| known.get(Ino(parent), name).map(|found| found.0);
        assert_eq!(found(1, b"usr"), Some(2));
        assert_eq!(found(2, b"usr"), Some(3));
        assert_eq!(found(3, b"usr"), None);
        assert_eq!(found(1, b"us"), None);
        known.add(Ino(1), &[b'x'; 300], Ino(4));
        assert_eq!(found(1, &[b'x'; 300]), None);
    }
}
