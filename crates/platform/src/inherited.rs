//! Resources that a process inherits from its parent and passes on to its children.
//!
//! In: numbers of signals and of descriptors. Out: which signals are ignored; descriptors that
//! children do not get. **Invariant:** no handler and no descriptor is changed, but what happens to
//! a descriptor when another program is started.
//!
//! Source: nohup of POSIX, sigaction(2), fcntl(2).

#![allow(
    unsafe_code,
    reason = "sigaction(2) has no safe wrapper that only asks; descriptors of others are known by \
              their numbers only"
)]

use std::mem::MaybeUninit;

/// Returns those signals that this process does not ignore. One that was ignored when the program
/// was started, as by nohup(1), has to stay ignored.
pub fn heeded(signals: &[i32]) -> Vec<i32> {
    let heeded = |signal: &i32| !is_ignored(*signal);
    signals.iter().copied().filter(heeded).collect()
}

fn is_ignored(signal: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the present one, where zeros are valid, too
    let now = unsafe {
        let result = libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr());
        (result == 0).then(|| now.assume_init())
    };
    now.is_some_and(|now| now.sa_sigaction == libc::SIG_IGN)
}

/// Marks all descriptors above 2 except `kept` ones, so that programs started from now on do not
/// get them: a process in the background would keep the pipes, locks and sockets of its caller.
/// Does nothing if the system does not list descriptors.
pub fn keep_from_children(kept: impl Fn(i32) -> bool) {
    let listed = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> = listed
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&number| number > 2 && !kept(number))
        .collect();
    for number in numbers {
        // SAFETY: only the flag of the number changes; one that is closed by now is an error, which
        // does not matter
        unsafe {
            let flags = libc::fcntl(number, libc::F_GETFD);
            if flags >= 0 {
                libc::fcntl(number, libc::F_SETFD, flags | libc::FD_CLOEXEC);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn signals_are_heeded_unless_they_are_ignored() {
        // programs of Rust ignore this one
        assert_eq!(heeded(&[libc::SIGPIPE, libc::SIGUSR2]), [libc::SIGUSR2]);
    }

    #[test]
    fn children_get_no_descriptors_but_those_that_are_kept() {
        let open = || {
            let file = std::fs::File::open("/dev/null").unwrap();
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
            file
        };
        let (given, kept) = (open(), open());
        let number = |file: &std::fs::File| std::os::fd::AsRawFd::as_raw_fd(file);
        keep_from_children(|other| other == number(&kept));
        let flags = |file| rustix::io::fcntl_getfd(file).unwrap();
        assert!(flags(&given).contains(rustix::io::FdFlags::CLOEXEC));
        assert!(!flags(&kept).contains(rustix::io::FdFlags::CLOEXEC));
    }
}
