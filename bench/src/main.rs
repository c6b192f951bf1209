//! `bench`: what ours and its peers take, in turn, on the same data; and whether claims hold.
//!
//! Enters sets (directories) and peers found on this machine; leaves results in target/bench,
//! tables on the terminal and, if asked, docs/benchmarks.md. **Invariant:** results are kept as
//! soon as they are there, a peer that fails is told and skipped, and nothing fails on a clock.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for the terminal"
)]

mod cases;
mod harness;
mod micro;
mod options;
mod report;
mod results;
mod runner;
mod tools;
mod workspace;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::workspace::{self as commands, Outcome};
use cases::parts::Bench;
use cases::{ablate, erofs, mounts, scale};
use harness::{interrupt, machine, sets, shell};
use options::Options;
use report::document;
use results::Store;
use tools::installed::Tools;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((first, words)) = words.split_first()
        && first == "bench-child"
    {
        return shell::child(words);
    }
    match bench(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Measures what is asked for, then shows all results so far.
fn bench(words: &[String]) -> Outcome {
    match words.split_first() {
        Some((first, words)) if first == "erofs" => return erofs::bench(words),
        Some((first, words)) if first == "mounts" => return mounts::bench(words),
        _ => {}
    }
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{}", options::USAGE);
        return Ok(());
    }
    let options = options::parse(words)?;
    if let Some(args) = &options.micro {
        return micro::micro(args);
    }
    let results = commands::target().join("bench");
    let work = options.work.clone().unwrap_or_else(|| results.clone());
    for dir in [&results, &work] {
        std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    let store = Store::new(results.join("results.jsonl"));
    if options.fresh {
        store.set_aside()?;
    }
    // what was measured before an error is worth showing, too
    let measured = if options.render {
        Ok(())
    } else {
        compare(&options, &store, work)
    };
    let mut records = store.load()?;
    if options.render && !options.sets.is_empty() {
        records.retain(|record| options.sets.contains(&record.subject.set));
    }
    let report = document::report(&results::cells(&records));
    println!("\n{}\nresults: {}", report.text, store.path().display());
    if options.write {
        report.write(&commands::root().join("docs"))?;
        println!("written: docs/benchmarks.md");
    }
    measured
}

fn compare(options: &Options, store: &Store, work: std::path::PathBuf) -> Outcome {
    let sets = sets::find(options)?;
    let sinter = match &options.sinter {
        Some(sinter) => sinter
            .canonicalize()
            .map_err(|e| format!("{}: {e}", sinter.display()))?,
        None => commands::sinter()?,
    };
    let tools = Tools::find(options, &sinter)?;
    interrupt::catch()?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let bench = Bench {
        options,
        tools: &tools,
        store,
        log: work.join("last.log"),
        work,
        call: since.map_or(0, |since| since.as_secs()),
        machine: machine::describe(),
    };
    if options.scale {
        return scale::measure(&bench, &sets);
    }
    for set in &sets {
        if options.ablate {
            ablate::measure(&bench, set)?;
        } else {
            bench.measure(set)?;
        }
    }
    Ok(())
}
