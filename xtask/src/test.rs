//! `test`: every test program of the workspace, some at once, then doctests and the Python package.
//!
//! Enters what Cargo says it has built; leaves the output of each program, whole, as it ends, and a
//! list of those that failed. Cargo alone runs one program after the other, and many of them wait
//! for mounts, servers and single threads. **Invariant:** every program that Cargo would run is
//! run, in the same directory; one that cannot be started is a failure.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, available_parallelism};
use std::time::Instant;

use serde_json::Value;
use xtask::{python, run};

/// Programs that take minutes: begun first, so that none of them is left at the end.
const LONG: [&str; 8] = [
    "vectors",
    "sinterfs_block",
    "soak",
    "erofs_extended",
    "archives",
    "erofs_build",
    "package",
    "programs",
];

/// Programs that are run alone: they make a copy of the list of mounts, and a mount of another test
/// that is in it stays busy.
const ALONE: [&str; 2] = ["fstab", "reliability"];

/// A program that Cargo has built.
struct Program {
    package: PathBuf,
    name: String,
    path: PathBuf,
}

impl Program {
    fn is_one_of(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    fn title(&self) -> String {
        let package = self.package.file_name().unwrap_or_default();
        format!("{}/{}", package.to_string_lossy(), self.name)
    }
}

/// Runs the tests of the whole workspace and those of the Python package; arguments are Cargo's,
/// which then runs what they choose.
pub fn test(more: &[String]) -> run::Outcome {
    if !more.is_empty() {
        return run::cargo_with("test", &["test", "--workspace"], more);
    }
    let (alone, together): (Vec<_>, Vec<_>) = build()?
        .into_iter()
        .partition(|program| program.is_one_of(&ALONE));
    let cores = available_parallelism().map_or(1, usize::from);
    let failed = [run_all(together, cores)?, run_all(alone, 1)?].concat();
    if !failed.is_empty() {
        return Err(format!("failed: {}", failed.join(", ")));
    }
    run::cargo_with("doctests", &["test", "--workspace", "--doc"], &[])?;
    python::test()
}

/// Builds all test programs and returns them, those that take long first.
fn build() -> Result<Vec<Program>, String> {
    println!("== build the tests");
    let mut cargo = run::cargo();
    cargo.args(["test", "--workspace", "--no-run"]);
    cargo.arg("--message-format=json-render-diagnostics");
    cargo.stderr(Stdio::inherit());
    let messages = run::output(&mut cargo)?;
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).map_err(|e| format!("cargo: {e}"))?;
        programs.extend(program(&message));
    }
    if programs.is_empty() {
        return Err("cargo has built no tests".into());
    }
    programs.sort_by_key(|program| !program.is_one_of(&LONG));
    Ok(programs)
}

/// Returns the test program that a message of Cargo is about.
fn program(message: &Value) -> Option<Program> {
    if message["profile"]["test"] != true {
        return None;
    }
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    Some(Program {
        package: manifest.parent()?.to_owned(),
        name: message["target"]["name"].as_str()?.to_owned(),
        path: message["executable"].as_str()?.into(),
    })
}

/// Runs programs, `at_once` of them at a time, and returns the titles of those that failed; fails
/// if no thread can be started.
fn run_all(programs: Vec<Program>, at_once: usize) -> Result<Vec<String>, String> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let failed = Mutex::new(Vec::new());
    let work = || {
        let next = || lock(&waiting).pop_front();
        while let Some(program) = next() {
            if !passes(&program) {
                lock(&failed).push(program.title());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_once {
            thread::Builder::new().spawn_scoped(scope, work)?;
        }
        Ok(())
    })
    .map_err(|error: io::Error| format!("no thread: {error}"))?;
    Ok(failed.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program and prints what it wrote.
fn passes(program: &Program) -> bool {
    let begin = Instant::now();
    let mut command = Command::new(&program.path);
    command
        .current_dir(&program.package)
        .env("CARGO_MANIFEST_DIR", &program.package)
        .stdin(Stdio::null());
    let output = command.output();
    let seconds = begin.elapsed().as_secs();
    let (passed, text) = match output {
        Ok(output) => (output.status.success(), words(&output)),
        Err(error) => (false, format!("{}: {error}\n", program.path.display())),
    };
    let title = program.title();
    let ended = if passed { "" } else { " FAILED" };
    // one call: programs end at the same time
    print!("== {title} ({seconds} s){ended}\n{text}");
    passed
}

/// Returns what a program wrote; of tests that passed only the sum.
fn words(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let says = |line: &&str| {
        let is_dull = line.is_empty() || line.starts_with("running ") || line.ends_with("... ok");
        !output.status.success() || !is_dull
    };
    text.lines()
        .filter(says)
        .flat_map(|line| [line, "\n"])
        .collect()
}
