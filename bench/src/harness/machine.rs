//! A description of the machine without its name.

/// Returns cores, memory and kernel.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{cores} cores ({}), {:.0} GB of memory, Linux {}",
        std::env::consts::ARCH,
        total(&memory) / 1e9,
        main_release(&release)
    )
}

fn total(meminfo: &str) -> f64 {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0
}

/// Keeps `6.18` of `6.18.44-builder-7`.
fn main_release(release: &str) -> String {
    release
        .trim()
        .split('.')
        .take(2)
        .collect::<Vec<_>>()
        .join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernel_version_is_kept() {
        assert_eq!(main_release("6.18.44-builder-7\n"), "6.18");
        assert_eq!(total("MemFree: 1 kB\nMemTotal:  2000 kB\n"), 2_048_000.0);
    }
}
