//! Standard output: printing is an error if it is closed or not open for writing.
//!
//! In: descriptors 0, 1 and 2 of the caller. Out: a writer that returns every error.
//! **Invariant:** no output is lost without an error. The runtime opens closed descriptors on
//! `/dev/null` before `main`, and takes `EBADF` of standard output for success, so they are checked
//! before the runtime starts, and every write goes through here.
//!
//! **Why unsafe:** code that runs before `main` has to be named in a section of the program, which
//! the compiler cannot check. It is one function that opens files by system calls and uses nothing
//! of the runtime.

#![cfg_attr(
    target_os = "linux",
    allow(unsafe_code, reason = "a section of the program: see the head")
)]

use std::io::{self, Write};

use sinterfs::{Error, Result};

/// The writer of everything that is printed.
pub struct StandardOutput(io::StdoutLock<'static>);

/// Returns standard output, exclusively for this thread until it is dropped.
pub fn output() -> StandardOutput {
    StandardOutput(io::stdout().lock())
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        require_writable()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Fails if nothing can be printed.
pub fn require_output() -> Result<()> {
    require_writable().map_err(failed)
}

/// Writes what waits to be printed.
pub fn finish() -> Result<()> {
    output().flush().map_err(failed)
}

fn failed(error: io::Error) -> Error {
    Error::io("cannot write to standard output", error)
}

#[cfg(target_os = "linux")]
fn require_writable() -> io::Result<()> {
    use std::sync::LazyLock;

    use rustix::fs::OFlags;
    use rustix::io::Errno;

    static IS_WRITABLE: LazyLock<bool> = LazyLock::new(|| {
        let flags = rustix::fs::fcntl_getfl(rustix::stdio::stdout());
        flags.is_ok_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR))
    });
    if *IS_WRITABLE {
        Ok(())
    } else {
        Err(Errno::BADF.into())
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "as on Linux")]
fn require_writable() -> io::Result<()> {
    Ok(())
}

/// Is called before the runtime of Rust begins.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// Opens closed descriptors so that the wrong direction stays an error: standard input for writing
/// only, standard output as a directory, which no name such as `/dev/stdout` opens for writing.
/// Failures of writing to standard error are ignored.
#[cfg(target_os = "linux")]
extern "C" fn before_main() {
    use std::os::fd::IntoRawFd;

    use rustix::fs::{Mode, OFlags};
    use rustix::stdio;

    let replacements = [
        (stdio::stdin(), "/dev/null", OFlags::WRONLY),
        (stdio::stdout(), "/", OFlags::RDONLY),
        (stdio::stderr(), "/dev/null", OFlags::WRONLY),
    ];
    for (descriptor, path, flags) in replacements {
        if rustix::io::fcntl_getfd(descriptor).is_err() {
            // it gets the lowest number that is free, which is this one
            let opened = rustix::fs::open(path, flags, Mode::empty());
            let _ = opened.map(IntoRawFd::into_raw_fd);
        }
    }
}
