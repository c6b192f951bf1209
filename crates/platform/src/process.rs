//! The permissions and resources of a process.
//!
//! In: nothing. Out: what the system says of this process.

use std::path::PathBuf;

/// Returns whether this process may do what only root may.
pub fn is_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}

/// Returns user and group that new files get.
pub fn owner() -> (u32, u32) {
    #[cfg(unix)]
    return (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    #[cfg(not(unix))]
    return (0, 0);
}

/// Returns whether a process with this number may be running.
pub fn may_be_running(number: u32) -> bool {
    #[cfg(unix)]
    return match i32::try_from(number)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        Some(process) => {
            rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH)
        }
        None => false,
    };
    #[cfg(not(unix))]
    return number != 0;
}

/// Returns the limit of the address space in bytes, if there is one.
pub fn address_space() -> Option<u64> {
    #[cfg(unix)]
    return rustix::process::getrlimit(rustix::process::Resource::As).current;
    #[cfg(not(unix))]
    return None;
}

/// Returns the directory of this user's caches; `None` if there is no home.
pub fn cache_directory() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    if cfg!(windows) {
        return absolute("LOCALAPPDATA");
    }
    let home = if cfg!(target_vendor = "apple") {
        "Library/Caches"
    } else {
        ".cache"
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(home)))
}
