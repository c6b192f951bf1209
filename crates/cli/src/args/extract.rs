//! The flags of `sinter extract`, which writes a directory or an archive.

use std::path::PathBuf;

use sinterfs::Result;
use sinterfs::build::XattrFilter;
use sinterfs::ops::{ArchiveFormat, ArchiveOrder, CONTAINER_ATTRIBUTE};

use super::attributes::seconds;
use super::input::ImageArgs;
use super::part::PartArgs;
use super::run::{JobsArgs, VerbosityArgs};
use crate::owners;
use crate::size::parse as size;
use crate::unsquashfs_paths::PathArgs;

/// Unpack an image.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "unpack",
    after_help = "\
Examples:
  sinter extract image.dwarfs -o out
      Unpack everything.
  sinter extract image.dwarfs -o out usr/bin etc/fstab
      Unpack these paths, and what is below them.
  sinter extract image.dwarfs -o out --glob '**/*.h'
      Unpack paths that match.
  sinter extract image.dwarfs -o out --exclude '*.o' --exclude /usr/share/doc
      Leave out matching files.
  sinter extract image.dwarfs -o out --xattrs-exclude '^security\\.selinux$'
      Do not restore SELinux labels.
  sinter extract --salvage damaged.dwarfs -o out
      Unpack all that can be read of a damaged image.
  sinter extract image.dwarfs --tar | zstd > out.tar.zst
      Write a tar archive to a pipe.
  sinter extract image.dwarfs --cpio -o out.cpio
      Write a cpio archive.
  sinter extract image.dwarfs --oci -o layout:latest
      Write a container image, for skopeo and podman.
  sinter extract image.dwarfs --mtree -o out.mtree
  mtree -p DIR -f out.mtree
      Write a manifest, and compare a directory with it.

Owners are restored only as root: for other users, a message names files that keep their own owner, \
and files that have no set-user-ID bit for that reason, with exit code 0 as tar has. Nothing \
outside the output directory is written, whatever the image contains. A file or an attribute that \
cannot be restored is reported, the others are unpacked, and the exit code is 1. A file has its \
name when it is complete.

Images of strangers are best unpacked as an ordinary user, or with --no-permissions \
--without devices.

An archive depends only on the image and on these options, not on -j or --cache-size; with \
--order path only on the directory tree. Archives are not compressed: pipe them to zstd or xz. \
--tar keeps everything but sockets; GNU tar restores holes automatically, attributes and ACLs \
with --xattrs --xattrs-include='*' --acls. --cpio has whole seconds, no extended attributes, no \
holes, and files below 4 GiB; --mtree has no extended attributes, no hard links, and no digests of \
files with more holes than --max-zeros. Losses are reported, or an error with --strict."
)]
pub struct ExtractArgs {
    #[command(flatten)]
    pub image: ImageArgs,

    /// The directory to unpack into, which is created if it does not exist, or the file of an
    /// archive (default for archives, and `-`: standard output).
    #[arg(
        short,
        long,
        value_name = "DIR|FILE",
        required_unless_present = "archive"
    )]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub archive: ArchiveArgs,

    /// The paths to unpack, with everything below them (default: everything).
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Unpack paths that match; `*` matches within a name, `**` across slashes.
    #[arg(long, value_name = "PATTERN")]
    pub glob: Vec<String>,

    /// Leave out matching files, with everything below them: a name at any depth, or with a slash a
    /// path from the root of the image.
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub exclude: Vec<String>,

    /// Unpack this many levels of directories: 1 for the entries of the root only.
    #[arg(long, value_name = "N")]
    pub max_depth: Option<usize>,

    /// Remove this number of components from the front of paths; entries with no more components
    /// are left out. Of entries that get one name the first is unpacked, the others are reported.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub strip_components: usize,

    /// Replace existing files, or the file of an archive.
    #[arg(long, conflicts_with = "keep")]
    pub force: bool,

    /// Keep existing files and directories as they are, and unpack the rest. This completes an
    /// extraction that was killed.
    #[arg(long, conflicts_with = "archive")]
    pub keep: bool,

    /// Do not restore owners, even as root; in an archive, all are 0.
    #[arg(long, conflicts_with = "owner")]
    pub no_owner: bool,

    /// Restore owners even if not root.
    #[arg(long, conflicts_with = "archive")]
    pub owner: bool,

    /// Restore nothing that gives rights; the umask narrows permissions.
    ///
    /// Permissions are the image's, less the umask, without set-id bits. Only attributes of users
    /// (user.*) are restored: no capabilities, access lists or labels.
    #[arg(long, conflicts_with = "archive")]
    pub no_permissions: bool,

    /// With --no-permissions, use 0666 and 0777 less the umask, for options of other programs.
    #[arg(long, hide = true)]
    pub usual_modes: bool,

    /// Restore attributes that give rights even with --no-permissions, for other programs' options.
    #[arg(long, hide = true, requires = "no_permissions")]
    pub rights: bool,

    /// Restore this owner of everything, for other programs' options.
    #[arg(long, hide = true, value_name = "USER", value_parser = owners::user)]
    pub set_owner: Option<u32>,

    /// Restore this group of everything, for other programs' options.
    #[arg(long, hide = true, value_name = "GROUP", value_parser = owners::group)]
    pub set_group: Option<u32>,

    /// Change permissions as of `sinter build`, for other programs' options.
    #[arg(long, hide = true, value_name = "MODE,..", allow_hyphen_values = true)]
    pub chmod: Option<String>,

    /// Fail if the image has more files than this, for other programs' options.
    #[arg(long, hide = true, value_name = "N")]
    pub max_files: Option<u64>,

    /// Do not restore times; in an archive, all are 0 (1970).
    #[arg(long)]
    pub no_times: bool,

    /// Set the times of everything instead: seconds since 1970, or `now`.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = seconds,
        allow_hyphen_values = true,
        conflicts_with_all = ["no_times", "archive"]
    )]
    pub set_time: Option<i64>,

    #[command(flatten)]
    pub filter: XattrArgs,

    /// Write holes as zeros.
    #[arg(long)]
    pub no_sparse: bool,

    /// The most bytes of holes that are written as zeros, in all; files that would have more are
    /// reported and left out (default: 256g). With --mtree, the most that are hashed of one file
    /// (default: 64g).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_zeros: Option<u64>,

    /// Unpack files of which parts are damaged, too, with zeros for the parts that cannot be read.
    /// The files are named, and the exit code is 8. The end of a DwarFS image may be lost, after
    /// the metadata.
    #[arg(long, conflicts_with_all = ["archive", "stop_on_error"])]
    pub salvage: bool,

    /// Stop at the first file that cannot be restored or read.
    #[arg(long)]
    pub stop_on_error: bool,

    /// Wait until everything is on the disk, and fail if it cannot be.
    ///
    /// Archives with a name are always synced.
    #[arg(long, conflicts_with = "archive")]
    pub sync: bool,

    #[command(flatten)]
    pub part: PartArgs,

    #[command(flatten)]
    pub chosen: PathArgs,

    #[command(flatten)]
    pub jobs: JobsArgs,

    #[command(flatten)]
    pub verbosity: VerbosityArgs,
}

/// The extended attributes to restore.
#[derive(Debug, clap::Args)]
pub struct XattrArgs {
    /// Do not restore extended attributes.
    #[arg(long, conflicts_with_all = ["xattrs_include", "xattrs_exclude"])]
    no_xattrs: bool,

    /// Restore only attributes whose name (as in user.x) matches a regular expression. Can be
    /// repeated.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    xattrs_include: Vec<String>,

    /// Do not restore attributes whose name matches a regular expression, even if --xattrs-include
    /// matches.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    xattrs_exclude: Vec<String>,
}

impl XattrArgs {
    /// Compiles the expressions.
    pub fn filter(&self) -> Result<XattrFilter> {
        if self.no_xattrs {
            Ok(XattrFilter::none())
        } else {
            // describes the image, not the directory that is restored
            let of_container = format!("^{}$", CONTAINER_ATTRIBUTE.replace('.', "\\."));
            let exclude = [&*self.xattrs_exclude, &[of_container]].concat();
            XattrFilter::of(&self.xattrs_include, &exclude)
        }
    }
}

/// The archive to write instead of a directory.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct ArchiveArgs {
    /// Write a tar archive (PAX), with holes and extended attributes, instead of a directory.
    #[arg(long, group = "archive")]
    tar: bool,

    /// Write a cpio archive (newc).
    #[arg(long, group = "archive")]
    cpio: bool,

    /// Write a list of files with their SHA-256 digests and attributes, for mtree(8) and bsdtar.
    #[arg(long, group = "archive")]
    mtree: bool,

    /// Write definitions of pseudo files with their data, as unsquashfs -pf does.
    #[arg(long, hide = true, group = "archive")]
    pub pseudo_file: bool,

    /// Write a container image with one layer into an OCI layout, a directory, instead: -o DIR or
    /// -o DIR:TAG. Other images there stay; --force replaces the image of the tag.
    #[arg(long, group = "archive")]
    pub oci: bool,

    /// The platform of the container image, os/architecture (default: this machine's).
    #[arg(
        long,
        value_name = "PLATFORM",
        requires = "oci",
        // what is required may be missing where it conflicts with what is given
        conflicts_with_all = ["tar", "cpio", "mtree", "pseudo_file"],
        hide_short_help = true
    )]
    pub platform: Option<String>,

    /// The order of entries in an archive: path (the order of the directory tree) or image (the
    /// order of the file data in the image, directories last). Default: path, unless that would
    /// need more than 256 MiB of decoded blocks at once.
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        requires = "archive",
        hide_possible_values = true
    )]
    order: Option<OrderArg>,

    /// Fail if the archive, or files on this system, cannot keep something.
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum OrderArg {
    /// The order of the directory tree.
    Path,
    /// The order of file data in the image.
    Image,
}

impl ArchiveArgs {
    /// Returns the order of names.
    pub fn order(&self) -> ArchiveOrder {
        match self.order {
            None => ArchiveOrder::Fitting,
            Some(OrderArg::Path) => ArchiveOrder::Path,
            Some(OrderArg::Image) => ArchiveOrder::Image,
        }
    }

    /// Returns the format of the archive, if one is requested.
    pub fn format(&self) -> Option<ArchiveFormat> {
        let kinds = [
            (self.tar, ArchiveFormat::Tar),
            (self.cpio, ArchiveFormat::Cpio),
            (self.mtree, ArchiveFormat::Mtree),
        ];
        kinds
            .iter()
            .find(|(is_requested, _)| *is_requested)
            .map(|(_, kind)| *kind)
    }

    /// Returns the name of the format.
    pub const fn name(&self) -> &'static str {
        match (self.tar, self.cpio) {
            (true, _) => "tar",
            (_, true) => "cpio",
            _ => "mtree",
        }
    }
}
