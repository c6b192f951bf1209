//! Runs one shell command: wall time, CPU time and peak memory of it and all its processes.
//!
//! The command runs below a process of its own (`bench-child`), whose figures for waited-for
//! children are then those of this command alone; that process and the command form a process
//! group, so that a command that takes too long, or that a signal interrupts, ends as a whole.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;

use crate::harness::interrupt;

/// The first argument of the process that measures a command.
pub const CHILD: &str = "bench-child";

/// What a command took.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Seconds from its start to its end.
    pub wall: f64,
    /// Seconds of user and system time, of all its processes.
    pub cpu: f64,
    /// Bytes of resident memory that its biggest process had at most.
    pub peak: f64,
}

/// Where commands run and how long they may take.
#[derive(Debug, Clone, Copy)]
pub struct Shell<'a> {
    /// The directories of programs.
    pub path: &'a OsStr,
    /// The output of commands goes here.
    pub log: &'a Path,
    /// Seconds after which a command is stopped.
    pub limit: u64,
}

impl Shell<'_> {
    /// Runs a command line and returns its cost; on failure, the end of its output.
    pub fn run(&self, command: &str) -> Result<Cost, String> {
        let cost = self.run_within(command)?;
        cost.ok_or_else(|| format!("stopped after {} s", self.limit))
    }

    /// Runs a command line and returns its cost, or nothing if it was stopped at the limit.
    pub fn run_within(&self, command: &str) -> Result<Option<Cost>, String> {
        // this very program, even if it was rebuilt in the meantime
        let mut child = self.start(Command::new("/proc/self/exe").args([CHILD, command]))?;
        let deadline = Instant::now() + Duration::from_secs(self.limit);
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
                break status;
            }
            if interrupt::asked() || Instant::now() > deadline {
                stop(&mut child);
                interrupt::check()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let output = std::fs::read(self.log).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        // the figures are the last line: nothing else is written after the command has ended
        let figures = output.lines().next_back().and_then(figures);
        match figures {
            Some(cost) if status.success() => Ok(Some(cost)),
            _ => Err(tail(&output)),
        }
    }

    /// Starts a program in a process group of its own; its output goes to the log.
    pub fn start(&self, command: &mut Command) -> Result<Child, String> {
        let log = File::create(self.log).map_err(|e| format!("{}: {e}", self.log.display()))?;
        let both = log.try_clone().map_err(|e| e.to_string())?;
        command
            .env("PATH", self.path)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(both)
            .spawn()
            .map_err(|e| e.to_string())
    }
}

/// Ends a process group that `Shell::start` made.
pub fn stop(leader: &mut Child) {
    if let Ok(id) = i32::try_from(leader.id()) {
        let _ = killpg(Pid::from_raw(id), Signal::SIGTERM);
        std::thread::sleep(Duration::from_millis(200));
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
    let _ = leader.wait();
}

/// Returns the last lines of a command's output.
pub fn tail(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(4)..].join("; ");
    if last.is_empty() {
        "it failed without output".into()
    } else {
        last
    }
}

fn figures(line: &str) -> Option<Cost> {
    let mut words = line.strip_prefix("bench-child: ")?.split(' ');
    let mut next = || words.next()?.parse::<f64>().ok();
    Some(Cost {
        wall: next()?,
        cpu: next()?,
        peak: next()?,
    })
}

/// The process that `Shell::run` starts: runs the command and prints its cost.
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
    println!("\nbench-child: {wall} {cpu} {}", usage.max_rss() * 1024);
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_their_line_alone() {
        let cost = figures("bench-child: 1.5 2.25 4096").unwrap();
        assert_eq!((cost.wall, cost.cpu, cost.peak), (1.5, 2.25, 4096.0));
        assert!(figures("1.5 2.25 4096").is_none());
        assert!(figures("bench-child: 1.5").is_none());
        assert_eq!(tail("a\n\nb\nc\nd\ne\n"), "b; c; d; e");
        assert_eq!(tail("\n"), "it failed without output");
    }
}
