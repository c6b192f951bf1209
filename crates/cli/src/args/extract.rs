//! The flags of `sinter extract`, which writes a directory or an archive.

use std::path::PathBuf;

use sinterfs::{ArchiveFormat, ArchiveOrder, Result, XattrFilter};

use super::common::{JobsArgs, VerbosityArgs};
use super::input::ImageArgs;

/// Unpack an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter extract image.dwarfs -o out                    everything
  sinter extract image.dwarfs -o out usr/bin etc/fstab  these, and what is below them
  sinter extract image.dwarfs -o out --glob '**/*.h'    what matches
  sinter extract image.dwarfs -o out --xattrs-exclude '^security\\.selinux$'
  sinter extract image.dwarfs --tar | zstd > out.tar.zst
  sinter extract image.dwarfs --cpio -o out.cpio
  sinter extract image.dwarfs --mtree -o out.mtree      check with: mtree -p DIR -f out.mtree

Owners are restored for root only. Nothing outside the output directory is written, whatever the
image says. A file that can't be restored is reported and the rest goes on; the exit code is then 1.

The bytes of an archive depend on the image and on these options, not on -j or --cache-size; with
--order path on the tree alone. They are not compressed: pipe them to zstd or xz.
--tar keeps all but sockets; GNU tar restores holes by itself, attributes and ACLs with
--xattrs --xattrs-include='*' --acls. --cpio has whole seconds, no attributes, no holes and files
below 4 GiB; --mtree has no attributes. What is not kept is told and counted, or refused with
--strict.")]
pub struct ExtractArgs {
    #[command(flatten)]
    pub image: ImageArgs,

    /// The directory to unpack into; it is made if it is missing. The file of an archive; without it,
    /// or for `-`, an archive goes to standard output.
    #[arg(
        short,
        long,
        value_name = "DIR|FILE",
        required_unless_present = "archive"
    )]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub archive: ArchiveArgs,

    /// What to unpack (default: everything).
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Unpack paths that match; `*` stays within a name, `**` crosses slashes.
    #[arg(long, value_name = "PATTERN")]
    pub glob: Vec<String>,

    /// Take so many components off the front of paths.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub strip_components: usize,

    /// Replace files that are there, or the file of an archive.
    #[arg(long, conflicts_with = "keep")]
    pub force: bool,

    /// Keep files that are there and unpack the others.
    #[arg(long, conflicts_with = "archive")]
    pub keep: bool,

    /// Restore no owners even as root; in an archive, all are 0.
    #[arg(long, conflicts_with = "owner")]
    pub no_owner: bool,

    /// Restore owners even if not root.
    #[arg(long, conflicts_with = "archive")]
    pub owner: bool,

    /// Restore no permissions.
    #[arg(long, conflicts_with = "archive")]
    pub no_permissions: bool,

    /// Restore no times; in an archive, all are 1970.
    #[arg(long)]
    pub no_times: bool,

    #[command(flatten)]
    pub filter: XattrArgs,

    /// Write holes as zeros.
    #[arg(long)]
    pub no_sparse: bool,

    /// Stop at the first file that can't be restored or read.
    #[arg(long)]
    pub stop_on_error: bool,

    #[command(flatten)]
    pub jobs: JobsArgs,

    #[command(flatten)]
    pub verbosity: VerbosityArgs,
}

/// Which extended attributes are restored.
#[derive(Debug, clap::Args)]
pub struct XattrArgs {
    /// Restore no extended attributes.
    #[arg(long, conflicts_with_all = ["xattrs_include", "xattrs_exclude"])]
    no_xattrs: bool,

    /// Restore only attributes of which the name (as in user.x) matches a regular expression, or one of several.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    xattrs_include: Vec<String>,

    /// Restore no attributes of which the name matches a regular expression, whatever --xattrs-include says.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    xattrs_exclude: Vec<String>,
}

impl XattrArgs {
    /// Compiles what was asked.
    pub fn filter(&self) -> Result<XattrFilter> {
        if self.no_xattrs {
            Ok(XattrFilter::none())
        } else {
            XattrFilter::of(&self.xattrs_include, &self.xattrs_exclude)
        }
    }
}

/// Which archive is written, if one is.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct ArchiveArgs {
    /// Write a tar (PAX), with holes and extended attributes, in place of a directory.
    #[arg(long, group = "archive")]
    tar: bool,

    /// Write a cpio archive (newc).
    #[arg(long, group = "archive")]
    cpio: bool,

    /// Write a list of files with SHA-256 and what else mtree(8) and bsdtar compare.
    #[arg(long, group = "archive")]
    mtree: bool,

    /// The order of names in an archive: path (as a walk meets them) or image (as the content of files
    /// lies in it, then directories); default: path, unless more than 256 MiB of decoded blocks would be
    /// needed at once.
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        requires = "archive",
        hide_possible_values = true
    )]
    order: Option<OrderArg>,

    /// Fail if the archive can't keep something.
    #[arg(long, requires = "archive")]
    pub strict: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum OrderArg {
    /// As a walk meets them.
    Path,
    /// As contents lie in the image.
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

    /// Returns the format of the archive, if one is asked for.
    pub fn format(&self) -> Option<ArchiveFormat> {
        let kinds = [
            (self.tar, ArchiveFormat::Tar),
            (self.cpio, ArchiveFormat::Cpio),
            (self.mtree, ArchiveFormat::Mtree),
        ];
        kinds
            .iter()
            .find(|(asked, _)| *asked)
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
