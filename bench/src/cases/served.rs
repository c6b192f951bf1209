//! What programs do with a mount: big files from start to end and 4 KiB anywhere, by one and by two at
//! once; listing everything; asking for attributes in no order.
//!
//! Enters how a cold mount is started; leaves seconds by name. **Invariant:** each is measured on a mount
//! of its own, and what is read has the length that it has in the source.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::harness::interrupt;
use crate::harness::mounted::{Mounted, places, read_4k};
use crate::harness::sets::File;
use crate::runner::Outcome;

/// What is done with a mount.
#[derive(Debug, Clone, Copy)]
pub enum Workload {
    /// Reading the big files, by so many at once.
    Sequential(usize),
    /// Reading 4 KiB at random places, by so many at once that share the places.
    Random(usize),
    /// Listing all directories, with the attributes of everything in them.
    List,
    /// Asking for the attributes of all files in no order.
    Status,
}

/// All that is measured, by the names of its figures.
pub const WORKLOADS: &[(&str, Workload)] = &[
    ("big files", Workload::Sequential(1)),
    ("big files by 2", Workload::Sequential(2)),
    ("random", Workload::Random(1)),
    ("random by 2", Workload::Random(2)),
    ("list", Workload::List),
    ("stat", Workload::Status),
];

/// Bytes from which on a file is big.
const BIG: u64 = 1 << 20;
/// How many of the biggest files are read where none is big.
const BIGGEST: usize = 16;
/// Bytes that a program asks for at once.
const READ: usize = 256 << 10;

/// Measures all workloads, each on a new mount.
pub fn measure(
    start: impl Fn() -> Result<(Mounted, f64), String>,
    files: &[File],
    reads: usize,
) -> Result<Outcome, String> {
    let mut figures = Vec::new();
    for (name, workload) in WORKLOADS {
        interrupt::check()?;
        let (mounted, _) = start()?;
        let begin = Instant::now();
        workload.run(mounted.at(), files, reads)?;
        figures.push((*name, begin.elapsed().as_secs_f64()));
    }
    Ok(Outcome::of(&figures))
}

impl Workload {
    fn run(self, at: &Path, files: &[File], reads: usize) -> Result<(), String> {
        match self {
            Self::Sequential(count) => by(count, &big(files), |file| {
                read_through(&at.join(&file.path), file.size)
            }),
            Self::Random(count) => by(count, &places(files, reads), |(file, offset)| {
                let found = read_4k(&at.join(&file.path), *offset)?.len() as u64;
                same_length(&file.path, (file.size - offset).min(4096), found)
            }),
            Self::List => list(at),
            Self::Status => by(1, &shuffled(files), |file| {
                let status = fs::symlink_metadata(at.join(&file.path));
                let status = status.map_err(|e| format!("{}: {e}", file.path.display()))?;
                same_length(&file.path, file.size, status.len())
            }),
        }
    }
}

/// Does something with all items, by so many threads that take turns with them.
#[allow(
    clippy::disallowed_methods,
    reason = "without threads there is nothing to measure"
)]
pub fn by<T: Sync>(
    count: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let share = |number: usize| {
        let mut own = items.iter().skip(number).step_by(count);
        own.try_for_each(&work)
    };
    thread::scope(|scope| {
        let share = &share;
        let others: Vec<_> = (1..count)
            .map(|number| scope.spawn(move || share(number)))
            .collect();
        let first = share(0);
        others
            .into_iter()
            .map(|other| other.join().map_err(|_| "a reader panicked".to_owned())?)
            .fold(first, Result::and)
    })
}

fn big(files: &[File]) -> Vec<&File> {
    let big: Vec<&File> = files.iter().filter(|file| file.size >= BIG).collect();
    if !big.is_empty() {
        return big;
    }
    let mut biggest: Vec<&File> = files.iter().collect();
    biggest.sort_by_key(|file| std::cmp::Reverse(file.size));
    biggest.truncate(BIGGEST);
    biggest
}

/// Puts files into an order that follows no directory, always the same.
pub fn shuffled(files: &[File]) -> Vec<&File> {
    let mut keyed: Vec<(u64, &File)> = (0_u64..)
        .zip(files)
        .map(|(number, file)| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15), file))
        .collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, file)| file).collect()
}

fn read_through(path: &Path, size: u64) -> Result<(), String> {
    let error = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut file = fs::File::open(path).map_err(error)?;
    let mut buffer = vec![0; READ];
    let mut total = 0;
    loop {
        match file.read(&mut buffer).map_err(error)? {
            0 => return same_length(path, size, total),
            len => total += len as u64,
        }
    }
}

fn list(dir: &Path) -> Result<(), String> {
    let error = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut below = Vec::new();
    for entry in fs::read_dir(dir).map_err(error)? {
        let entry = entry.map_err(error)?;
        if entry.metadata().map_err(error)?.is_dir() {
            below.push(entry.path());
        }
    }
    below.iter().try_for_each(|dir| list(dir))
}

pub fn same_length(path: &Path, expected: u64, found: u64) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let path = path.display();
    Err(format!("{path}: {found} bytes in place of {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_done_and_what_is_wrong_is_told() {
        let dir = crate::workspace::target().join(format!("served-{}", std::process::id()));
        fs::create_dir_all(dir.join("sub")).unwrap();
        fs::write(dir.join("sub/a"), vec![1; 3 << 20]).unwrap();
        fs::write(dir.join("b"), b"short").unwrap();
        let mut files = crate::harness::sets::files(&dir).unwrap();
        for (name, workload) in WORKLOADS {
            assert_eq!(workload.run(&dir, &files, 50), Ok(()), "{name}");
        }
        assert_eq!(big(&files).len(), 1);
        assert_eq!(big(&files[..1]).len(), 1);
        for file in &mut files {
            file.size += 1;
        }
        for workload in [Workload::Sequential(2), Workload::Status] {
            assert!(workload.run(&dir, &files, 50).is_err());
        }
        fs::remove_dir_all(&dir).unwrap();
        assert!(Workload::List.run(&dir, &files, 50).is_err());
    }
}
