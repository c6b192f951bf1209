//! What programs do with a mount: large files from start to end and 4 KiB at random places, by one
//! and by two readers; listing everything; reading attributes in no order.
//!
//! **Invariant:** each workload runs on a cold mount of its own, and every length is compared with
//! the source.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::mount::{ColdMount, cold_mounts};
use crate::bench::Bench;
use crate::case::Case;
use crate::harness::interrupt;
use crate::harness::mounted::{places, read_4k};
use crate::harness::readers::{by, read_attributes, read_through, same_length, shuffled};
use crate::harness::sets::{File, Set};
use crate::results::Record;
use crate::runner::{Measurement, Outcome};
use crate::tables::cells::{Column, Counterpart, SetCells, Unit};

/// The case `serve`.
pub struct Serve;

/// One thing that programs do.
#[derive(Debug, Clone, Copy)]
enum Workload {
    /// Reads the large files, by a number of threads.
    Sequential(usize),
    /// Reads 4 KiB at random places, by a number of threads that share the places.
    Random(usize),
    /// Lists all directories, with the attributes of all entries.
    List,
    /// Reads the attributes of all files in no order.
    Status,
}

/// All workloads, by the names of their figures.
const WORKLOADS: &[(&str, Workload)] = &[
    ("big files", Workload::Sequential(1)),
    ("big files by 2", Workload::Sequential(2)),
    ("random", Workload::Random(1)),
    ("random by 2", Workload::Random(2)),
    ("list", Workload::List),
    ("stat", Workload::Status),
];

const COLUMNS: &[Column] = &[
    Column::new("big files", "big files", Unit::Seconds),
    Column::new("big files by 2", "big files by 2", Unit::Seconds),
    Column::new("random", "random", Unit::Seconds),
    Column::new("random by 2", "random by 2", Unit::Seconds),
    Column::new("list", "list", Unit::Seconds),
    Column::new("stat", "stat", Unit::Seconds),
];

/// Bytes from which on a file is large.
const LARGE: u64 = 1 << 20;
/// Number of the largest files that are read where none is large.
const LARGEST: usize = 16;
/// Bytes that a program reads at once.
const READ: usize = 256 << 10;

impl Case for Serve {
    fn name(&self) -> &'static str {
        "serve"
    }

    fn title(&self) -> &'static str {
        "What programs do with a cold mount"
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let measurement = |(record, mount): (Record, ColdMount<'a>)| Measurement {
            record,
            run: Box::new(move |_| serve(&mount, &set.files, bench.options.reads)),
        };
        let mounts = cold_mounts(bench, set, self.name())?;
        Ok(mounts.into_iter().map(measurement).collect())
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        cells.compared("mounted by", self.name(), COLUMNS, Counterpart::SameImage)
    }
}

fn serve(mount: &ColdMount<'_>, files: &[File], reads: usize) -> Result<Outcome, String> {
    let mut figures = Vec::new();
    for (name, workload) in WORKLOADS {
        interrupt::check()?;
        let (mounted, _) = mount.start()?;
        let begin = Instant::now();
        workload.run(mounted.at(), files, reads)?;
        figures.push((*name, begin.elapsed().as_secs_f64()));
    }
    Ok(Outcome::of(&figures))
}

impl Workload {
    fn run(self, at: &Path, files: &[File], reads: usize) -> Result<(), String> {
        match self {
            Self::Sequential(count) => by(count, &large(files), |file| {
                read_through(&at.join(&file.path), file.size, READ)
            }),
            Self::Random(count) => by(count, &places(files, reads), |(file, offset)| {
                let found = read_4k(&at.join(&file.path), *offset)?.len() as u64;
                same_length(&file.path, (file.size - offset).min(4096), found)
            }),
            Self::List => list(at),
            Self::Status => by(1, &shuffled(files), |file| read_attributes(at, file)),
        }
    }
}

fn large(files: &[File]) -> Vec<&File> {
    let large: Vec<&File> = files.iter().filter(|file| file.size >= LARGE).collect();
    if !large.is_empty() {
        return large;
    }
    let mut largest: Vec<&File> = files.iter().collect();
    largest.sort_by_key(|file| std::cmp::Reverse(file.size));
    largest.truncate(LARGEST);
    largest
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_workloads_run_and_wrong_lengths_are_errors() {
        let dir = crate::workspace::target().join(format!("serve-{}", std::process::id()));
        fs::create_dir_all(dir.join("sub")).unwrap();
        fs::write(dir.join("sub/a"), vec![1; 3 << 20]).unwrap();
        fs::write(dir.join("b"), b"short").unwrap();
        let mut files = Set::open("s".into(), &dir).unwrap().files;
        for (name, workload) in WORKLOADS {
            assert_eq!(workload.run(&dir, &files, 50), Ok(()), "{name}");
        }
        assert_eq!(large(&files).len(), 1);
        assert_eq!(large(&files[..1]).len(), 1);
        for file in &mut files {
            file.size += 1;
        }
        for workload in [Workload::Sequential(2), Workload::Status] {
            assert!(workload.run(&dir, &files, 50).is_err());
        }
        fs::remove_dir_all(&dir).unwrap();
        assert!(Workload::List.run(&dir, &files, 50).is_err());
    }

    #[test]
    fn each_workload_has_a_column() {
        let columns: Vec<_> = COLUMNS.iter().map(|column| column.figure).collect();
        let names: Vec<_> = WORKLOADS.iter().map(|(name, _)| *name).collect();
        assert_eq!(columns, names);
    }
}
