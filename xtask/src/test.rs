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
const LONG: [&str; 9] = [
    "vectors",
    "sinterfs_codec",
    "damaged_entries",
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

/// What Cargo has built.
#[derive(Default)]
pub struct Built {
    /// The test programs.
    pub programs: Vec<Program>,
    /// All programs, those among them that the tests run.
    pub executables: Vec<PathBuf>,
}

/// A test program that Cargo has built.
pub struct Program {
    package: PathBuf,
    name: String,
    path: PathBuf,
    /// Variables of its environment.
    pub variables: Vec<(&'static str, PathBuf)>,
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
    let failed = run_programs(build(&mut run::cargo(), &[])?.programs)?;
    if !failed.is_empty() {
        return Err(format!("failed: {}", failed.join(", ")));
    }
    run::cargo_with("doctests", &["test", "--workspace", "--doc"], &[])?;
    python::test()
}

/// Runs test programs, those apart that have to be alone, and returns the titles of those that
/// failed.
pub fn run_programs(programs: Vec<Program>) -> Result<Vec<String>, String> {
    let (alone, together): (Vec<_>, Vec<_>) = programs
        .into_iter()
        .partition(|program| program.is_one_of(&ALONE));
    let cores = available_parallelism().map_or(1, usize::from);
    Ok([run_all(together, cores)?, run_all(alone, 1)?].concat())
}

/// Builds the test programs that arguments of Cargo's choose, by default all of the workspace, and
/// returns them, those that take long first.
pub fn build(cargo: &mut Command, chosen: &[String]) -> Result<Built, String> {
    println!("== build the tests");
    cargo.args(["test", "--no-run"]);
    if chosen.is_empty() {
        cargo.arg("--workspace");
    }
    cargo.args(chosen);
    cargo.arg("--message-format=json-render-diagnostics");
    cargo.stderr(Stdio::inherit());
    let messages = run::output(cargo)?;
    let mut built = Built::default();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).map_err(|e| format!("cargo: {e}"))?;
        built.programs.extend(program(&message));
        let executable = message["executable"].as_str();
        built.executables.extend(executable.map(PathBuf::from));
    }
    if built.programs.is_empty() {
        return Err("cargo has built no tests".into());
    }
    let is_short = |program: &Program| !program.is_one_of(&LONG);
    built.programs.sort_by_key(is_short);
    Ok(built)
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
        variables: Vec::new(),
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
        .envs(program.variables.iter().map(|(name, value)| (name, value)))
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
