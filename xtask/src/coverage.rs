//! `coverage`: which lines of each crate the tests run, by LLVM's counters.
//!
//! Enters what chooses tests, as Cargo's arguments; leaves a table on standard output and, in
//! `target/coverage/lines.txt`, each line with how often it ran. **Invariant:** only our crates are
//! instrumented, and everything is below `target/coverage`, so that no other build is in the way.
//!
//! A process that is killed leaves no counts, and neither does a test in another user's name that
//! may not write there: the figures are lower bounds.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use xtask::run::{self, Outcome};

use crate::test::{self, Built};

/// Packages whose programs measure, pack or check, and what is tested by Python.
const LEFT_OUT: [&str; 5] = [
    "sinterfs-bench",
    "sinterfs-dist",
    "sinterfs-python",
    "sinterfs-tidy",
    "xtask",
];

/// Lines with code, and how many of them ran.
#[derive(Default, Clone, Copy)]
struct Lines {
    all: u64,
    ran: u64,
}

impl Lines {
    fn add(&mut self, more: Self) {
        self.all += more.all;
        self.ran += more.ran;
    }

    /// Returns the cells of a row of the table.
    fn cells(self) -> String {
        let missing = self.all - self.ran;
        let tenths = (self.ran * 1000).checked_div(self.all).unwrap_or(0);
        let (whole, tenth) = (tenths / 10, tenths % 10);
        format!("{} | {missing} | {whole}.{tenth} %", self.all)
    }
}

/// Builds tests with counters, runs them and prints what they covered; `chosen` are arguments of
/// `cargo test` that choose packages and programs.
pub fn coverage(chosen: &[String]) -> Outcome {
    let dir = run::target().join("coverage");
    let profiles = dir.join("profiles");
    let failed = |error: std::io::Error| format!("{}: {error}", profiles.display());
    if profiles.exists() {
        fs::remove_dir_all(&profiles).map_err(failed)?;
    }
    fs::create_dir_all(&profiles).map_err(failed)?;
    // tests run the program in other users' names, too
    fs::set_permissions(&profiles, fs::Permissions::from_mode(0o1777)).map_err(failed)?;

    // up to four processes of a program add their counts to a file each
    let counts = profiles.join("%4m.profraw");
    let mut built = build(&dir, &counts, chosen)?;
    for program in &mut built.programs {
        program
            .variables
            .push(("LLVM_PROFILE_FILE", counts.clone()));
    }
    let broken = test::run_programs(std::mem::take(&mut built.programs))?;
    report(&dir, &profiles, &built.executables)?;
    if broken.is_empty() {
        Ok(())
    } else {
        Err(format!("failed: {}", broken.join(", ")))
    }
}

/// Builds the tests with counters in our own crates.
fn build(dir: &Path, counts: &Path, chosen: &[String]) -> Result<Built, String> {
    let mut cargo = run::cargo();
    cargo
        .env("CARGO_TARGET_DIR", dir)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper(dir)?)
        // tools that Cargo builds and runs have counters, too
        .env("LLVM_PROFILE_FILE", counts);
    let mut arguments = chosen.to_vec();
    if chosen.is_empty() {
        arguments.push("--workspace".into());
        arguments.extend(LEFT_OUT.map(|package| format!("--exclude={package}")));
    }
    test::build(&mut cargo, &arguments)
}

/// Writes the script that Cargo calls for the compiler of our crates.
fn wrapper(dir: &Path) -> Result<PathBuf, String> {
    let path = dir.join("instrument");
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    // Cargo builds everything anew after a change of this file
    if !path.exists() {
        fs::write(&path, "#!/bin/sh\nexec \"$@\" -Cinstrument-coverage\n").map_err(failed)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    Ok(path)
}

/// Returns a tool of LLVM's that came with the compiler.
fn tool(name: &str) -> Result<Command, String> {
    let words = run::output(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let dir = Path::new(words.trim()).with_file_name("bin");
    let path = dir.join(name);
    if path.exists() {
        Ok(Command::new(path))
    } else {
        Err(format!("no {name}: `rustup component add llvm-tools`"))
    }
}

/// Adds up the counts, prints the table, and writes each line with its count.
fn report(dir: &Path, profiles: &Path, executables: &[PathBuf]) -> Outcome {
    let merged = dir.join("tests.profdata");
    let mut merge = tool("llvm-profdata")?;
    // a process that was killed as it wrote leaves a file that cannot be read
    merge
        .args(["merge", "-sparse", "-failure-mode=all"])
        .arg(profiles);
    run::run("add up the counts", merge.arg("-o").arg(&merged))?;

    let summary = run::output(cov("export", &merged, executables)?.arg("-summary-only"))?;
    let summary: Value = serde_json::from_str(&summary).map_err(|e| format!("llvm-cov: {e}"))?;
    print_table(&summary);

    let lines = dir.join("lines.txt");
    let file = fs::File::create(&lines).map_err(|e| format!("{}: {e}", lines.display()))?;
    let mut show = cov("show", &merged, executables)?;
    let title = format!("each line with its count: {}", lines.display());
    run::run(&title, show.stdout(Stdio::from(file)))
}

/// Starts a command of llvm-cov for the files of the crates, without their tests.
fn cov(verb: &str, merged: &Path, executables: &[PathBuf]) -> Result<Command, String> {
    let mut command = tool("llvm-cov")?;
    let others = "/(tests|testkit|benches|examples)(/|\\.rs)|/(rustc|registry|fuzz)/";
    command.arg(verb).arg("-instr-profile").arg(merged);
    command.arg(format!("-ignore-filename-regex={others}"));
    for executable in executables {
        command.arg("-object").arg(executable);
    }
    Ok(command)
}

/// Prints the lines of each crate.
fn print_table(summary: &Value) {
    let mut crates = BTreeMap::<String, Lines>::new();
    for file in summary["data"][0]["files"].as_array().into_iter().flatten() {
        let name = file["filename"].as_str().and_then(crate_of);
        let lines = &file["summary"]["lines"];
        let (all, ran) = (lines["count"].as_u64(), lines["covered"].as_u64());
        if let (Some(name), Some(all), Some(ran)) = (name, all, ran) {
            let entry = crates.entry(name.to_owned()).or_default();
            entry.add(Lines { all, ran });
        }
    }
    println!("| crate | lines | not run | run |\n|---|---:|---:|---:|");
    let mut total = Lines::default();
    for (name, lines) in crates {
        println!("| `{name}` | {} |", lines.cells());
        total.add(lines);
    }
    println!("| all | {} |", total.cells());
}

/// Returns the crate of a file below `crates`.
fn crate_of(path: &str) -> Option<&str> {
    let (_, below) = path.rsplit_once("/crates/")?;
    below.split_once("/src/").map(|(name, _)| name)
}
