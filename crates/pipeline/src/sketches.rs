//! The sketches of all files: in memory, or in a scratch file if there are many.
//!
//! Enters sketches from many threads, by file number; leaves the sketches of a run of files.
//! **Invariant:** at most `IN_MEMORY` sketches are in memory at a time.

use std::fs::File;
use std::sync::Mutex;

use sinterfs_model::Result;
use sinterfs_platform::{FileAt, Scratch};
use sinterfs_workers::lock;

use crate::sketch::{NO_SKETCH, Sketch, VALUES};

/// The most sketches in memory: 64 MiB.
pub(crate) const IN_MEMORY: usize = 1 << 20;

/// Bytes of a sketch in the scratch file.
const BYTES: usize = VALUES * 4;

/// A sketch for each file.
#[derive(Debug, Default)]
pub(crate) enum Sketches {
    /// Sketches are not needed.
    #[default]
    Absent,
    Memory(Mutex<Vec<Sketch>>),
    Scratch(File, Scratch),
}

impl Sketches {
    /// Creates storage for the sketches of `files` files.
    pub fn new(files: usize, scratch: &Scratch) -> Result<Self> {
        Self::with_limit(files, scratch, IN_MEMORY)
    }

    fn with_limit(files: usize, scratch: &Scratch, limit: usize) -> Result<Self> {
        if files <= limit {
            return Ok(Self::Memory(Mutex::new(vec![NO_SKETCH; files])));
        }
        Ok(Self::Scratch(scratch.file()?, scratch.clone()))
    }

    /// Stores the sketch of a file.
    pub fn set(&self, file: usize, sketch: &Sketch) -> Result<()> {
        match self {
            Self::Absent => Ok(()),
            Self::Memory(all) => {
                if let Some(place) = lock(all).get_mut(file) {
                    *place = *sketch;
                }
                Ok(())
            }
            Self::Scratch(all, scratch) => {
                let mut bytes = [0; BYTES];
                for (place, value) in bytes.chunks_exact_mut(4).zip(sketch) {
                    // inverted, so that a record that was never written reads as the sketch of an
                    // empty file
                    place.copy_from_slice(&(!value).to_le_bytes());
                }
                all.write_all_at(&bytes, (file * BYTES) as u64)
                    .map_err(|error| scratch.failed(error))
            }
        }
    }

    /// Returns the sketches of the given files, in order.
    pub fn load(&self, files: impl Iterator<Item = u32>) -> Result<Vec<Sketch>> {
        match self {
            Self::Absent => Ok(files.map(|_| NO_SKETCH).collect()),
            Self::Memory(all) => {
                let all = lock(all);
                Ok(files.map(|file| all[file as usize]).collect())
            }
            Self::Scratch(all, scratch) => {
                let read = |file: u32| read(all, file).map_err(|error| scratch.failed(error));
                files.map(read).collect()
            }
        }
    }
}

/// Reads one sketch; records beyond the end of the file were never written.
fn read(all: &File, file: u32) -> std::io::Result<Sketch> {
    let mut bytes = [0; BYTES];
    let mut got = 0;
    while got < BYTES {
        match all.read_at(
            &mut bytes[got..],
            u64::from(file) * BYTES as u64 + got as u64,
        )? {
            0 => break,
            more => got += more,
        }
    }
    let mut sketch = NO_SKETCH;
    for (value, place) in sketch.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *value = !u32::from_le_bytes(*place);
    }
    Ok(sketch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_file_gives_what_memory_gives() {
        let scratch = Scratch::new(std::env::temp_dir());
        let sketch = |file: u32| std::array::from_fn(|place| file * 100 + place as u32);
        let all = [
            Sketches::with_limit(10, &scratch, 10).unwrap(),
            Sketches::with_limit(10, &scratch, 9).unwrap(),
        ];
        assert!(matches!(all[0], Sketches::Memory(_)));
        assert!(matches!(all[1], Sketches::Scratch(..)));
        for sketches in &all {
            for file in [3, 1, 8] {
                sketches.set(file as usize, &sketch(file)).unwrap();
            }
            let loaded = sketches.load([8, 0, 9, 3, 1].into_iter()).unwrap();
            assert_eq!(
                loaded,
                [sketch(8), NO_SKETCH, NO_SKETCH, sketch(3), sketch(1)]
            );
        }
    }
}
