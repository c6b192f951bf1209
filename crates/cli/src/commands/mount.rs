//! `sinter mount`: mounts images through EROFS of the kernel or through FUSE, in the background.
//!
//! For the background, the program starts itself again with `--report-ready`, detached from the
//! terminal, and returns when that process reports that the mount is usable, or has failed.

mod all;
mod args;
mod attach;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use sinterfs::mount::{Session, daemon};
use sinterfs::{Error, Result};

use crate::temporary_directory::TemporaryDirectory;
use crate::{flags, hidden_words, self_run};
use all::{AllMounted, mount_all};
pub use args::Args;
use attach::{MountTarget, attach, try_out};

/// The mounts that this process serves.
enum Serving {
    /// One mount; `None` if it needs no process. A directory is removed in the end: after the
    /// session, which unmounts it.
    One(Option<Box<Session>>, Option<TemporaryDirectory>),
    /// The mounts of a list.
    All(AllMounted),
}

/// Mounts images. `words` is the command line, with the verb as its second word.
pub fn run(args: &Args, words: &[OsString]) -> Result<ExitCode> {
    sinterfs::mount::return_freed_memory();
    if args.dry_run && !args.all {
        try_out(args, &target(args))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.foreground || args.dry_run {
        serve(start(args)?)
    } else if args.report_ready {
        if !args.while_open {
            // nobody waits for a mount whose command was ended
            daemon::end_with_parent(true)?;
        }
        // the report replaces standard input
        let open = args.while_open.then(|| rustix::io::dup(std::io::stdin()));
        let open = open
            .transpose()
            .map_err(|e| Error::io("standard input", e))?;
        let mut started = start(args);
        if let (Some(open), Ok(Serving::One(Some(session), temporary))) = (open, &mut started) {
            session.unmount_when_closed(open)?;
            *temporary = Some(TemporaryDirectory::of(session.mount_point().to_owned()));
        }
        // not earlier: automount(8) has the mount point blocked for all but its own process group
        daemon::detach_from_terminal()?;
        daemon::end_with_parent(false)?;
        let result = started.as_ref().map(Serving::code);
        // the parent does not learn which options the message names
        daemon::report_to_parent(result, flags::message)?;
        // the parent shows the failure
        started.map_or(Ok(ExitCode::FAILURE), serve)
    } else {
        in_background(args, words)
    }
}

/// Returns the targets of the command line.
fn target(args: &Args) -> MountTarget<'_> {
    MountTarget {
        images: args.images(),
        dir: args.directory(),
        options: "",
        shared: None,
    }
}

/// Mounts.
fn start(args: &Args) -> Result<Serving> {
    if args.all {
        return mount_all(args).map(Serving::All);
    }
    let session = attach(args, &target(args))?;
    Ok(Serving::One(session.map(Box::new), None))
}

impl Serving {
    /// Returns the exit code of a command that has mounted this.
    fn code(&self) -> u8 {
        match self {
            Self::One(..) => 0,
            Self::All(all) => all.code,
        }
    }
}

/// Serves mounts until they are unmounted or a signal ends the process.
fn serve(serving: Serving) -> Result<ExitCode> {
    match serving {
        Serving::One(None, _) => Ok(ExitCode::SUCCESS),
        Serving::One(Some(mut session), temporary) => {
            let served = session.serve();
            drop((session, temporary));
            served.map(|_| ExitCode::SUCCESS)
        }
        Serving::All(all) => all.serve().map(ExitCode::from),
    }
}

/// Starts this program again as the serving process, and waits until it is ready. With
/// `--while-open` that is for the parent to do, which has to get the report.
fn in_background(args: &Args, words: &[OsString]) -> Result<ExitCode> {
    let own = std::env::current_exe().map_err(|e| {
        let what = if Path::new("/proc/self").exists() {
            "cannot find this program"
        } else {
            "mounting needs /proc, which is not mounted here"
        };
        Error::io(what, e)
    })?;
    let (words, hidden) = hidden_words::hide(words);
    // before the other arguments, which may contain `--`
    let mut words = words.iter().skip(1);
    let mut command = Command::new(own);
    command.env(hidden_words::VARIABLE, hidden);
    if self_run::is_in_image() {
        command.arg(self_run::AS_SINTER);
    }
    command.args(words.by_ref().take(1)).arg("--report-ready");
    if args.while_open {
        command.args(words);
        daemon::keep_descriptors(&command);
        let started = command.spawn();
        let failed = |error| Error::io("cannot start in the background", error);
        return started.map(|_| ExitCode::SUCCESS).map_err(failed);
    }
    let has_list = args.all && args.image.image.as_os_str() == "-";
    command.stdin(if has_list {
        Stdio::inherit()
    } else {
        Stdio::null()
    });
    daemon::start(command.args(words)).map(ExitCode::from)
}
