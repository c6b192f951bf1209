//! `sinter mount`: serves an image through the kernel's EROFS or through FUSE, in the background once it can be
//! used.
//!
//! In the background means: the program starts itself anew with `--report-ready`, detached from the
//! terminal, and returns when that one says that the mount is usable, or with its exit code.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use sinterfs::{
    Error, IdleWatch, Kind, MountOptions, Proof, Result, Session, Through, Word, daemon,
};

use crate::args::input::ImageArgs;
use crate::args::stats::{MountStats, StatsArgs};
use crate::{flags, size, text};

/// Mount an image on a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter mount image.dwarfs /mnt               returns when the mount is usable
  sinter mount -f image.dwarfs /mnt            stays in the foreground until unmounted or Ctrl-C
  sinter mount image.dwarfs /mnt -o allow_other,cachesize=1g
  sinter mount --kernel image.dwarfs /mnt      as root: by the kernel's EROFS, or not at all
  sinter mount --fuse image.dwarfs /mnt        through FUSE, for root too
  sinter mount --record list image.dwarfs /mnt && /mnt/bin/app --version && sinter umount /mnt
  sinter build DIR -o fast.dwarfs --hot list   what the program read stands at the front, in small blocks
  sinter mount --stats s.json image.dwarfs /mnt
  sinter mount --kernel image.cfs /mnt --objects /store
                                               composefs: by EROFS and overlayfs; nothing is left running
  sinter mount --digest HEX image.dwarfs /mnt  only bytes that this root digest is of
  sinter mount --signed-by vendor.pub image.dwarfs /mnt
                                               only bytes of which the key's owner has signed the digest

As root, and unless --fuse is given, the kernel's own EROFS shows the image: it knows all names and
attributes, and asks for content only. What it needs is made when the image is mounted: half a second
and 150 MB for a million files. It shows the time of modification in place of all others, and to du(1)
files with holes as if they had none. Where an image has other times or attributes that EROFS has no
place for, where it has more than 4 million files, or where the kernel cannot (Linux before 6.12
without loop devices), the mount goes through FUSE and says why.
`sinter umount` and umount(8) end either kind.

With --kernel and --objects the kernel reads image and objects itself, and compares the objects'
fs-verity digests where the store's file system keeps them; where it does not, --verify hashes all
objects before anything is mounted.

Mount options: ro, allow_other, default_permissions, fsname=NAME, subtype=NAME, dev, suid, noexec,
uid=N, gid=N, umask=MODE, digest=HEX, signed_by=KEY, and as other tools name them: offset=N,
cachesize=SIZE, workers=N.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The directory to mount on.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Stay in the foreground.
    #[arg(short, long)]
    foreground: bool,

    /// Mount options, separated by commas.
    #[arg(short, value_name = "OPTION,..", value_delimiter = ',')]
    options: Vec<String>,

    /// Hash each object of a composefs image before its first byte is shown, and refuse it if its
    /// digest is not the image's.
    #[arg(long)]
    verify: bool,

    /// How many threads answer requests (default: what suits the machine, 4 to 16).
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Through the kernel's EROFS or not at all (for root; without this flag FUSE stands in).
    #[arg(long, conflicts_with = "fuse")]
    kernel: bool,

    /// Through FUSE, even where the kernel could do more of the work.
    #[arg(long, alias = "no-kernel")]
    fuse: bool,

    /// Forget decoded blocks after so many seconds without reads; they are forgotten, too, when the system
    /// runs short of memory.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    idle: u64,

    /// Decode nothing before it is read. Otherwise, while readers wait for decoders more often than now and
    /// then, other processors decode the rest of the blocks that they are in, as far as it fits the cache.
    #[arg(long)]
    no_ahead: bool,

    #[command(flatten)]
    stats: StatsArgs,

    /// Tell on standard output that the mount is usable, then let go of the terminal.
    #[arg(long, hide = true)]
    report_ready: bool,
}

/// Mounts.
pub fn run(args: &Args) -> Result<ExitCode> {
    sinterfs::keep_little();
    if args.foreground {
        serve(attach(args)?)
    } else if args.report_ready {
        daemon::detach_from_terminal()?;
        let mounted = attach(args);
        daemon::tell_parent(mounted.as_ref().map(|_| ()))?;
        // a failure has been told to the parent, who shows it
        mounted.map_or(Ok(ExitCode::FAILURE), serve)
    } else {
        in_background()
    }
}

/// A mount that this process serves.
struct Attached {
    session: Session,
    watching: Option<MountStats>,
    _idle: IdleWatch,
}

/// Opens and mounts the image; `None` if no process is to serve it.
fn attach(args: &Args) -> Result<Option<Attached>> {
    let (mut image, mut options) = (args.image.options(), MountOptions::default());
    image.verify_objects = args.verify;
    if args.image.cache_size.is_none() {
        image.cache_bytes = sinterfs::cache_of_mount();
    }
    options.threads = args.threads.map_or(0, usize::from);
    options.fsname = fsname(&args.image.image);
    options.catch_signals = true;
    for option in args.options.iter().filter(|option| !option.is_empty()) {
        apply(option, &mut image, &mut options)?;
    }
    if args.kernel && image.objects.is_some() {
        if args.stats.is_asked() {
            return Err(Error::invalid(
                "the kernel reads image and objects itself, so that nobody can count: leave out --kernel",
            ));
        }
        match sinterfs::mount_objects(&args.image.image, &image, &args.directory, &options) {
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == Kind::Corrupt => return Err(error),
            Err(error) => {
                let why = flags::message(&error);
                text::warn(&format!("mounted without overlayfs: {why}"));
            }
        }
    }
    let opened = sinterfs::open(&args.image.image, &image)?;
    if !args.no_ahead {
        opened.decode_ahead();
    }
    let through = match (args.kernel, args.fuse) {
        (true, _) => Through::Kernel,
        (_, true) => Through::Fuse,
        _ => Through::Best,
    };
    let watching = args.stats.start(&opened)?;
    let image = match &watching {
        Some(watching) => watching.image(),
        None => Arc::clone(opened.image()),
    };
    let mounted = sinterfs::mount(image, &args.directory, &options, through)?;
    if let Some(error) = &mounted.fell_back {
        let why = flags::message(error);
        text::warn(&format!("mounted through FUSE: {why}"));
    }
    for loss in &mounted.losses {
        text::warn(&format!(
            "not shown by the kernel: {} {}",
            loss.count, loss.what
        ));
    }
    Ok(Some(Attached {
        session: mounted.session,
        watching,
        _idle: IdleWatch::start(&opened, Duration::from_secs(args.idle))?,
    }))
}

/// Returns what `mount` and `df` show as the source: the image's full path.
fn fsname(image: &Path) -> String {
    let full = std::path::absolute(image).unwrap_or_else(|_| image.to_owned());
    text::name(full.as_os_str().as_bytes())
}

/// Serves until the file system is unmounted or a signal asks to end.
fn serve(attached: Option<Attached>) -> Result<ExitCode> {
    if let Some(mut attached) = attached {
        attached.session.serve()?;
        if let Some(watching) = attached.watching {
            watching.finish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts this program anew as the serving process and waits for its word.
fn in_background() -> Result<ExitCode> {
    let own = std::env::current_exe().map_err(|e| Error::io("cannot find this program", e))?;
    // in front of what may end options by `--`
    let mut words = std::env::args_os().skip(1);
    let mut command = Command::new(own);
    command.args(words.by_ref().take(1)).arg("--report-ready");
    daemon::start(command.args(words))?;
    Ok(ExitCode::SUCCESS)
}

fn apply(option: &str, image: &mut sinterfs::OpenOptions, mount: &mut MountOptions) -> Result<()> {
    let id = |value: &str| {
        value
            .parse()
            .map_err(|_| Error::invalid(format!("mount option `{option}`: not a number")))
    };
    let umask = |value: &str| match u16::from_str_radix(value, 8) {
        Ok(mask) if mask <= 0o777 => Ok(mask),
        _ => Err(Error::invalid(format!(
            "mount option `{option}`: not an octal mask"
        ))),
    };
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    let number = |value: &str| {
        size::parse(value).map_err(|why| Error::invalid(format!("mount option `{option}`: {why}")))
    };
    match name {
        "ro" | "nodev" | "nosuid" | "exec" => {}
        // for mount(8) and fstab(5), or without a meaning where nothing is written
        "defaults" | "auto" | "noauto" | "nofail" | "_netdev" | "user" | "nouser" | "noatime"
        | "nodiratime" | "relatime" | "async" => {}
        "dev" => mount.dev = true,
        "suid" => mount.suid = true,
        "noexec" => mount.exec = false,
        "subtype" => mount.subtype = value.to_owned(),
        "uid" => mount.uid = Some(id(value)?),
        "gid" => mount.gid = Some(id(value)?),
        "umask" => mount.umask = umask(value)?,
        "rw" => return Err(Error::invalid("mount option `rw`: images are read-only")),
        "allow_other" => mount.allow_other = true,
        "default_permissions" => mount.default_permissions = true,
        "fsname" => mount.fsname = value.to_owned(),
        "offset" if value == "auto" => image.offset = None,
        "offset" => image.offset = Some(number(value)?),
        "device" => image.devices.push(value.into()),
        "objects" => image.objects = Some(value.into()),
        "verify" => image.verify_objects = true,
        "digest" => prove(image, Word::Known(value.parse()?)),
        "signed_by" => {
            let (key, signature) = (value.into(), None);
            prove(image, Word::Signed { key, signature });
        }
        "cachesize" => image.cache_bytes = number(value)?,
        "workers" => mount.threads = usize::try_from(number(value)?).unwrap_or(1).clamp(1, 1024),
        _ => {
            return Err(Error::invalid(format!(
                "unknown mount option `{option}` (see sinter mount --help)"
            )));
        }
    }
    Ok(())
}

/// Adds whose word is taken for the image, in place of what was asked before.
fn prove(image: &mut sinterfs::OpenOptions, word: Word) {
    image.proof = Some(Box::new(Proof {
        word,
        digests: image.proof.take().and_then(|proof| proof.digests),
        image: None,
    }));
}
