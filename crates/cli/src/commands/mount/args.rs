//! The flags of `sinter mount`.

use std::path::{Path, PathBuf};

use crate::args::damage::DamageArgs;
use crate::args::fetch::FetchArgs;
use crate::args::input::ImageArgs;
use crate::args::stats::StatsArgs;

/// Mount an image on a directory.
#[derive(Debug, clap::Args)]
#[command(override_usage = "\
sinter mount [OPTIONS] <IMAGE>... <DIR>
       sinter mount [OPTIONS] --all <LIST>")]
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
  sinter mount --prefetch list https://host/image.squashfs /mnt
      Fetch at once what was read when that list was recorded.
  sinter mount --fill=20M https://host/image.dwarfs /mnt
      Fetch the rest of the image meanwhile, 20 MiB a second.
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
  sinter mount --all images.list
      Mount what each line of the list names: IMAGE DIR [OPTIONS].
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

The list of --all has an image or URL, a directory and perhaps options in each line, separated by \
blanks; \\040 is a space in a name, and lines that begin with # are comments. The images share \
--cache-size (one with the option cachesize has a cache of its own) and are unmounted one by one, \
or together by a signal to the server. A line that fails is reported with its number and keeps no \
other from being mounted; the exit code is 1 then. Lines with the option noauto, and images that \
are mounted there already, are left out; an image with the option nofail may be missing.

With --kernel and --objects, the kernel reads the image and the objects itself, and verifies the \
fs-verity digests of objects if the file system of the store has them; otherwise --verify hashes \
all objects before the mount.

Mount options: allow_other, allow_root, auto_unmount, default_permissions, fsname=NAME, \
subtype=NAME, overlay=UPPER, dev, suid, noexec, uid=N, gid=N, umask=MODE, context=LABEL, \
timeout=SECONDS, digest=HEX, fs_verity=HEX, signed_by=KEY, offset=N, cachesize=SIZE, workers=N, \
prefetch=LIST, fill[=RATE], and those of mount(8) and fstab(5); docs/fstab.md has all of them. \
`mount -t sinter` and lines of fstab work where the program is also installed as \
/sbin/mount.sinter.")]
pub struct Args {
    #[command(flatten)]
    pub(super) image: ImageArgs,

    /// The mount point. Further images before it are layers below the first one.
    #[arg(value_name = "DIR", required_unless_present = "all", num_args = 1..)]
    pub(super) operands: Vec<PathBuf>,

    /// Mount all images of a list, with one server and one cache: IMAGE is a file with lines of
    /// `IMAGE DIR [OPTIONS]`, or `-` for standard input.
    #[arg(short, long, conflicts_with_all = ["operands", "overlay"])]
    pub(super) all: bool,

    /// Stay in the foreground.
    #[arg(short, long)]
    pub(super) foreground: bool,

    /// Mount options, separated by commas.
    #[arg(short, value_name = "OPTION,..")]
    pub(super) options: Vec<String>,

    /// Make the mount writable by overlayfs: changes are stored in the directories `upper` and
    /// `work` of this directory, which are made if they are missing. `tmpfs` keeps changes in
    /// memory.
    #[arg(long, value_name = "UPPER")]
    pub(super) overlay: Option<PathBuf>,

    /// Verify each object of a composefs image by its digest in the image before its data is shown.
    #[arg(long)]
    pub(super) verify: bool,

    /// The number of threads that answer requests (default: 4 to 16, by the number of processors,
    /// at most one for each 64 MiB of a limit of memory; 16 for a remote image).
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,

    /// Mount through EROFS of the kernel, or fail (root only; without this flag FUSE is the
    /// fallback).
    #[arg(long, conflicts_with = "fuse")]
    pub(super) kernel: bool,

    /// Mount through FUSE, even if the kernel could mount the image itself.
    #[arg(long, alias = "no-kernel")]
    pub(super) fuse: bool,

    /// Free decoded blocks after this time without reads. They are also freed when the system is
    /// short of memory.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(super) idle: u64,

    /// Unmount the image when nobody has used it for this time.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) idle_unmount: Option<u64>,

    /// Do not decode ahead. By default, idle processors decode the next blocks of a file that is
    /// read in turn and, when readers often wait for decoders, the rest of the blocks being read,
    /// as far as it fits in the cache.
    #[arg(long)]
    pub(super) no_ahead: bool,

    #[command(flatten)]
    pub(super) damage: DamageArgs,

    #[command(flatten)]
    pub(super) fetch: FetchArgs,

    #[command(flatten)]
    pub(super) stats: StatsArgs,

    /// Ignore mount options that are not known.
    #[arg(long, hide = true)]
    pub(super) sloppy: bool,

    /// Take the mount option `rw`, which mount(8) passes by default.
    #[arg(long, hide = true)]
    pub(super) called_by_mount: bool,

    /// Open the image and check the options, but do not mount.
    #[arg(long, hide = true)]
    pub(super) dry_run: bool,

    /// Unmount when all writers of standard input, a pipe, have closed it and nobody uses the
    /// mount; then remove the mount point. Without --report-ready, start a process that does so and
    /// reports, and end at once.
    #[arg(long, hide = true)]
    pub(super) while_open: bool,

    /// Report on standard output when the mount is usable, then close it.
    #[arg(long, hide = true)]
    pub(super) report_ready: bool,
}

impl Args {
    /// Returns the mount point.
    pub(super) fn directory(&self) -> &Path {
        self.operands.last().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Returns the images, the topmost first.
    pub(super) fn images(&self) -> Vec<&Path> {
        let further = self.operands.split_last().map_or(&[][..], |(_, rest)| rest);
        let first = std::iter::once(&self.image.image);
        first.chain(further).map(PathBuf::as_path).collect()
    }
}
