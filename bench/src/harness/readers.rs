//! Reading of mounted files, by one and by several threads; every length is compared.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::thread;

use super::sets::File;

/// Applies a function to all items, by `count` threads that take turns with them.
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
        let start = |number: usize| {
            let thread = thread::Builder::new();
            thread.spawn_scoped(scope, move || share(number))
        };
        let others: Result<Vec<_>, _> = (1..count).map(start).collect();
        let others = others.map_err(|e| format!("cannot start a thread: {e}"))?;
        let first = share(0);
        others
            .into_iter()
            .map(|other| other.join().map_err(|_| "a reader panicked".to_owned())?)
            .fold(first, Result::and)
    })
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

/// Reads a file from start to end, `unit` bytes at once; fails if its length is another.
pub fn read_through(path: &Path, size: u64, unit: usize) -> Result<(), String> {
    let error = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut file = fs::File::open(path).map_err(error)?;
    let mut buffer = vec![0; unit];
    let mut total = 0;
    loop {
        match file.read(&mut buffer).map_err(error)? {
            0 => return same_length(path, size, total),
            len => total += len as u64,
        }
    }
}

/// Reads the attributes of a file; fails if its length is another.
pub fn read_attributes(at: &Path, file: &File) -> Result<(), String> {
    let status = fs::symlink_metadata(at.join(&file.path));
    let status = status.map_err(|e| format!("{}: {e}", file.path.display()))?;
    same_length(&file.path, file.size, status.len())
}

/// Fails if a length differs from the expected one.
pub fn same_length(path: &Path, expected: u64, found: u64) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let path = path.display();
    Err(format!("{path}: {found} bytes instead of {expected}"))
}
