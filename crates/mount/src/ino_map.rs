//! Turns inode numbers of an image into those of FUSE and back.
//!
//! **Invariant:** one to one; the root is 1, as FUSE demands, and nothing is 0, which means "no
//! such file" to the kernel.

use rustix::io::Errno;
use sinterfs_model::Ino;

use crate::errno::Answer;

const ROOT: u64 = 1;

/// The mapping for one image: one more, except that the root changes places with what would be 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    root: u64,
}

impl Numbers {
    pub(crate) fn new(root: Ino) -> Self {
        Self { root: root.0 }
    }

    /// Returns the number that the kernel uses. `EOVERFLOW` for the one number that has no other.
    pub(crate) fn of(self, ino: Ino) -> Answer<u64> {
        if ino.0 == self.root {
            return Ok(ROOT);
        }
        let ino = if ino.0 == 0 { self.root } else { ino.0 };
        ino.checked_add(1).ok_or(Errno::OVERFLOW)
    }

    /// Returns the number that the image uses. `ENOENT` for what no inode is called.
    pub(crate) fn ino(self, number: u64) -> Answer<Ino> {
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
    fn there_and_back() {
        for root in [0, 1, 2, 7, u64::MAX - 1] {
            let numbers = Numbers::new(Ino(root));
            let mut seen = std::collections::HashSet::new();
            for ino in [0, 1, 2, 3, 6, 7, 8, 1 << 40, u64::MAX - 2, u64::MAX - 1] {
                let number = numbers.of(Ino(ino)).unwrap();
                assert_eq!(numbers.ino(number), Ok(Ino(ino)));
                assert_eq!(number == ROOT, ino == root);
                assert!(number != 0 && seen.insert(number));
            }
            assert_eq!(numbers.of(Ino(u64::MAX)), Err(Errno::OVERFLOW));
            assert_eq!(numbers.ino(0), Err(Errno::NOENT));
        }
        let numbers = Numbers::new(Ino(u64::MAX));
        assert_eq!(numbers.of(Ino(u64::MAX)), Ok(1));
        assert_eq!(numbers.of(Ino(0)), Err(Errno::OVERFLOW));
    }
}
