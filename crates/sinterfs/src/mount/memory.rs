//! How much memory the machine has, and how much of it decoded blocks may take while an image is
//! served.
//!
//! **Invariant:** where the system does not tell, there is enough for what everybody may take.

/// Bytes that decoded blocks may take on any machine.
const LEAST: u64 = 512 << 20;

/// The part of the memory that decoded blocks may take on a large one.
const PART: u64 = 16;

/// The part of the memory below which what is available is short.
const SHORT: u64 = 32;

/// Returns the bytes that decoded blocks of a mounted image may take unless somebody says
/// otherwise: 512 MiB, or a sixteenth of the machine's memory if that is more. They are given back
/// when it runs short.
pub fn default_cache_bytes() -> u64 {
    cache_by(&meminfo())
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
    fn large_machines_spare_more() {
        let cache = |gib: u64| cache_by(&format!("MemTotal: {} kB\n", gib << 20));
        assert_eq!([cache(1), cache(8)], [LEAST; 2]);
        assert_eq!([cache(24), cache(64)], [3 << 29, 4 << 30]);
        assert_eq!(cache_by(""), LEAST);
    }
}
