//! How much memory the machine and this process have, and how much of it decoded blocks may take
//! while an image is served.
//!
//! In: files of /proc and of control groups (versions 1 and 2), and the limit of the address space.
//! **Invariant:** where the system does not report it, there is enough for what everybody may take.

use std::path::Path;

/// Bytes that decoded blocks may take on any machine.
const LEAST: u64 = 512 << 20;

/// The part of the memory that decoded blocks may take on a large one.
const PART: u64 = 16;

/// The part of a limit of this process alone.
const PART_OF_LIMIT: u64 = 4;

/// The bytes of such a limit for each thread that serves requests: a quarter of them is a decoded
/// block of 16 MiB.
const LIMIT_OF_THREAD: u64 = 64 << 20;

/// The part of the memory below which what is available is short.
const SHORT: u64 = 32;

/// Returns the bytes that decoded blocks of a mounted image may take unless somebody says
/// otherwise: 512 MiB, or a sixteenth of the machine's memory if that is more, but at most a
/// quarter of what the process may use (a control group, `ulimit -v`). They are given back when the
/// memory of the machine runs short.
pub(super) fn default_cache_bytes() -> u64 {
    limited(cache_by(&meminfo()), process_limit())
}

/// Returns no more threads than a limit of the memory of this process suffices for, and at least
/// one.
pub(super) fn threads_within_limit(threads: usize) -> usize {
    limited_threads(threads, process_limit())
}

/// Returns the bytes that this process may use: the limit of its control group or address space.
fn process_limit() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let space = rustix::process::getrlimit(rustix::process::Resource::As).current;
    [group_limit(&read), space].into_iter().flatten().min()
}

/// Returns no more than the part of a limit that a cache may take.
fn limited(bytes: u64, limit: Option<u64>) -> u64 {
    limit.map_or(bytes, |limit| bytes.min(limit / PART_OF_LIMIT))
}

fn limited_threads(threads: usize, limit: Option<u64>) -> usize {
    let most = limit.and_then(|limit| usize::try_from(limit / LIMIT_OF_THREAD).ok());
    most.map_or(threads, |most| threads.min(most.max(1)))
}

/// Returns the smallest limit of memory of this process's control group and of those above it.
fn group_limit(read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (root, file) = match fields.next() {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some(names) if names.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let group = fields.next().unwrap_or_default().trim_start_matches('/');
        // a container may see its own group as the root
        let paths = Path::new(group).ancestors();
        let limit = |path: &Path| {
            read(&Path::new(root).join(path).join(file))?
                .trim()
                .parse()
                .ok()
        };
        paths.filter_map(limit).collect()
    });
    limits.min()
}

/// Returns whether the system is short of memory.
pub(crate) fn is_short() -> bool {
    is_short_by(&meminfo())
}

fn meminfo() -> String {
    std::fs::read_to_string("/proc/meminfo").unwrap_or_default()
}

fn cache_by(meminfo: &str) -> u64 {
    let total = kilobytes(meminfo, "MemTotal:").unwrap_or(0);
    (total.saturating_mul(1024) / PART).max(LEAST)
}

fn is_short_by(meminfo: &str) -> bool {
    let value = |name| kilobytes(meminfo, name);
    match (value("MemAvailable:"), value("MemTotal:")) {
        (Some(available), Some(total)) => available < total / SHORT,
        _ => false,
    }
}

fn kilobytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_is_less_than_a_32nd() {
        let meminfo = |available: u64| {
            format!("MemTotal:       32000 kB\nMemFree: 1 kB\nMemAvailable:   {available} kB\n")
        };
        assert!(is_short_by(&meminfo(999)) && !is_short_by(&meminfo(1000)));
        assert!(!is_short_by("") && !is_short_by("MemTotal: x kB\nMemAvailable: 0 kB"));
    }

    #[test]
    fn limits_of_the_process_count() {
        let files = |groups: &'static str, limits: &'static [(&'static str, &'static str)]| {
            move |path: &Path| {
                if path == Path::new("/proc/self/cgroup") {
                    return Some(groups.to_owned());
                }
                let found = limits.iter().find(|(name, _)| path == Path::new(name));
                found.map(|(_, limit)| (*limit).to_owned())
            }
        };
        let v2: &'static [_] = &[
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "67108864\n"),
            ("/sys/fs/cgroup/memory.max", "99999999999\n"),
        ];
        assert_eq!(group_limit(&files("0::/a/b\n", v2)), Some(64 << 20));
        assert_eq!(group_limit(&files("0::/other\n", v2)), Some(99_999_999_999));
        let v1: &'static [_] = &[("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000\n")];
        let groups = "5:cpu,cpuacct:/y\n4:memory:/x\n1:name=systemd:/z\n";
        assert_eq!(group_limit(&files(groups, v1)), Some(1000));
        assert_eq!(group_limit(&files("5:cpu:/x\n", v1)), None);
        assert_eq!(group_limit(&|_| None), None);
        assert_eq!([limited(800, Some(1000)), limited(8, None)], [250, 8]);
        let threads = |limit| limited_threads(4, limit);
        assert_eq!([threads(Some(1000)), threads(Some(64 << 20))], [1, 1]);
        assert_eq!([threads(Some(255 << 20)), threads(Some(1 << 40))], [3, 4]);
        assert_eq!(threads(None), 4);
    }

    #[test]
    fn large_machines_spare_more() {
        let cache = |gib: u64| cache_by(&format!("MemTotal: {} kB\n", gib << 20));
        assert_eq!([cache(1), cache(8)], [LEAST; 2]);
        assert_eq!([cache(24), cache(64)], [3 << 29, 4 << 30]);
        assert_eq!(cache_by(""), LEAST);
    }
}
