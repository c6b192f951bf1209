//! Maps inode numbers of an image to FUSE inode numbers and back.
//!
//! **Invariant:** one to one; the root is 1, as FUSE requires, and no number is 0, which means "no
//! such file" to the kernel.

use rustix::io::Errno;
use sinterfs_model::Ino;

use crate::errno::Answer;

const ROOT: u64 = 1;

/// The map of one image: numbers are increased by one, except that the root is exchanged with 0
/// first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InoMap {
    root: u64,
}

impl InoMap {
    pub(crate) fn new(root: Ino) -> Self {
        Self { root: root.0 }
    }

    /// Returns the number for the kernel. `EOVERFLOW` for the largest number, which has none.
    pub(crate) fn to_fuse(self, ino: Ino) -> Answer<u64> {
        if ino.0 == self.root {
            return Ok(ROOT);
        }
        let ino = if ino.0 == 0 { self.root } else { ino.0 };
        ino.checked_add(1).ok_or(Errno::OVERFLOW)
    }

    /// Returns the number in the image. `ENOENT` for 0.
    pub(crate) fn to_image(self, number: u64) -> Answer<Ino> {
        if number == ROOT {
            return Ok(Ino(self.root));
        }
        let ino = number.checked_sub(1).ok_or(Errno::NOENT)?;
        Ok(Ino(if ino == self.root { 0 } else { ino }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for root in [0, 1, 2, 7, u64::MAX - 1] {
            let map = InoMap::new(Ino(root));
            let mut seen = std::collections::HashSet::new();
            for ino in [0, 1, 2, 3, 6, 7, 8, 1 << 40, u64::MAX - 2, u64::MAX - 1] {
                let number = map.to_fuse(Ino(ino)).unwrap();
                assert_eq!(map.to_image(number), Ok(Ino(ino)));
                assert_eq!(number == ROOT, ino == root);
                assert!(number != 0 && seen.insert(number));
            }
            assert_eq!(map.to_fuse(Ino(u64::MAX)), Err(Errno::OVERFLOW));
            assert_eq!(map.to_image(0), Err(Errno::NOENT));
        }
        let map = InoMap::new(Ino(u64::MAX));
        assert_eq!(map.to_fuse(Ino(u64::MAX)), Ok(1));
        assert_eq!(map.to_fuse(Ino(0)), Err(Errno::OVERFLOW));
    }
}
