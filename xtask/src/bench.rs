//! `bench DIR [ROUNDS]`: sizes, times and memory of ours and of the peers at hand, in turn.
//!
//! Every round runs each command once, one after the other, so that a noisy machine hits all of
//! them; the medians are shown, and ratios to the first row of the table. Peers: `tar | zstd`
//! always, upstream's DwarFS tools where SINTER_PEER_DWARFS names their directory.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::run::{self, Outcome};

/// One command line of a comparison.
struct Entry {
    name: String,
    shell: String,
    /// What it writes, for the size; removed before each run.
    result: PathBuf,
}

/// What one run took.
#[derive(Clone, Copy)]
struct Run {
    wall: f64,
    cpu: f64,
    rss: f64,
    size: f64,
}

/// Compares building and extracting on one directory.
pub fn bench(args: &[String]) -> Outcome {
    let dir = args.first().ok_or("usage: bench DIR [ROUNDS]")?;
    let dir = std::fs::canonicalize(dir).map_err(|e| format!("{dir}: {e}"))?;
    let rounds = args
        .get(1)
        .map_or(Ok(3), |n| n.parse().map_err(|_| "ROUNDS: a number"))?;
    let sinter = run::sinter()?;
    let work = run::target().join("bench");
    std::fs::create_dir_all(&work).map_err(|e| e.to_string())?;

    compare("build", &builds(&dir, &sinter, &work), rounds)?;
    compare("extract", &extractions(&sinter, &work), rounds)
}

fn builds(dir: &Path, sinter: &Path, work: &Path) -> Vec<Entry> {
    let (dir, sinter) = (dir.display(), sinter.display());
    let mut entries = Vec::new();
    let mut entry = |name: String, result: &str, shell: &dyn Fn(&Path) -> String| {
        let result = work.join(result);
        entries.push(Entry {
            name,
            shell: shell(&result),
            result,
        });
    };
    for level in [7, 9] {
        entry(
            format!("sinter -l{level}"),
            &format!("ours-{level}.dwarfs"),
            &|out| {
                format!(
                    "{sinter} build --quiet -l{level} {dir} -o {}",
                    out.display()
                )
            },
        );
    }
    entry("tar | zstd -19".into(), "tar.zst", &|out| {
        format!(
            "tar -C {dir} -c . | zstd -q -19 --long=27 -T2 -o {}",
            out.display()
        )
    });
    if let Some(peer) = peer() {
        for level in [7, 9] {
            entry(
                format!("mkdwarfs -l{level}"),
                &format!("peer-{level}.dwarfs"),
                &|out| {
                    format!(
                        "{}/mkdwarfs --log-level=error --no-progress --with-devices --with-specials -l{level} -i {dir} -o {}",
                        peer.display(),
                        out.display()
                    )
                },
            );
        }
    }
    entries
}

fn extractions(sinter: &Path, work: &Path) -> Vec<Entry> {
    let at = |name: &str| work.join(name).display().to_string();
    let out = work.join("extracted");
    let mut entries = vec![
        Entry {
            name: "sinter extract -l7".into(),
            shell: format!(
                "{} extract --quiet {} -o {}",
                sinter.display(),
                at("ours-7.dwarfs"),
                out.display()
            ),
            result: out.clone(),
        },
        Entry {
            name: "zstd -d | tar".into(),
            shell: format!(
                "mkdir {0} && zstd -q -d --long=27 -c {1} | tar -C {0} -xp",
                out.display(),
                at("tar.zst")
            ),
            result: out.clone(),
        },
    ];
    if let Some(peer) = peer() {
        entries.push(Entry {
            name: "dwarfsextract -l7".into(),
            shell: format!(
                "mkdir {1} && {2}/dwarfsextract --log-level=error -i {0} -o {1}",
                at("peer-7.dwarfs"),
                out.display(),
                peer.display()
            ),
            result: out,
        });
    }
    entries
}

fn peer() -> Option<PathBuf> {
    std::env::var_os("SINTER_PEER_DWARFS").map(PathBuf::from)
}

fn compare(what: &str, entries: &[Entry], rounds: usize) -> Outcome {
    let mut runs = vec![Vec::new(); entries.len()];
    for _ in 0..rounds {
        for (entry, runs) in entries.iter().zip(&mut runs) {
            runs.push(measure(entry)?);
        }
    }
    println!("\n{what}, medians of {rounds}; in brackets: ratio to the first row");
    println!(
        "{:<20} {:>18} {:>16} {:>16} {:>18}",
        "", "MB", "wall s", "CPU s", "peak MB"
    );
    let median = |runs: &[Run], of: fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let figures: [fn(&Run) -> f64; 4] = [|r| r.size / 1e6, |r| r.wall, |r| r.cpu, |r| r.rss / 1e6];
    for (entry, own) in entries.iter().zip(&runs) {
        print!("{:<20}", entry.name);
        for (figure, width) in figures.iter().zip([18, 16, 16, 18]) {
            let (value, first) = (median(own, *figure), median(&runs[0], *figure));
            let shown = match first {
                0.0 => "-".to_owned(),
                first => format!("{value:.2} ({:.2})", value / first),
            };
            print!(" {shown:>width$}");
        }
        println!();
    }
    Ok(())
}

fn measure(entry: &Entry) -> Result<Run, String> {
    let _ = std::fs::remove_file(&entry.result);
    let _ = std::fs::remove_dir_all(&entry.result);
    // a child of its own per run: the kernel's figures for waited-for children add up
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(exe)
        .args(["bench-child", &entry.shell])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().last().unwrap_or_default();
    let figures: Vec<f64> = line
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [wall, cpu, rss] = figures[..] else {
        return Err(format!("{} failed: {text}", entry.name));
    };
    let size = std::fs::metadata(&entry.result)
        .map_or(0.0, |m| if m.is_file() { m.len() as f64 } else { 0.0 });
    Ok(Run {
        wall,
        cpu,
        rss,
        size,
    })
}

/// Runs one shell command and prints wall seconds, CPU seconds and peak bytes.
pub fn child(args: &[String]) -> ExitCode {
    let start = Instant::now();
    let status = Command::new("bash")
        .args(["-o", "pipefail", "-c", &args.concat()])
        .status();
    let wall = start.elapsed().as_secs_f64();
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return ExitCode::FAILURE;
    };
    if !status.is_ok_and(|s| s.success()) {
        return ExitCode::FAILURE;
    }
    let cpu = (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6;
    println!("{wall} {cpu} {}", usage.max_rss() * 1024);
    ExitCode::SUCCESS
}
