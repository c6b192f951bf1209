//! `bench`: what `sinter` and other tools take for the same data, in turn, and whether claims hold.
//!
//! Enters sets (directories) and tools found on this machine; leaves results in target/bench,
//! tables on the terminal and, if asked, docs/benchmarks.md. **Invariant:** each result is stored
//! as soon as it is measured, a tool that fails is reported and left out, and nothing fails on a
//! clock.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for the terminal"
)]

mod bench;
mod case;
mod cases;
mod harness;
mod micro;
mod options;
mod recipe;
mod report;
mod results;
mod runner;
mod tables;
mod tools;
mod workspace;

use std::process::ExitCode;

use bench::Bench;
use case::Case;
use harness::{interrupt, sets, shell, tar_stream};
use options::BenchOptions;
use report::document::{self, Notes};
use results::{Store, cells, load_file, merged};
use workspace::Outcome;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (first, rest) = match words.split_first() {
        Some((first, rest)) => (first.as_str(), rest),
        None => ("", &[][..]),
    };
    let outcome = match first {
        shell::CHILD => return shell::child(rest),
        tar_stream::CHILD => return tar_stream::child(rest),
        "micro" => micro::micro(rest),
        _ if words.iter().any(|word| word == "--help" || word == "-h") => {
            print!("{}", options::USAGE);
            Ok(())
        }
        _ => options::parse(&words).and_then(|options| bench(&options)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Measures a suite, then shows all results so far.
fn bench(options: &BenchOptions) -> Outcome {
    let results = workspace::target().join("bench");
    std::fs::create_dir_all(&results).map_err(|e| format!("{}: {e}", results.display()))?;
    let store = Store::new(results.join("results.jsonl"));
    if options.fresh {
        store.set_aside()?;
    }
    // results measured before an error are shown, too
    let measured = measure(options, &store);
    let docs = workspace::root().join("docs");
    let own = store.load()?;
    let all = merged(load_file(&docs.join(document::DATA))?, &own);
    let mut shown = if options.suite == "render" {
        all.clone()
    } else {
        own
    };
    if options.suite == "render" && !options.sets.is_empty() {
        shown.retain(|record| options.sets.contains(&record.subject.set));
    }
    println!(
        "\n{}",
        document::report(&cells(&shown), &Notes::default()).text
    );
    println!("results: {}", store.path().display());
    if options.write {
        let report = document::report(&cells(&all), &document::notes(&docs)?);
        report.write(&docs, &cells(&all))?;
        println!("written: docs/benchmarks.md");
    }
    measured
}

fn measure(options: &BenchOptions, store: &Store) -> Outcome {
    let suite = cases::suite(&options.suite);
    let wanted = |case: &&&dyn Case| {
        options.only.is_empty() || options.only.iter().any(|name| name == case.name())
    };
    let chosen: Vec<&dyn Case> = suite.iter().filter(wanted).copied().collect();
    if let Some(unknown) = options
        .only
        .iter()
        .find(|name| !suite.iter().any(|c| c.name() == **name))
    {
        let known: Vec<_> = suite.iter().map(|case| case.name()).collect();
        return Err(format!(
            "--only: `{unknown}` is none of {}",
            known.join(", ")
        ));
    }
    if chosen.is_empty() {
        return Ok(());
    }
    let sinter = match &options.sinter {
        Some(sinter) => sinter
            .canonicalize()
            .map_err(|e| format!("{}: {e}", sinter.display()))?,
        None => workspace::sinter()?,
    };
    let bench = Bench::new(options, &sinter, store)?;
    interrupt::catch()?;
    for case in chosen {
        if case.needs_root() && !workspace::is_root()? {
            return Err("only root may mount images with the kernel's drivers".into());
        }
        case.run(&bench, &sets::find(options, case.usual_sets())?)?;
    }
    Ok(())
}
