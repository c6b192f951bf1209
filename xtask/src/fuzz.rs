//! `fuzz`: mutates images, at random or led by coverage.
//!
//! In: a number of seconds, or a target of `fuzz/` and one. **Invariant:** coverage needs nothing
//! but the stable compiler; corpora and artifacts are below `fuzz/` and not in the repository.

use std::path::Path;
use std::process::Command;

use xtask::run::{self, Outcome};

/// What makes libFuzzer see which branches an input takes, as cargo-fuzz asks for it.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1 --cfg fuzzing";

/// Runs a target for so many seconds; without a target, the mutation test.
pub fn fuzz(arguments: &[String]) -> Outcome {
    match arguments.first().map(String::as_str) {
        None => mutate("60"),
        Some(seconds) if seconds.bytes().all(|byte| byte.is_ascii_digit()) => mutate(seconds),
        Some(target) => led_by_coverage(target, arguments.get(1).map_or("60", String::as_str)),
    }
}

/// Runs the mutation test of the readers for longer than a normal test run does.
fn mutate(seconds: &str) -> Outcome {
    let test = ["test", "--release", "-p", "sinterfs", "--test", "mutation"];
    let mut command = run::cargo();
    command.args(test).args(["--", "--nocapture"]);
    command.env("SINTER_FUZZ_SECONDS", seconds);
    run::run("fuzz", &mut command)
}

fn led_by_coverage(target: &str, seconds: &str) -> Outcome {
    let dir = run::root().join("fuzz");
    if !dir
        .join("fuzz_targets")
        .join(format!("{target}.rs"))
        .is_file()
    {
        return Err(format!("no target {target} in fuzz/fuzz_targets"));
    }
    let corpus = dir.join("corpus").join(target);
    seed(target, &corpus)?;
    let mut command = run::cargo();
    command.current_dir(&dir).env("RUSTFLAGS", COVERAGE);
    // with a target, flags are not those of build scripts, which libFuzzer is not linked to
    let host = host()?;
    command.args(["run", "--release", "--target", &host, "--bin", target, "--"]);
    command.arg(&corpus);
    command.args(["-max_len=262144", "-rss_limit_mb=512", "-timeout=5"]);
    command.arg(format!("-max_total_time={seconds}"));
    let artifacts = dir.join("artifacts").join(target);
    std::fs::create_dir_all(&artifacts).map_err(|error| error.to_string())?;
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    run::run(&format!("fuzz {target}"), &mut command)
}

/// Returns the name of this machine's target, as the compiler knows it.
fn host() -> Result<String, String> {
    let version = run::output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc names no host".to_owned())
}

/// Copies the seeds of a target into its corpus, which grows.
fn seed(target: &str, corpus: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("the corpus: {error}");
    std::fs::create_dir_all(corpus).map_err(failed)?;
    let seeds = run::root().join("fuzz/seeds").join(target);
    for entry in std::fs::read_dir(seeds).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        std::fs::copy(entry.path(), corpus.join(entry.file_name())).map_err(failed)?;
    }
    Ok(())
}
