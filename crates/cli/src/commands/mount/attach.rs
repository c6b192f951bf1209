//! Mounts one image, or several as layers, for `sinter mount`.
//!
//! In: the flags, and what is mounted where. Out: a mount that this process serves.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sinterfs::mount::{CacheTrimmer, MountMethod, MountOptions, Session};
use sinterfs::verify::{Anchor, Trust};
use sinterfs::{Error, Image, Kind, OpenOptions, Result};

use super::args::Args;
use crate::args::damage::DamageLog;
use crate::args::input;
use crate::args::remote::{self, ReadNotes};
use crate::args::stats::MountStats;
use crate::mount_options::{self, Settings};
use crate::temporary_directory::TemporaryDirectory;
use crate::{flags, text};

/// The threads that answer requests to a remote image.
const REMOTE_THREADS: usize = 16;

/// The first pause between two tries to unmount what is in use; each one is twice as long as the
/// one before it, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What is mounted where.
#[derive(Debug)]
pub(super) struct MountTarget<'a> {
    /// The images, the topmost first.
    pub(super) images: Vec<&'a Path>,
    /// The mount point.
    pub(super) dir: &'a Path,
    /// Mount options besides those of the command line.
    pub(super) options: &'a str,
    /// What images of a list have in common.
    pub(super) common: Option<&'a Common>,
}

/// What images of one server have in common.
#[derive(Debug)]
pub(super) struct Common {
    /// Options with the cache.
    pub(super) cache: OpenOptions,
    /// The most threads for each image.
    pub(super) threads: usize,
}

/// A mount that this process serves.
pub(super) struct Attached {
    session: Session,
    /// A directory to remove in the end: after the session, which unmounts it.
    _temporary: Option<TemporaryDirectory>,
    watching: Option<MountStats>,
    damage: DamageLog,
    _idle: Vec<CacheTrimmer>,
}

impl Attached {
    /// Serves the mount until it is unmounted or a signal ends the process.
    pub(super) fn serve(mut self) -> Result<()> {
        let served = self.session.serve();
        self.damage.finish();
        served?;
        if let Some(watching) = self.watching {
            watching.finish()?;
        }
        Ok(())
    }

    /// Unmounts when all writers of a pipe have closed it and nobody uses the mount, and removes
    /// the mount point then.
    pub(super) fn unmount_when_closed(&mut self, pipe: OwnedFd) -> Result<()> {
        let dir = self.session.mount_point().to_owned();
        self._temporary = Some(TemporaryDirectory::of(dir));
        let unmounter = self.session.unmounter();
        let work = move || {
            // nobody writes: it ends when the last writer is gone
            let _ = File::from(pipe).read_to_end(&mut Vec::new());
            let mut pause = FIRST_PAUSE;
            while unmounter.unmount(false).is_err() {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        let thread = std::thread::Builder::new().name("users".into()).spawn(work);
        let started = thread.map_err(|error| Error::io("cannot start a thread", error));
        started.map(drop)
    }
}

/// Opens and mounts the images; `None` if the mount needs no process.
pub(super) fn attach(args: &Args, target: &MountTarget<'_>) -> Result<Option<Attached>> {
    sinterfs::mount::check_layers(target.images.len())?;
    let mut settings = settings(args, target)?;
    let stats = args.stats.recording(settings.record.clone());
    let is_stack = settings.upper.is_some() || target.images.len() > 1;
    if args.kernel && settings.image.objects.is_some() && !is_stack {
        if stats.is_asked() || args.damage.is_asked() || settings.image.salvage {
            return Err(Error::invalid(
                "--stats, --record, --salvage and --damage-log need a mount that this program \
                 serves: remove --kernel",
            ));
        }
        let (image, options) = (&settings.image, &settings.mount);
        let first = target.images.first().copied().unwrap_or(Path::new(""));
        match sinterfs::mount::mount_overlay(first, image, target.dir, options) {
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == Kind::Corrupt => return Err(error),
            Err(error) => {
                let why = flags::message(&error);
                text::warn(&format!("mounted without overlayfs: {why}"));
            }
        }
    }
    let notes_reads = stats.records();
    let reads = notes_reads.then(|| ReadNotes::begin(&mut settings.image));
    let opened = open_all(target, &settings.image)?;
    // what is decoded ahead is not what was needed
    if !args.no_ahead && !stats.records() {
        opened.iter().for_each(Image::decode_ahead);
    }
    // a list of what is read says more than the image
    if settings.fetch.prefetch.is_none() {
        announce_starts(target, &opened);
    }
    let watching = match opened.as_slice() {
        [only] => stats.start(only, reads)?,
        _ if stats.is_asked() => return Err(of_one_image("--stats and --record")),
        _ => None,
    };
    let mut images: Vec<_> = match &watching {
        Some(watching) => vec![watching.image()],
        None => opened.iter().map(|image| Arc::clone(image.raw())).collect(),
    };
    let names: Vec<_> = target.images.iter().map(|image| fsname(image)).collect();
    let prints = args.foreground && settings.image.salvage;
    let damage = args.damage.start(prints, &mut images, &names)?;
    let mut mounted = match (images.as_slice(), is_stack) {
        ([image], false) => {
            let image = Arc::clone(image);
            sinterfs::mount::mount(image, target.dir, &settings.mount, method(args))?
        }
        _ => sinterfs::mount::mount_layers(
            &images,
            settings.upper.as_ref(),
            target.dir,
            &settings.mount,
            method(args),
        )?,
    };
    if let Some(error) = &mounted.fell_back {
        let why = flags::message(error);
        text::warn(&format!("{}mounted through FUSE: {why}", target.prefix()));
    }
    for loss in &mounted.losses {
        text::warn(&format!(
            "{}not visible through the kernel: {loss}",
            target.prefix(),
        ));
    }
    if let Some(category) = settings.preload {
        preload(&opened, category)?;
    }
    if let Some(after) = settings.unmount_after {
        mounted.session.unmount_when_idle(after)?;
    }
    let shares = settings.image.cache.is_some();
    let own = opened.iter().filter(|_| !shares);
    let idle = own.map(|image| CacheTrimmer::start(image, settings.idle));
    Ok(Some(Attached {
        session: mounted.session,
        _temporary: None,
        watching,
        damage,
        _idle: idle.collect::<Result<_>>()?,
    }))
}

/// Decodes a category of the images' content while they are mounted. What cannot be decoded is an
/// error of who reads it.
fn preload(opened: &[Image], category: String) -> Result<()> {
    let images = opened.to_vec();
    let work = move || {
        for image in images {
            let _ = image.preload(&category);
        }
    };
    let thread = std::thread::Builder::new()
        .name("preload".into())
        .spawn(work);
    let started = thread.map_err(|error| Error::io("cannot start a thread", error));
    started.map(drop)
}

/// Has what remote images name as needed first fetched. Without it they are mounted all the same.
fn announce_starts(target: &MountTarget<'_>, opened: &[Image]) {
    let images = target.images.iter().zip(opened);
    for (path, image) in images.filter(|(path, _)| sinterfs::is_url(path)) {
        if let Err(error) = image.announce_start() {
            let error = flags::message(&error.path(sinterfs::shown(path)));
            text::warn(&format!(
                "nothing is fetched ahead of the first reads: {error}"
            ));
        }
    }
}

impl MountTarget<'_> {
    /// Returns what precedes messages where there are several targets.
    fn prefix(&self) -> String {
        match self.common {
            Some(_) => format!("{}: ", text::name(self.dir.as_os_str().as_bytes())),
            None => String::new(),
        }
    }
}

/// Opens the images and checks the options, but does not mount.
pub(super) fn try_out(args: &Args, target: &MountTarget<'_>) -> Result<()> {
    sinterfs::mount::check_layers(target.images.len())?;
    let settings = settings(args, target)?;
    open_all(target, &settings.image).map(drop)
}

/// Opens all images, which share the size of the cache. Fails if there are several, and an option
/// that can mean one image only.
fn open_all(target: &MountTarget<'_>, options: &OpenOptions) -> Result<Vec<Image>> {
    let count = target.images.len();
    let mut options = options.clone();
    if count > 1 {
        if let Some(name) = option_of_one_image(&options) {
            return Err(of_one_image(name));
        }
        options.cache_bytes /= count as u64;
    }
    let mut each = vec![options; count];
    if count > 1 {
        // some layers may be no composefs images
        sinterfs::keep_applicable(&target.images, &mut each)?;
    }
    let open = |(path, options): (&&Path, &OpenOptions)| {
        let opened = sinterfs::open_with(path, options)?;
        opened.reserve_cache();
        input::print_warnings(&opened, path);
        Ok(opened)
    };
    target.images.iter().zip(&each).map(open).collect()
}

/// Returns the name of an option that is given and can mean one image only.
pub(super) fn option_of_one_image(options: &OpenOptions) -> Option<&'static str> {
    let of_one = |trust: &Trust| {
        let is_one = matches!(
            trust.anchor,
            Anchor::Digest(_)
                | Anchor::FsVerity(_)
                | Anchor::Signature {
                    signature: Some(_),
                    ..
                }
        );
        is_one || trust.digests.is_some()
    };
    let given = [
        (options.offset.is_some(), "the offset"),
        (!options.devices.is_empty(), "--device"),
        (options.image.is_some(), "--image"),
        (
            options.trust.as_deref().is_some_and(of_one),
            "the digest or signature",
        ),
    ];
    let mut given = given.into_iter().filter(|(is_given, _)| *is_given);
    given.next().map(|(_, name)| name)
}

fn of_one_image(option: &str) -> Error {
    Error::invalid(format!(
        "{option} can be given for one image only, not for layers"
    ))
}

/// Returns what the flags and the mount options set.
fn settings(args: &Args, target: &MountTarget<'_>) -> Result<Settings> {
    let (mut image, mut mount) = (args.image.options(), MountOptions::default());
    image.verify_objects = args.verify;
    image.salvage = args.damage.salvage;
    if args.image.cache_size.is_none() {
        image.cache_bytes = sinterfs::mount::default_cache_bytes();
    }
    let first = target.images.first().copied().unwrap_or(Path::new(""));
    let default = if sinterfs::is_url(first) {
        // most of them wait for the network
        REMOTE_THREADS
    } else {
        0
    };
    mount.threads = args.threads.map_or(default, usize::from);
    let names: Vec<_> = target.images.iter().map(|image| fsname(image)).collect();
    mount.fsname = names.join(":");
    mount.image = first.canonicalize().ok();
    mount.catch_signals = true;
    let mut settings = Settings {
        fetch: args.fetch.wishes(),
        image,
        mount,
        record: None,
        preload: None,
        idle: Duration::from_secs(args.idle),
        unmount_after: args.idle_unmount.map(Duration::from_secs),
        upper: args.overlay.as_deref().map(mount_options::upper),
        read_only: None,
        is_proved: false,
    };
    settings.is_proved = settings.image.trust.is_some();
    for option in args
        .options
        .iter()
        .flat_map(|all| mount_options::split(all))
    {
        let is_default = args.called_by_mount && option == "rw";
        if is_default || args.sloppy && !mount_options::is_known(option) {
            continue;
        }
        mount_options::apply(option, &mut settings)?;
    }
    if let Some(common) = target.common {
        settings.is_proved = false;
        join(
            common,
            target.options,
            args.threads.is_some(),
            &mut settings,
        )?;
    }
    mount_options::check_writable(&settings)?;
    check_verify(args, target, &settings.image)?;
    if settings.fetch.are_of(target.images.iter().copied())? {
        remote::fetch(&settings.fetch, &mut settings.image)?;
    }
    Ok(settings)
}

/// Fails if objects are to be verified and none are named. What is asked of all images of a list
/// applies to those that have objects.
fn check_verify(args: &Args, target: &MountTarget<'_>, image: &OpenOptions) -> Result<()> {
    let of_line = mount_options::split(target.options).any(mount_options::verifies);
    let is_asked = match target.common {
        Some(_) => of_line,
        None => image.verify_objects,
    };
    if !is_asked || image.objects.is_some() {
        return Ok(());
    }
    Err(Error::invalid(if args.verify && !of_line {
        "--verify is about the objects of a composefs image: --objects names their directory"
    } else {
        "mount option `verify` is about the objects of a composefs image: the option `objects`, or \
         --objects, names their directory"
    }))
}

/// Applies the options of a line; an image whose line does not set the size of its cache uses the
/// common one.
fn join(
    common: &Common,
    options: &str,
    threads_given: bool,
    settings: &mut Settings,
) -> Result<()> {
    let (bytes, idle) = (settings.image.cache_bytes, settings.idle);
    if !threads_given {
        let usual = match settings.mount.threads {
            0 => settings.mount.thread_count(),
            count => count,
        };
        settings.mount.threads = usual.min(common.threads);
    }
    let is_size = |option: &str| option.starts_with("cachesize=");
    let mut has_own = false;
    for option in mount_options::split(options) {
        has_own |= is_size(option);
        mount_options::apply(option, settings)?;
    }
    if has_own {
        return Ok(());
    }
    if settings.idle != idle {
        return Err(Error::invalid(
            "mount option `idle`: the cache is that of all images; give --idle, or `cachesize` for \
             a cache of its own",
        ));
    }
    settings.image.cache_bytes = bytes;
    settings.image.cache.clone_from(&common.cache.cache);
    Ok(())
}

/// Returns how to mount.
fn method(args: &Args) -> MountMethod {
    if args.kernel {
        MountMethod::Kernel
    } else if args.fuse {
        MountMethod::Fuse
    } else {
        MountMethod::Auto
    }
}

/// Returns the source that `mount` and `df` show: the full path of the image.
fn fsname(image: &Path) -> String {
    if sinterfs::is_url(image) {
        return text::name(sinterfs::shown(image).as_os_str().as_bytes());
    }
    let full = std::path::absolute(image).unwrap_or_else(|_| image.to_owned());
    text::name(full.as_os_str().as_bytes())
}
