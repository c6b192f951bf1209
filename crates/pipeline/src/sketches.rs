//! The sketches of all files: in memory while they are few, else in a scratch file.
//!
//! Enters sketches from many threads, by number of file; leaves those of a run of files.
//! **Invariant:** at most `IN_MEMORY` sketches are held, however many files there are.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use sinterfs_model::Result;

use crate::scratch::Scratch;
use crate::sketch::{NOTHING, PLACES, Sketch};
use crate::threads::lock;

/// How many sketches are held in memory: 64 MiB.
pub(crate) const IN_MEMORY: usize = 1 << 20;

/// Bytes of a sketch in a file.
const BYTES: usize = PLACES * 4;

/// Keeps a sketch for each file.
#[derive(Debug, Default)]
pub(crate) enum Sketches {
    /// None are wanted.
    #[default]
    Absent,
    Memory(Mutex<Vec<Sketch>>),
    Scratch(File, Scratch),
}

impl Sketches {
    /// Makes room for the sketches of so many files.
    pub fn new(files: usize, scratch: &Scratch) -> Result<Self> {
        Self::with_limit(files, scratch, IN_MEMORY)
    }

    fn with_limit(files: usize, scratch: &Scratch, limit: usize) -> Result<Self> {
        if files <= limit {
            return Ok(Self::Memory(Mutex::new(vec![NOTHING; files])));
        }
        Ok(Self::Scratch(scratch.file()?, scratch.clone()))
    }

    /// Keeps the sketch of a file.
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
                    // inverted, so that a file nobody wrote of has the sketch of no bytes
                    place.copy_from_slice(&(!value).to_le_bytes());
                }
                all.write_all_at(&bytes, (file * BYTES) as u64)
                    .map_err(|error| scratch.failed(error))
            }
        }
    }

    /// Returns the sketches of some files, in the order in which they are named.
    pub fn load(&self, files: impl Iterator<Item = u32>) -> Result<Vec<Sketch>> {
        match self {
            Self::Absent => Ok(files.map(|_| NOTHING).collect()),
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

/// Reads one sketch; what lies beyond the end of the file was never written.
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
    let mut sketch = NOTHING;
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
            assert_eq!(loaded, [sketch(8), NOTHING, NOTHING, sketch(3), sketch(1)]);
        }
    }
}
