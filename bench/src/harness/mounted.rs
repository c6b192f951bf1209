//! An image mounted by a daemon: started, read cold, ended; the CPU time and memory of the daemon.
//!
//! **Invariant:** dropping a `Mounted` unmounts and ends its daemon, whatever happened.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::interrupt;
use crate::harness::sets::File;
use crate::harness::shell::{Shell, stop, tail};
use crate::harness::statistics;

/// A mount with the daemon that serves it.
#[derive(Debug)]
pub struct Mounted {
    at: PathBuf,
    daemon: Child,
}

impl Mounted {
    /// Runs a command that mounts at an empty directory and stays in the foreground. Also returns
    /// the seconds until the attributes of `first`, a path below, could be read.
    pub fn start(
        shell: &Shell<'_>,
        command: &str,
        at: &Path,
        first: &Path,
    ) -> Result<(Self, f64), String> {
        unmount(at);
        fs::create_dir_all(at).map_err(|e| format!("{}: {e}", at.display()))?;
        let empty = device(at)?;
        let start = Instant::now();
        let daemon = shell.start(Command::new("bash").args(["-c", &format!("exec {command}")]))?;
        // from here on dropping it unmounts
        let mut mounted = Self {
            at: at.to_owned(),
            daemon,
        };
        let deadline = start + Duration::from_secs(shell.limit.min(120));
        while device(at).is_ok_and(|now| now == empty) {
            if let Some(status) = mounted.daemon.try_wait().map_err(|e| e.to_string())? {
                let output = fs::read(shell.log).unwrap_or_default();
                return Err(format!(
                    "{status}: {}",
                    tail(&String::from_utf8_lossy(&output))
                ));
            }
            interrupt::check()?;
            if Instant::now() > deadline {
                return Err("not mounted in time".into());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        fs::symlink_metadata(at.join(first)).map_err(|e| format!("{}: {e}", first.display()))?;
        Ok((mounted, start.elapsed().as_secs_f64()))
    }

    /// Returns the directory.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Returns the daemon's CPU seconds so far.
    pub fn cpu(&self) -> f64 {
        // the name in parentheses can hold anything; user and system time are the 12th and 13th
        // field after it, in hundredths of a second wherever Linux runs
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.daemon.id()));
        let stat = stat.unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let ticks = |n: usize| after.split_whitespace().nth(n)?.parse::<f64>().ok();
        (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
    }

    /// Returns the daemon's peak of resident memory in bytes.
    pub fn peak(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.daemon.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or(0.0) * 1024.0
    }

    /// Reads all files in order; returns their bytes.
    pub fn read_all(&self, files: &[File]) -> Result<u64, String> {
        let mut buffer = vec![0; 1 << 20];
        let mut total = 0;
        for file in files {
            interrupt::check()?;
            let error = |e: std::io::Error| format!("{}: {e}", file.path.display());
            let mut open = fs::File::open(self.at.join(&file.path)).map_err(error)?;
            loop {
                match std::io::Read::read(&mut open, &mut buffer).map_err(error)? {
                    0 => break,
                    len => total += len as u64,
                }
            }
        }
        Ok(total)
    }

    /// Reads 4 KiB at random places of all files, larger files more often, for a minute at most;
    /// fails if a read differs from the source. Returns the seconds of each read, with opening.
    pub fn read_at_random(
        &self,
        source: &Path,
        files: &[File],
        reads: usize,
    ) -> Result<Vec<f64>, String> {
        let mut taken = Vec::new();
        let mut seen = Vec::new();
        let begin = Instant::now();
        for (file, offset) in places(files, reads) {
            if begin.elapsed() > Duration::from_secs(60) && taken.len() >= 20 {
                break;
            }
            interrupt::check()?;
            let start = Instant::now();
            let bytes = read_4k(&self.at.join(&file.path), offset)?;
            taken.push(start.elapsed().as_secs_f64());
            seen.push((file, offset, bytes));
        }
        for (file, offset, bytes) in seen {
            if read_4k(&source.join(&file.path), offset)? != bytes {
                return Err(format!("{} at {offset}: wrong bytes", file.path.display()));
            }
        }
        Ok(taken)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.at);
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if !matches!(self.daemon.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        stop(&mut self.daemon);
        unmount(&self.at);
    }
}

/// Unmounts a directory, lazily if nothing else helps.
pub fn unmount(at: &Path) {
    let mounted = || match (device(at), at.parent().map(device)) {
        (Ok(here), Some(Ok(parent))) => here != parent,
        // a daemon that died leaves a mount that fails every request
        (Err(_), _) => {
            fs::symlink_metadata(at).is_err_and(|e| e.kind() != std::io::ErrorKind::NotFound)
        }
        _ => false,
    };
    for (program, args) in [
        ("fusermount3", &["-q", "-u"][..]),
        ("umount", &[]),
        ("fusermount", &["-q", "-u", "-z"]),
        ("umount", &["-l"]),
    ] {
        if !mounted() {
            return;
        }
        let _ = Command::new(program)
            .args(args)
            .arg(at)
            .stderr(Stdio::null())
            .status();
    }
}

/// Makes reads of an image come from the disk: drops its pages from the cache, with root all pages.
pub fn make_cold(image: &Path) {
    if let Ok(file) = fs::File::open(image) {
        // only clean pages can be dropped
        let _ = file.sync_all();
        let _ = nix::fcntl::posix_fadvise(
            &file,
            0,
            0,
            nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED,
        );
    }
    let _ = fs::write("/proc/sys/vm/drop_caches", "3");
}

/// Summarizes the times of single reads.
pub fn latencies(seconds: &[f64]) -> [(&'static str, f64); 4] {
    let count = seconds.len() as f64;
    let of = |value: Option<f64>| value.unwrap_or(0.0);
    [
        ("reads", count),
        ("mean", seconds.iter().sum::<f64>() / count.max(1.0)),
        ("median", of(statistics::median(seconds))),
        ("p95", of(statistics::quantile(seconds, 0.95))),
    ]
}

fn device(path: &Path) -> Result<u64, String> {
    let status = fs::symlink_metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(status.dev())
}

/// Reads 4 KiB of a file, fewer at its end.
pub fn read_4k(path: &Path, offset: u64) -> Result<Vec<u8>, String> {
    let error = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = fs::File::open(path).map_err(error)?;
    let mut bytes = vec![0; 4096];
    let mut len = 0;
    while len < bytes.len() {
        match file
            .read_at(&mut bytes[len..], offset + len as u64)
            .map_err(error)?
        {
            0 => break,
            more => len += more,
        }
    }
    bytes.truncate(len);
    Ok(bytes)
}

/// Fails if a mount differs from its source at one of the places.
pub fn same_bytes(source: &Path, mounted: &Path, places: &[(&File, u64)]) -> Result<(), String> {
    for (file, at) in places {
        if read_4k(&mounted.join(&file.path), *at)? != read_4k(&source.join(&file.path), *at)? {
            return Err(format!("{} at {at}: wrong bytes", file.path.display()));
        }
    }
    Ok(())
}

/// Picks random places, the same for the same files, larger files more often.
pub fn places(files: &[File], count: usize) -> Vec<(&File, u64)> {
    let mut ends = Vec::with_capacity(files.len());
    let mut total = 0;
    for file in files {
        total += file.size;
        ends.push(total);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let place = |at: u64| {
        let index = ends.partition_point(|&end| end <= at);
        let file = &files[index];
        (file, (at - (ends[index] - file.size)) & !4095)
    };
    let count = if total == 0 { 0 } else { count };
    (0..count).map(|_| place(next() % total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_fixed_and_weighted_by_size() {
        let file = |path: &str, size| File {
            path: path.into(),
            size,
        };
        let files = [file("empty", 0), file("small", 10_000), file("big", 90_000)];
        let places = places(&files, 1000);
        let big = places.iter().filter(|(f, _)| f.size == 90_000).count();
        assert!((850..950).contains(&big), "{big}");
        assert!(places.iter().all(|(f, at)| *at < f.size && at % 4096 == 0));
        let again = super::places(&files, 1000);
        assert!(places.iter().zip(&again).all(|(a, b)| a.1 == b.1));
        assert!(super::places(&files[..1], 5).is_empty());
    }
}
