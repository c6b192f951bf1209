//! Workloads of a mount, by one and by several readers.
//!
//! **Invariant:** every length is compared with the set, and all mounts get the same requests in
//! the same order.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::harness::interrupt;
use crate::harness::mounted::places;
use crate::harness::readers::{by, read_attributes, read_through, same_length, shuffled};
use crate::harness::sets::{File, Set};
use crate::tools::command::quoted;

/// Number of files of the workloads of some files.
const SOME: usize = 500;
/// Number of reads of 4 KiB of the largest file.
const READS: usize = 2000;
/// Bytes that a reader of whole files reads at once.
const UNIT: usize = 128 << 10;
/// Bytes of the largest file that are read in order.
const LARGE: u64 = 200 << 20;

/// Programs that are started, by the end of their path, with arguments that make them read some of
/// their own files.
const PROGRAMS: [(&str, &str); 5] = [
    // on standard input: `-e` reads /dev/null, which sets do not have
    ("bin/perl", "<<< 'use strict; use POSIX; use File::Temp; 1'"),
    (
        "bin/python3",
        "-c 'import json, email.mime.text, http.client'",
    ),
    ("bin/go", "version"),
    ("bin/rustc", "--version"),
    ("typescript/bin/tsc", "--version"),
];

/// What workloads need of a set.
pub struct WorkloadFiles {
    pub files: Vec<File>,
    largest: File,
    /// Interpreters and compilers in it that run here.
    programs: Vec<Program>,
}

/// A program of a set.
struct Program {
    path: PathBuf,
    args: &'static str,
    /// Whether the set is a whole system: the program runs in it, with the system's libraries.
    is_system: bool,
}

/// What is done with a mount.
#[derive(Debug, Clone, Copy)]
pub enum Workload {
    List,
    Status(usize),
    Tar,
    Some(usize),
    All(usize),
    Random,
    Sequential,
    Search,
    Programs,
}

/// All workloads, in the order of tables.
pub const WORKLOADS: [Workload; 12] = [
    Workload::List,
    Workload::Status(1),
    Workload::Status(4),
    Workload::Tar,
    Workload::Some(1),
    Workload::Some(4),
    Workload::All(1),
    Workload::All(4),
    Workload::Random,
    Workload::Sequential,
    Workload::Search,
    Workload::Programs,
];

impl WorkloadFiles {
    pub fn of(set: &Set) -> Result<Self, String> {
        let files = set.files.clone();
        let largest = files.iter().max_by_key(|file| file.size);
        let largest = largest.ok_or_else(|| format!("{}: no files", set.name))?;
        // a system has libraries of its own; its loader can be a symlink that is valid in it alone
        let loader = set.dir.join("lib64/ld-linux-x86-64.so.2");
        let is_system = fs::symlink_metadata(loader).is_ok();
        let known = |(end, args): &(&str, &'static str)| {
            // often a symlink, which is no file of the set
            let mut paths: Vec<PathBuf> = vec![end.into(), Path::new("usr").join(end)];
            let named = files.iter().filter(|file| file.path.ends_with(end));
            paths.extend(named.map(|file| file.path.clone()));
            let mut programs = paths.into_iter().map(|path| Program {
                path,
                args,
                is_system,
            });
            programs.find(|program| program.runs(&set.dir))
        };
        Ok(Self {
            largest: largest.clone(),
            programs: PROGRAMS.iter().filter_map(known).collect(),
            files,
        })
    }
}

impl Program {
    /// Returns the command that starts it from a copy of the set.
    fn command(&self, at: &Path) -> String {
        let Self { path, args, .. } = self;
        if self.is_system {
            let path = quoted(&Path::new("/").join(path));
            return format!("chroot {} {path} {args} >/dev/null", quoted(at));
        }
        format!("{} {args} >/dev/null", quoted(&at.join(path)))
    }

    fn runs(&self, at: &Path) -> bool {
        let path = at.join(&self.path);
        let may = fs::metadata(path).is_ok_and(|status| status.permissions().mode() & 0o100 != 0);
        let mut command = Command::new("bash");
        command.arg("-c").arg(self.command(at));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        may && command.status().is_ok_and(|status| status.success())
    }
}

impl Workload {
    pub fn name(self) -> String {
        match self {
            Self::List => "ls -lR".into(),
            Self::Status(count) => format!("stat, shuffled, by {count}"),
            Self::Tar => "tar".into(),
            Self::Some(count) => format!("{SOME} files, by {count}"),
            Self::All(count) => format!("all files, shuffled, by {count}"),
            Self::Random => "4 KiB at random in the largest file".into(),
            Self::Sequential => "1 MiB in turn in the largest file".into(),
            Self::Search => "grep -r".into(),
            Self::Programs => "mount and start of programs".into(),
        }
    }

    /// Returns whether its time begins before the mount: a program that is started from an image
    /// waits for that, too.
    pub fn counts_mounting(self) -> bool {
        matches!(self, Self::Programs)
    }

    pub fn is_possible(self, tree: &WorkloadFiles) -> bool {
        !matches!(self, Self::Programs) || !tree.programs.is_empty()
    }

    /// Runs and returns the seconds, nothing if it was stopped at the limit.
    pub fn run(
        self,
        bench: &Bench<'_>,
        at: &Path,
        tree: &WorkloadFiles,
    ) -> Result<Option<f64>, String> {
        let place = quoted(at);
        let command = |line: String| {
            let cost = bench.shell().run_within(&line)?;
            Ok(cost.map(|cost| cost.wall))
        };
        match self {
            Self::List => command(format!("LC_ALL=C ls -lR {place} >/dev/null")),
            // tar does not read files if it writes to /dev/null itself
            Self::Tar => command(format!("tar -cf - -C {place} . | cat >/dev/null")),
            // grep fails if it finds nothing
            Self::Search => command(format!(
                "LC_ALL=C grep -rc 'not in any file, surely' {place} >/dev/null 2>&1 || true"
            )),
            Self::Programs => command(programs(at, tree)),
            _ => {
                let limit = Duration::from_secs(bench.options.limit);
                read(self, at, tree, limit)
            }
        }
    }
}

fn programs(at: &Path, tree: &WorkloadFiles) -> String {
    // a program that does not start is no figure
    let mut lines = vec!["set -e".to_owned()];
    lines.extend(tree.programs.iter().map(|program| program.command(at)));
    lines.join("\n")
}

/// Runs a workload that needs no program, up to the limit.
fn read(
    workload: Workload,
    at: &Path,
    tree: &WorkloadFiles,
    limit: Duration,
) -> Result<Option<f64>, String> {
    let start = Instant::now();
    let late = || start.elapsed() > limit;
    let whole = |file: &&File| {
        interrupt::check()?;
        if late() {
            return Ok(());
        }
        read_through(&at.join(&file.path), file.size, UNIT)
    };
    let order = shuffled(&tree.files);
    match workload {
        Workload::Status(count) => by(count, &order, |file| read_attributes(at, file)),
        Workload::Some(count) => by(count, &order[..order.len().min(SOME)], whole),
        Workload::All(count) => by(count, &order, whole),
        Workload::Random => {
            let one = std::slice::from_ref(&tree.largest);
            let path = at.join(&tree.largest.path);
            let error = |e: std::io::Error| format!("{}: {e}", path.display());
            let file = fs::File::open(&path).map_err(error)?;
            by(1, &places(one, READS), |(_, place)| {
                if late() {
                    return Ok(());
                }
                let read = file.read_at(&mut [0; 4096], *place);
                read.map(drop).map_err(error)
            })
        }
        _ => sequential(&at.join(&tree.largest.path), tree.largest.size, late),
    }?;
    interrupt::check()?;
    Ok((!late()).then(|| start.elapsed().as_secs_f64()))
}

fn sequential(path: &Path, size: u64, late: impl Fn() -> bool) -> Result<(), String> {
    let error = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = fs::File::open(path).map_err(error)?;
    let mut buffer = vec![0; 1 << 20];
    let (mut at, end) = (0, size.min(LARGE));
    while at < end && !late() {
        match file.read_at(&mut buffer, at).map_err(error)? {
            0 => return same_length(path, end, at),
            len => at += len as u64,
        }
    }
    Ok(())
}
