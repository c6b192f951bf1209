//! `sinter mount`: mounts an image through EROFS of the kernel or through FUSE, in the background.
//!
//! For the background, the program starts itself again with `--report-ready`, detached from the
//! terminal, and returns when that process reports that the mount is usable, or has failed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use sinterfs::mount::{CacheTrimmer, MountMethod, MountOptions, Session, daemon};
use sinterfs::platform::names;
use sinterfs::verify::{Anchor, Trust};
use sinterfs::{Error, Image, Kind, OpenOptions, Result};

use crate::args::damage::{DamageArgs, DamageLog};
use crate::args::input::{self, ImageArgs};
use crate::args::stats::{MountStats, StatsArgs};
use crate::mount_options::{self, Settings};
use crate::{flags, hidden_words, text};

/// The threads that answer requests to a remote image.
const REMOTE_THREADS: usize = 16;

/// Mount an image on a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter mount image.dwarfs /mnt
      Mount an image, and return when it is usable.
  sinter mount -f image.dwarfs /mnt
      Stay in the foreground until it is unmounted, or until Ctrl-C.
  sinter mount image.dwarfs /mnt -o allow_other,cachesize=1g
      Set mount options.
  sinter mount --kernel image.dwarfs /mnt
      Mount through EROFS of the kernel, or fail (root only).
  sinter mount --fuse image.dwarfs /mnt
      Mount through FUSE, even as root.
  sinter mount --record list image.dwarfs /mnt
  /mnt/bin/app --version; sinter umount /mnt
  sinter build DIR -o fast.dwarfs --hot list
      Store the files that a program reads at its start first.
  sinter mount --stats s.json image.dwarfs /mnt
      Write counters of reads and of the cache.
  sinter mount --kernel image.cfs /mnt --objects /store
      Mount a composefs image through EROFS and overlayfs; no process remains.
  sinter mount --salvage -f damaged.dwarfs /mnt
      Mount a damaged image, and name each file that is read and cannot be.
  sinter mount --overlay changes image.dwarfs /mnt
      Mount it writable, and store what is changed in changes/upper.
  sinter mount --overlay tmpfs image.dwarfs /mnt
      Mount it writable; changes are lost when it is unmounted.
  sinter mount patch.dwarfs base.dwarfs /mnt
      Mount two images as layers: files of the first hide those of the second.
  sinter mount --digest HEX image.dwarfs /mnt
      Show only data with this root digest.
  sinter mount --signed-by vendor.pub image.dwarfs /mnt
      Show only data whose root digest was signed with this key.

As root, and unless --fuse is given, images of all formats are mounted through EROFS of the \
kernel: it has all names and attributes, and asks for file data only. The metadata it needs is \
made at mount time (half a second and 150 MB for a million files). Only modification times are \
visible then, and du(1) does not see holes. If an image has attributes that EROFS does not \
support or more than 4 million files, or if the kernel lacks support (before Linux 6.12 without \
loop devices), the image is mounted through FUSE, with a warning. `sinter umount` and umount(8) \
end both kinds of mounts.

--overlay and several images use overlayfs of the kernel, which needs CAP_SYS_ADMIN: root, or a \
shell of `unshare --map-root-user --mount`. Only the mount on DIR is visible; unmounting it in any \
way ends those of the images. docs/mounts.md has the details.

With --kernel and --objects, the kernel reads the image and the objects itself, and verifies the \
fs-verity digests of objects if the file system of the store has them; otherwise --verify hashes \
all objects before the mount.

Mount options: allow_other, allow_root, auto_unmount, default_permissions, fsname=NAME, \
subtype=NAME, overlay=UPPER, dev, suid, noexec, uid=N, gid=N, umask=MODE, context=LABEL, \
timeout=SECONDS, digest=HEX, signed_by=KEY, offset=N, cachesize=SIZE, workers=N, and those of \
mount(8) and fstab(5). \
`mount -t sinter` and lines of fstab work where the program is also installed as \
/sbin/mount.sinter; docs/fstab.md has examples.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The mount point. Further images before it are layers below the first one.
    #[arg(value_name = "[IMAGE].. DIR", required = true, num_args = 1..)]
    operands: Vec<PathBuf>,

    /// Stay in the foreground.
    #[arg(short, long)]
    foreground: bool,

    /// Mount options, separated by commas.
    #[arg(short, value_name = "OPTION,..")]
    options: Vec<String>,

    /// Make the mount writable by overlayfs: changes are stored in the directories `upper` and
    /// `work` of this directory, which are made if they are missing. `tmpfs` keeps changes in
    /// memory.
    #[arg(long, value_name = "UPPER")]
    overlay: Option<PathBuf>,

    /// Verify each object of a composefs image by its digest in the image before its data is shown.
    #[arg(long)]
    verify: bool,

    /// The number of threads that answer requests (default: 4 to 16, by the number of processors,
    /// at most one for each 64 MiB of a limit of memory; 16 for a remote image).
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Mount through EROFS of the kernel, or fail (root only; without this flag FUSE is the
    /// fallback).
    #[arg(long, conflicts_with = "fuse")]
    kernel: bool,

    /// Mount through FUSE, even if the kernel could mount the image itself.
    #[arg(long, alias = "no-kernel")]
    fuse: bool,

    /// Free decoded blocks after this time without reads. They are also freed when the system is
    /// short of memory.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    idle: u64,

    /// Unmount the image when nobody has used it for this time.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    idle_unmount: Option<u64>,

    /// Do not decode ahead. By default, when readers often wait for decoders, idle processors
    /// decode the rest of the blocks being read, as far as it fits in the cache.
    #[arg(long)]
    no_ahead: bool,

    #[command(flatten)]
    damage: DamageArgs,

    #[command(flatten)]
    stats: StatsArgs,

    /// Ignore mount options that are not known.
    #[arg(long, hide = true)]
    sloppy: bool,

    /// Take the mount option `rw`, which mount(8) passes by default.
    #[arg(long, hide = true)]
    called_by_mount: bool,

    /// Open the image and check the options, but do not mount.
    #[arg(long, hide = true)]
    dry_run: bool,

    /// Report on standard output when the mount is usable, then close it.
    #[arg(long, hide = true)]
    report_ready: bool,
}

/// Mounts an image. `words` is the command line, with the verb as its second word.
pub fn run(args: &Args, words: &[OsString]) -> Result<ExitCode> {
    sinterfs::mount::return_freed_memory();
    if args.dry_run {
        let settings = settings(args)?;
        open_all(args, &settings.image)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.foreground {
        serve(attach(args)?)
    } else if args.report_ready {
        daemon::detach_from_terminal()?;
        let mounted = attach(args);
        daemon::report_to_parent(mounted.as_ref().map(|_| ()))?;
        // the parent shows the failure
        mounted.map_or(Ok(ExitCode::FAILURE), serve)
    } else {
        in_background(words)
    }
}

/// A mount that this process serves.
struct Attached {
    session: Session,
    watching: Option<MountStats>,
    damage: DamageLog,
    _idle: Vec<CacheTrimmer>,
}

impl Args {
    /// Returns the mount point.
    fn directory(&self) -> &Path {
        self.operands.last().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Returns the images, the topmost first.
    fn images(&self) -> impl Iterator<Item = &Path> {
        let further = self.operands.split_last().map_or(&[][..], |(_, rest)| rest);
        let first = std::iter::once(&self.image.image);
        first.chain(further).map(PathBuf::as_path)
    }
}

/// Opens and mounts the images; `None` if the mount needs no process.
fn attach(args: &Args) -> Result<Option<Attached>> {
    let settings = settings(args)?;
    let stats = args.stats.recording(settings.record.clone());
    let is_stack = settings.upper.is_some() || args.images().count() > 1;
    if args.kernel && settings.image.objects.is_some() && !is_stack {
        if stats.is_asked() || args.damage.is_asked() || settings.image.salvage {
            return Err(Error::invalid(
                "--stats, --record, --salvage and --damage-log need a mount that this program \
                 serves: remove --kernel",
            ));
        }
        let (image, options) = (&settings.image, &settings.mount);
        match sinterfs::mount::mount_overlay(&args.image.image, image, args.directory(), options) {
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == Kind::Corrupt => return Err(error),
            Err(error) => {
                let why = flags::message(&error);
                text::warn(&format!("mounted without overlayfs: {why}"));
            }
        }
    }
    let opened = open_all(args, &settings.image)?;
    if !args.no_ahead {
        opened.iter().for_each(Image::decode_ahead);
    }
    let watching = match opened.as_slice() {
        [only] => stats.start(only)?,
        _ if stats.is_asked() => return Err(of_one_image("--stats and --record")),
        _ => None,
    };
    let mut images: Vec<_> = match &watching {
        Some(watching) => vec![watching.image()],
        None => opened.iter().map(|image| Arc::clone(image.raw())).collect(),
    };
    let names: Vec<_> = args.images().map(fsname).collect();
    let prints = args.foreground && settings.image.salvage;
    let damage = args.damage.start(prints, &mut images, &names)?;
    let mut mounted = match (images.as_slice(), is_stack) {
        ([image], false) => {
            let image = Arc::clone(image);
            sinterfs::mount::mount(image, args.directory(), &settings.mount, method(args))?
        }
        _ => sinterfs::mount::mount_layers(
            &images,
            settings.upper.as_ref(),
            args.directory(),
            &settings.mount,
            method(args),
        )?,
    };
    if let Some(error) = &mounted.fell_back {
        let why = flags::message(error);
        text::warn(&format!("mounted through FUSE: {why}"));
    }
    for loss in &mounted.losses {
        text::warn(&format!(
            "not visible through the kernel: {} {}",
            loss.count, loss.what
        ));
    }
    if let Some(after) = settings.unmount_after {
        mounted.session.unmount_when_idle(after)?;
    }
    let idle = opened
        .iter()
        .map(|image| CacheTrimmer::start(image, settings.idle));
    Ok(Some(Attached {
        session: mounted.session,
        watching,
        damage,
        _idle: idle.collect::<Result<_>>()?,
    }))
}

/// Opens all images, which share the size of the cache. Fails if there are several, and an option
/// that can mean one image only.
fn open_all(args: &Args, options: &OpenOptions) -> Result<Vec<Image>> {
    let count = args.images().count();
    let mut options = options.clone();
    if count > 1 {
        let of_one = |trust: &Trust| {
            let is_one = matches!(
                trust.anchor,
                Anchor::Digest(_)
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
        if let Some((_, name)) = given.iter().find(|(is_given, _)| *is_given) {
            return Err(of_one_image(name));
        }
        options.cache_bytes /= count as u64;
    }
    let open = |path| {
        let opened = sinterfs::open_with(path, &options)?;
        input::print_warnings(&opened, path);
        Ok(opened)
    };
    args.images().map(open).collect()
}

fn of_one_image(option: &str) -> Error {
    Error::invalid(format!(
        "{option} can be given for one image only, not for layers"
    ))
}

/// Returns what the flags and the mount options set.
fn settings(args: &Args) -> Result<Settings> {
    let (mut image, mut mount) = (args.image.options(), MountOptions::default());
    image.verify_objects = args.verify;
    image.salvage = args.damage.salvage;
    if args.image.cache_size.is_none() {
        image.cache_bytes = sinterfs::mount::default_cache_bytes();
    }
    let default = if sinterfs::is_url(&args.image.image) {
        // most of them wait for the network
        REMOTE_THREADS
    } else {
        0
    };
    mount.threads = args.threads.map_or(default, usize::from);
    let names: Vec<_> = args.images().map(fsname).collect();
    mount.fsname = names.join(":");
    mount.image = args.image.image.canonicalize().ok();
    mount.catch_signals = true;
    let mut settings = Settings {
        image,
        mount,
        record: None,
        idle: Duration::from_secs(args.idle),
        unmount_after: args.idle_unmount.map(Duration::from_secs),
        upper: args.overlay.as_deref().map(mount_options::upper),
        read_only: None,
    };
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
    mount_options::check_writable(&settings)?;
    Ok(settings)
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
        return text::name(&names::bytes(&sinterfs::shown(image)));
    }
    let full = std::path::absolute(image).unwrap_or_else(|_| image.to_owned());
    text::name(&names::bytes(&full))
}

/// Serves the mount until it is unmounted or a signal ends the process.
fn serve(attached: Option<Attached>) -> Result<ExitCode> {
    if let Some(mut attached) = attached {
        let served = attached.session.serve();
        attached.damage.finish();
        served?;
        if let Some(watching) = attached.watching {
            watching.finish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts this program again as the serving process, and waits until it is ready.
fn in_background(words: &[OsString]) -> Result<ExitCode> {
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
    command.args(words.by_ref().take(1)).arg("--report-ready");
    daemon::start(command.args(words))?;
    Ok(ExitCode::SUCCESS)
}
