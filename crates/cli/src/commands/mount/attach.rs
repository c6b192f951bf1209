//! Mounts one image, or several as layers, for `sinter mount`.
//!
//! In: the flags, and what is mounted where. Out: a mount that this process serves.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use sinterfs::mount::{MountMethod, Mounter, Session};
use sinterfs::{Error, OpenOptions, Result};

use super::args::Args;
use crate::args::remote;
use crate::mount_options::{self, Settings};
use crate::{flags, text};

/// What is mounted where.
#[derive(Debug)]
pub(super) struct MountTarget<'a> {
    /// The images, the topmost first.
    pub(super) images: Vec<&'a Path>,
    /// The mount point.
    pub(super) dir: &'a Path,
    /// Mount options in addition to the command line's.
    pub(super) options: &'a str,
    /// What images of a list share.
    pub(super) shared: Option<&'a Mounter>,
}

/// Opens and mounts the images; `None` if the mount needs no process.
pub(super) fn attach(args: &Args, target: &MountTarget<'_>) -> Result<Option<Session>> {
    let mut mounted = mounter(args, target)?.mount(&target.images, target.dir)?;
    let prefix = match target.shared {
        Some(_) => format!("{}: ", text::name(target.dir.as_os_str().as_bytes())),
        None => String::new(),
    };
    for warning in mounted.take_warnings() {
        text::warn(&format!("{prefix}{}", flags::message(&warning)));
    }
    Ok(mounted.session)
}

/// Opens the images and checks the options, but does not mount.
pub(super) fn try_out(args: &Args, target: &MountTarget<'_>) -> Result<()> {
    let warnings = mounter(args, target)?.check(&target.images)?;
    warnings.iter().for_each(warn);
    Ok(())
}

fn warn(warning: &Error) {
    text::warn(&flags::message(warning));
}

/// Returns how to mount, by the flags and the mount options.
fn mounter(args: &Args, target: &MountTarget<'_>) -> Result<Mounter> {
    let mut settings = Settings {
        mounter: by_flags(args),
        fetch: args.fetch.wishes(),
        ..Settings::default()
    };
    settings.is_proved = settings.mounter.open.trust.is_some();
    let options = args.options.iter();
    for option in options.flat_map(|all| mount_options::split(all)) {
        let is_default = args.called_by_mount && option == "rw";
        if is_default || args.sloppy && !mount_options::is_known(option) {
            continue;
        }
        mount_options::apply(option, &mut settings)?;
    }
    if let Some(shared) = target.shared {
        settings.is_proved = false;
        join(shared, target.options, &mut settings)?;
    }
    mount_options::check_writable(&settings)?;
    let mut mounter = settings.mounter;
    check_verify(args, target, &mounter.open)?;
    if settings.fetch.are_of(target.images.iter().copied())? {
        remote::fetch(&settings.fetch, &mut mounter.open)?;
    }
    let prints = args.foreground && mounter.open.salvage;
    mounter.damage = args.damage.log(prints);
    Ok(mounter)
}

/// Returns what the flags set.
fn by_flags(args: &Args) -> Mounter {
    let default = Mounter::default();
    let mut mounter = Mounter {
        open: args.image.options(),
        method: method(args),
        upper: args.overlay.as_deref().map(mount_options::upper),
        decode_ahead: !args.no_ahead,
        trim_after: Duration::from_secs(args.idle),
        unmount_after: args.idle_unmount.map(Duration::from_secs),
        stats: args.stats.stats.clone(),
        record: args.stats.record.clone(),
        warn,
        ..default
    };
    if args.image.cache_size.is_none() {
        mounter.open.cache_bytes = default.open.cache_bytes;
    }
    mounter.open.verify_objects = args.verify;
    mounter.open.salvage = args.damage.salvage;
    mounter.options.threads = args.threads.map_or(0, usize::from);
    mounter.options.catch_signals = true;
    mounter
}

/// Fails if objects are to be verified and none are named. Options for all images of a list apply
/// to images that have objects.
fn check_verify(args: &Args, target: &MountTarget<'_>, image: &OpenOptions) -> Result<()> {
    let of_line = mount_options::split(target.options).any(mount_options::verifies);
    let is_asked = match target.shared {
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
/// shared one.
fn join(shared: &Mounter, options: &str, settings: &mut Settings) -> Result<()> {
    let (bytes, idle) = (
        settings.mounter.open.cache_bytes,
        settings.mounter.trim_after,
    );
    settings.mounter.most_threads = shared.most_threads;
    let mut has_own = false;
    for option in mount_options::split(options) {
        has_own |= option.starts_with("cachesize=");
        mount_options::apply(option, settings)?;
    }
    if has_own {
        return Ok(());
    }
    if settings.mounter.trim_after != idle {
        return Err(Error::invalid(
            "mount option `idle`: all images share one cache; give --idle, or `cachesize` for a \
             separate cache",
        ));
    }
    settings.mounter.open.cache_bytes = bytes;
    settings.mounter.open.cache.clone_from(&shared.open.cache);
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
