//! What is done with a mount, by one and by several at once.
//!
//! **Invariant:** what is read has the length that it has in the set, and all mounts are asked for the same in the
//! same order.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cases::served::{by, same_length, shuffled};
use crate::cases::setting::Setting;
use crate::harness::interrupt;
use crate::harness::mounted::places;
use crate::harness::sets::{self, File, Set};
use crate::tools::peers::quoted;

/// How many files are "some".
const SOME: usize = 500;
/// How many reads of 4 KiB the largest file gets.
const READS: usize = 2000;
/// Bytes of the largest file that are read through.
const LARGE: u64 = 200 << 20;

/// What is known of a set beforehand.
pub struct Tree {
    pub files: Vec<File>,
    largest: File,
    /// Programs `perl` that run here.
    programs: Vec<PathBuf>,
}

/// What is done.
#[derive(Debug, Clone, Copy)]
pub enum Row {
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

/// All rows.
pub const ROWS: [Row; 12] = [
    Row::List,
    Row::Status(1),
    Row::Status(4),
    Row::Tar,
    Row::Some(1),
    Row::Some(4),
    Row::All(1),
    Row::All(4),
    Row::Random,
    Row::Sequential,
    Row::Search,
    Row::Programs,
];

impl Tree {
    pub fn of(set: &Set) -> Result<Self, String> {
        let files = sets::files(&set.dir)?;
        let largest = files.iter().max_by_key(|file| file.size);
        let largest = largest.ok_or_else(|| format!("{}: no files", set.name))?;
        let programs = files.iter().map(|file| &file.path);
        let programs = programs.filter(|path| path.ends_with("bin/perl"));
        Ok(Self {
            largest: largest.clone(),
            programs: programs
                .filter(|path| runs(&set.dir.join(path)))
                .cloned()
                .collect(),
            files,
        })
    }
}

fn runs(program: &Path) -> bool {
    let may = fs::metadata(program).is_ok_and(|status| status.permissions().mode() & 0o100 != 0);
    let mut command = Command::new(program);
    command.args(["-e", "1"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    may && command.status().is_ok_and(|status| status.success())
}

impl Row {
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
            Self::Programs => "programs of perl".into(),
        }
    }

    pub fn is_possible(self, tree: &Tree) -> bool {
        !matches!(self, Self::Programs) || !tree.programs.is_empty()
    }

    /// Does it; gives the seconds, nothing if it took too long.
    pub fn run(self, setting: &Setting, at: &Path, tree: &Tree) -> Result<Option<f64>, String> {
        let place = quoted(at);
        let command = |line: String| {
            let cost = setting.shell().run_within(&line)?;
            Ok(cost.map(|cost| cost.wall))
        };
        match self {
            Self::List => command(format!("LC_ALL=C ls -lR {place} >/dev/null")),
            // to /dev/null itself it would not read
            Self::Tar => command(format!("tar -cf - -C {place} . | cat >/dev/null")),
            // nothing found is told as failure
            Self::Search => command(format!(
                "LC_ALL=C grep -rc 'not in any file, surely' {place} >/dev/null 2>&1 || true"
            )),
            Self::Programs => command(programs(at, tree)),
            _ => {
                let limit = Duration::from_secs(setting.options.limit);
                read(self, at, tree, limit)
            }
        }
    }
}

fn programs(at: &Path, tree: &Tree) -> String {
    let run = |program: &PathBuf| {
        let program = quoted(&at.join(program));
        format!("{program} -e 'use strict; use POSIX; use File::Find; 1' 2>/dev/null || true\n")
    };
    tree.programs.iter().map(run).collect()
}

/// Does what needs no program, until it takes too long.
fn read(row: Row, at: &Path, tree: &Tree, limit: Duration) -> Result<Option<f64>, String> {
    let start = Instant::now();
    let late = || start.elapsed() > limit;
    let whole = |file: &&File| if late() { Ok(()) } else { read_whole(at, file) };
    let order = shuffled(&tree.files);
    match row {
        Row::Status(count) => by(count, &order, |file| {
            let status = fs::symlink_metadata(at.join(&file.path));
            let status = status.map_err(|e| format!("{}: {e}", file.path.display()))?;
            same_length(&file.path, file.size, status.len())
        }),
        Row::Some(count) => by(count, &order[..order.len().min(SOME)], whole),
        Row::All(count) => by(count, &order, whole),
        Row::Random => {
            let one = std::slice::from_ref(&tree.largest);
            let path = at.join(&tree.largest.path);
            let error = |e: std::io::Error| format!("{}: {e}", path.display());
            let file = fs::File::open(&path).map_err(error)?;
            by(1, &places(one, READS), |(_, place)| match late() {
                true => Ok(()),
                false => file
                    .read_at(&mut [0; 4096], *place)
                    .map(drop)
                    .map_err(error),
            })
        }
        _ => sequential(&at.join(&tree.largest.path), tree.largest.size, late),
    }?;
    interrupt::check()?;
    Ok((!late()).then(|| start.elapsed().as_secs_f64()))
}

fn read_whole(at: &Path, file: &File) -> Result<(), String> {
    interrupt::check()?;
    let path = at.join(&file.path);
    let error = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut open = fs::File::open(&path).map_err(error)?;
    let mut buffer = vec![0; 128 << 10];
    let mut total = 0;
    loop {
        match open.read(&mut buffer).map_err(error)? {
            0 => return same_length(&path, file.size, total),
            len => total += len as u64,
        }
    }
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
