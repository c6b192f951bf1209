//! `sinter mount --all`: mounts the images of a list, and serves them together.
//!
//! In: the flags and the list. Out: mounts of one process with one cache, which end one by one.
//! **Invariant:** a line that fails affects no other line; it is reported with its number.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use sinterfs::mount::{CacheTrimmer, MountedImage, WantedMount, mounted_images, wanted_mounts};
use sinterfs::platform::inherited::heeded;
use sinterfs::{Error, Kind, OpenOptions, Result};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::args::Args;
use super::attach::{Attached, Common, MountTarget, attach, option_of_one_image, try_out};
use crate::{exit, flags, messages, mount_options, text};

/// The threads for all images, as long as each has some.
const THREADS: usize = 64;

/// The least threads for an image.
const LEAST_THREADS: usize = 2;

/// The mounts of a list.
pub(super) struct AllAttached {
    mounts: Vec<Attached>,
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

    /// Returns whether the image is mounted there already.
    fn is_among(&self, mounted: &[MountedImage]) -> bool {
        let image = &self.wanted.image;
        let names = if sinterfs::is_url(image) {
            let shown = sinterfs::shown(image);
            let last = shown.file_name().map(PathBuf::from).unwrap_or_default();
            [shown, last]
        } else {
            [std::path::absolute(image), image.canonicalize()]
                .map(std::io::Result::unwrap_or_default)
        };
        let Ok(dir) = self.wanted.dir.canonicalize() else {
            return false;
        };
        let same = |mounted: &MountedImage| names.contains(&mounted.source) && mounted.point == dir;
        mounted.iter().any(same)
    }
}

/// Mounts what the list names, and reports the lines that fail. Fails if nothing could be mounted
/// of what was to be.
pub(super) fn attach_all(args: &Args) -> Result<AllAttached> {
    check(args)?;
    let (lines, mut failed) = read(&args.image.image)?;
    check_verify(args, &lines)?;
    let mounted = mounted_images()?;
    let is_wanted = |line: &Line| !line.has("noauto") && !line.is_among(&mounted);
    let lines: Vec<Line> = lines.into_iter().filter(is_wanted).collect();
    let common = common(args, lines.len());
    let mut signals = Signals::new(heeded(&[SIGINT, SIGTERM, SIGHUP]))
        .map_err(|error| Error::io("cannot wait for signals", error))?;
    // a server that does not answer holds up no signal
    crate::interrupt::note();
    let mut mounts = Vec::new();
    for line in &lines {
        let wanted = &line.wanted;
        let target = MountTarget {
            images: vec![&wanted.image],
            dir: &wanted.dir,
            options: &wanted.options,
            common: Some(&common),
        };
        let done = if args.dry_run {
            try_out(args, &target).map(|()| None)
        } else {
            attach(args, &target)
        };
        match done {
            Ok(attached) => mounts.extend(attached),
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
    let idle = std::time::Duration::from_secs(args.idle);
    Ok(AllAttached {
        mounts,
        _idle: CacheTrimmer::of_shared(&common.cache, idle)?,
        code: if failed.count > 0 { exit::PARTIAL } else { 0 },
    })
}

impl AllAttached {
    /// Serves all mounts until each is unmounted, or a signal ends the process; returns the exit
    /// code.
    pub(super) fn serve(self) -> Result<u8> {
        let threads = self.mounts.into_iter().map(|mount| {
            let thread = std::thread::Builder::new().name("serve".into());
            thread.spawn(move || mount.serve())
        });
        let threads: Vec<_> = threads.collect();
        let failed = || Error::new(Kind::Io, "a thread that serves a mount has failed");
        let mut result = Ok(self.code);
        for thread in threads {
            let joined = thread.map(JoinHandle::join);
            let served = match joined {
                Ok(served) => served.unwrap_or_else(|_| Err(failed())),
                // dropped, and so unmounted; the others are served on
                Err(error) => Err(Error::io("cannot start a thread", error)),
            };
            if let Err(error) = served
                && let Err(earlier) = std::mem::replace(&mut result, Err(error))
            {
                messages::line(format_args!("sinter: {}", flags::message(&earlier)));
            }
        }
        result
    }
}

/// The lines that were not mounted.
#[derive(Default)]
struct Failed {
    count: usize,
    /// Of them those that could not be read.
    unread: usize,
    /// What the last one failed with.
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
    let named = named.or(args.stats.is_asked().then_some("--stats and --record"));
    let named = named.or(args.damage.is_logged().then_some("--damage-log"));
    match named {
        Some(name) => Err(Error::invalid(format!(
            "{name} can be given for one image only, not with --all: lines have options of their \
             own"
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

/// Returns what so many images have in common.
fn common(args: &Args, count: usize) -> Common {
    let mut cache = OpenOptions {
        cache_bytes: args
            .image
            .cache_size
            .unwrap_or_else(sinterfs::mount::default_cache_bytes),
        ..OpenOptions::default()
    };
    cache.share_cache();
    Common {
        cache,
        threads: (THREADS / count.max(1)).max(LEAST_THREADS),
    }
}
