//! `sinter mount --all`: mounts the images of a list, and serves them together.
//!
//! In: the flags and the list. Out: mounts of one process with one cache, which end one by one.
//! **Invariant:** a line that fails affects no other line; it is reported with its number.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use sinterfs::mount::{
    CacheTrimmer, Mounter, Session, WantedMount, is_mounted, mounted_images, option_of_one_image,
    serve_all, wanted_mounts,
};
use sinterfs::platform::inherited::heeded;
use sinterfs::{Error, Kind, Result};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::args::Args;
use super::attach::{MountTarget, attach, try_out};
use crate::{exit, flags, messages, mount_options, text};

/// The mounts of a list.
pub(super) struct AllMounted {
    sessions: Vec<Session>,
    _idle: Option<CacheTrimmer>,
    /// The exit code: whether lines failed.
    pub(super) code: u8,
}

/// A line that asks for a mount.
struct Line {
    /// The list and the number of the line, for messages.
    place: String,
    wanted: WantedMount,
}

impl Line {
    fn has(&self, option: &str) -> bool {
        mount_options::split(&self.wanted.options).any(|given| given == option)
    }
}

/// Mounts what the list names, and reports the lines that fail. Fails if nothing could be mounted
/// of what was to be.
pub(super) fn mount_all(args: &Args) -> Result<AllMounted> {
    check(args)?;
    let (lines, mut failed) = read(&args.image.image)?;
    check_verify(args, &lines)?;
    let mounted = mounted_images()?;
    let is_wanted = |line: &Line| !line.has("noauto") && !is_mounted(&line.wanted, &mounted);
    let lines: Vec<Line> = lines.into_iter().filter(is_wanted).collect();
    let mut shared = Mounter::default();
    if let Some(bytes) = args.image.cache_size {
        shared.open.cache_bytes = bytes;
    }
    shared.share(lines.len());
    let mut signals = Signals::new(heeded(&[SIGINT, SIGTERM, SIGHUP]))
        .map_err(|error| Error::io("cannot wait for signals", error))?;
    // a server that does not answer holds up no signal
    crate::interrupt::note();
    let mut sessions = Vec::new();
    for line in &lines {
        let wanted = &line.wanted;
        let target = MountTarget {
            images: vec![&wanted.image],
            dir: &wanted.dir,
            options: &wanted.options,
            shared: Some(&shared),
        };
        let done = if args.dry_run {
            try_out(args, &target).map(|()| None)
        } else {
            attach(args, &target)
        };
        match done {
            Ok(session) => sessions.extend(session),
            Err(error) if line.has("nofail") && is_missing(&error) => {}
            Err(error) => failed.report(&line.place, &error),
        }
        if signals.pending().next().is_some() {
            // dropped, and so unmounted: those made after the signal do not know of it
            return Err(Error::new(
                Kind::Cancelled,
                "interrupted; nothing is mounted",
            ));
        }
    }
    let all_failed = failed.count > 0 && failed.count == lines.len() + failed.unread;
    if let (true, Some(kind)) = (all_failed, failed.kind) {
        return Err(Error::new(kind, "no image of the list was mounted"));
    }
    let idle = Duration::from_secs(args.idle);
    Ok(AllMounted {
        sessions,
        _idle: CacheTrimmer::of_shared(&shared.open, idle)?,
        code: if failed.count > 0 { exit::PARTIAL } else { 0 },
    })
}

impl AllMounted {
    /// Serves all mounts until each is unmounted, or a signal ends the process; returns the exit
    /// code.
    pub(super) fn serve(self) -> Result<u8> {
        let mut errors = serve_all(self.sessions);
        let last = errors.pop();
        for error in errors {
            messages::line(format_args!("sinter: {}", flags::message(&error)));
        }
        last.map_or(Ok(self.code), Err)
    }
}

/// The lines that were not mounted.
#[derive(Default)]
struct Failed {
    count: usize,
    /// Of them those that could not be read.
    unread: usize,
    /// The error of the last failure.
    kind: Option<Kind>,
}

impl Failed {
    fn report(&mut self, place: &str, error: &Error) {
        let message = flags::message(error);
        messages::line(format_args!(
            "sinter: {place}: {}",
            text::one_line(&message)
        ));
        self.count += 1;
        self.kind = Some(if is_missing(error) {
            Kind::NotFound
        } else {
            error.kind()
        });
    }
}

/// Returns whether something is missing that was named.
fn is_missing(error: &Error) -> bool {
    let missing = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::NotFound;
    error.kind() == Kind::NotFound || error.io_source().is_some_and(missing)
}

/// Fails if a flag can mean one image only.
fn check(args: &Args) -> Result<()> {
    let named = option_of_one_image(&args.image.options());
    let named = named.or(args.image.partition.map(|_| "--partition"));
    let named = named.or(args.image.objects.as_ref().map(|_| "--objects"));
    let named = named.or(args.stats.stats.as_ref().map(|_| "--stats"));
    let named = named.or(args.stats.record.as_ref().map(|_| "--record"));
    let named = named.or(args.damage.damage_log.as_ref().map(|_| "--damage-log"));
    match named {
        Some(name) => Err(Error::invalid(format!(
            "{name} can be given for one image only, not with --all: each line has its own options"
        ))),
        None => Ok(()),
    }
}

/// Fails if objects are to be verified and no line names any.
fn check_verify(args: &Args, lines: &[Line]) -> Result<()> {
    let all = || {
        args.options
            .iter()
            .flat_map(|all| mount_options::split(all))
    };
    let is_asked = args.verify || all().any(mount_options::verifies);
    let of_lines = lines.iter().map(|line| &*line.wanted.options);
    let mut options = all().chain(of_lines.flat_map(mount_options::split));
    if !is_asked || lines.is_empty() || options.any(mount_options::names_objects) {
        return Ok(());
    }
    Err(Error::invalid(
        "--verify and the mount option `verify` are about the objects of composefs images, and no \
         line has the option `objects`",
    ))
}

/// Reads the list; reports lines that are wrong.
fn read(list: &Path) -> Result<(Vec<Line>, Failed)> {
    let (name, text) = if list.as_os_str() == "-" {
        let mut text = Vec::new();
        let read = std::io::stdin().read_to_end(&mut text);
        ("standard input".to_owned(), read.map(|_| text))
    } else {
        (text::name(list.as_os_str().as_bytes()), std::fs::read(list))
    };
    let text = text.map_err(|error| Error::io("cannot read the list", error).path(list))?;
    let (mut lines, mut failed) = (Vec::new(), Failed::default());
    for (number, wanted) in wanted_mounts(&text) {
        let place = format!("{name}:{number}");
        match wanted {
            Ok(wanted) => lines.push(Line { place, wanted }),
            Err(error) => failed.report(&place, &error),
        }
    }
    failed.unread = failed.count;
    Ok((lines, failed))
}
