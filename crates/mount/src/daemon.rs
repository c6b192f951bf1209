//! Lets a program go to the background once its mount is usable.
//!
//! Enters, in the parent, the command that starts the program again to mount in the foreground;
//! leaves the result of its mount, which the child sends through its standard output, a pipe to the
//! parent until then. **Invariant:** no fork without exec, so no unsafe code and no lost threads;
//! the parent reports success only for a mount that can be used.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sinterfs_model::{Error, Kind, Result};
use sinterfs_platform::inherited;

const READY: u8 = b'r';
const FAILED: u8 = b'f';
/// The longest message of a child.
const MAX_MESSAGE_LEN: u64 = 64 << 10;

/// Starts a child that serves in the background and waits until its mount is usable; returns the
/// exit code that the child reports.
///
/// The child must call `detach_from_terminal` and then `report_to_parent`. Its standard error is
/// the parent's until then; its standard input is set by the command. It gets no other descriptors
/// than its arguments name, as in `/dev/fd/5`: a mount outlives the locks and pipes of its caller.
pub fn start(command: &mut Command) -> Result<u8> {
    let (report, mut child) = report_of(command)?;
    outcome(&report).unwrap_or_else(|| Err(ended_early(&mut child)))
}

/// Does the same by a child that only starts the server, with the standard output that it got, and
/// ends: so the server is no child of this process.
pub fn start_apart(command: &mut Command) -> Result<u8> {
    let (report, mut child) = report_of(command)?;
    let ended = ended_early(&mut child);
    outcome(&report).unwrap_or(Err(ended))
}

/// Starts a child and reads what it reports.
fn report_of(command: &mut Command) -> Result<(Vec<u8>, Child)> {
    keep_descriptors(command);
    command.stdout(Stdio::piped());
    let child = command.spawn();
    let mut child = child.map_err(|error| Error::io("cannot start in the background", error))?;
    let mut report = Vec::new();
    if let Some(pipe) = child.stdout.take()
        && let Err(error) = pipe.take(MAX_MESSAGE_LEN).read_to_end(&mut report)
    {
        end(&mut child);
        return Err(Error::io(
            "cannot read the result from the background",
            error,
        ));
    }
    Ok((report, child))
}

/// Keeps the descriptors of this process from children, but those that the arguments of a command
/// name.
pub fn keep_descriptors(command: &Command) {
    let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let names = |number: i32| {
        let paths = ["/dev/fd/", "/proc/self/fd/"].map(|dir| format!("{dir}{number}"));
        let is_path = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
        let named = |word: &str, path: &String| word.split(path.as_str()).skip(1).any(is_path);
        let mut words = words.iter();
        words.any(|word| paths.iter().any(|path| named(word, path)))
    };
    inherited::keep_from_children(names);
}

/// Ends a child whose result is not known, as umount would: on this signal it unmounts.
fn end(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok()) {
        // what failed before is the error
        let _ = child.wait();
    }
}

/// Returns what a report says; `None` for one that says nothing.
fn outcome(report: &[u8]) -> Option<Result<u8>> {
    match report.split_first() {
        Some((&READY, code)) => Some(Ok(code.first().copied().unwrap_or(0))),
        Some((&FAILED, [kind, message @ ..])) => {
            let mut message = String::from_utf8_lossy(message).into_owned();
            if kind_of(*kind) == Kind::Corrupt {
                // `Error` adds this prefix itself
                message = message.replacen("corrupt image: ", "", 1);
            }
            Some(Err(Error::new(kind_of(*kind), message)))
        }
        _ => None,
    }
}

/// Waits for the end of a child; returns the error of one that has reported nothing.
fn ended_early(child: &mut Child) -> Error {
    match child.wait() {
        Ok(status) => Error::new(
            Kind::Io,
            format!("the server ended before it mounted: {status}"),
        ),
        Err(error) => Error::io("wait failed", error),
    }
}

/// Leaves the session of the terminal, so that the mount survives it.
pub fn detach_from_terminal() -> Result<()> {
    match rustix::process::setsid() {
        // the process already leads a session
        Ok(_) | Err(rustix::io::Errno::PERM) => Ok(()),
        Err(errno) => Err(Error::io("cannot leave the session", errno)),
    }
}

/// Has this process end, as by SIGTERM, when its parent ends before it has got the report; or not
/// any more. A process whose parent has ended by now learns of it by its report.
pub fn end_with_parent(is_wanted: bool) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        let signal = is_wanted.then_some(Signal::TERM);
        let set = rustix::process::set_parent_process_death_signal(signal);
        set.map_err(|errno| Error::io("cannot follow the parent", errno))?;
    }
    let _ = is_wanted;
    Ok(())
}

/// Sends the result of mounting to the parent, its exit code or the message of an error, and
/// releases the terminal, the pipe and the working directory.
pub fn report_to_parent(
    mounted: std::result::Result<u8, &Error>,
    message: impl FnOnce(&Error) -> String,
) -> Result<()> {
    let report = match mounted {
        Ok(code) => vec![READY, code],
        Err(error) => {
            let missing = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::NotFound;
            let kind = if error.io_source().is_some_and(missing) {
                Kind::NotFound
            } else {
                error.kind()
            };
            let mut report = vec![FAILED, number_of(kind)];
            report.extend_from_slice(message(error).as_bytes());
            report.truncate(usize::try_from(MAX_MESSAGE_LEN).unwrap_or(usize::MAX));
            report
        }
    };
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null");
    let null = null.map_err(|error| Error::io("cannot open /dev/null", error))?;
    let failed = |errno| Error::io("cannot release the terminal", errno);
    // all that can fail comes before the report, since the parent believes it
    let out = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).map_err(failed)?;
    rustix::stdio::dup2_stdout(&null).map_err(failed)?;
    if mounted.is_ok() {
        let moved = std::env::set_current_dir(Path::new("/"));
        moved.map_err(|error| Error::io("cannot change to the root directory", error))?;
        rustix::stdio::dup2_stdin(&null).map_err(failed)?;
        rustix::stdio::dup2_stderr(&null).map_err(failed)?;
    }
    // the parent continues when the pipe is closed
    let sent = std::fs::File::from(out).write_all(&report);
    sent.map_err(|error| Error::io("cannot send the result to the parent", error))
}

const KINDS: [Kind; 8] = [
    Kind::Corrupt,
    Kind::Unsupported,
    Kind::NotFound,
    Kind::NotDirectory,
    Kind::Limit,
    Kind::Invalid,
    Kind::Io,
    Kind::Cancelled,
];

fn number_of(kind: Kind) -> u8 {
    let found = KINDS.iter().position(|other| *other == kind);
    found
        .and_then(|index| u8::try_from(index).ok())
        .unwrap_or(u8::MAX)
}

fn kind_of(number: u8) -> Kind {
    KINDS.get(usize::from(number)).copied().unwrap_or(Kind::Io)
}
