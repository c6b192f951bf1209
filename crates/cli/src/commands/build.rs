//! `sinter build`: packs a directory or an archive into an image.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::build::{Input, Layering, ManifestOptions, Shard, Whiteouts};
use sinterfs::{Error, Result};

use super::make_image::MakeImageArgs;
use crate::args::remote::RemoteArgs;

/// The text of `sinter build --help` after the flags.
const HELP: &str = "\
Examples:
  sinter build DIR -o dir.dwarfs
      Pack a directory; the format follows from the extension.
  sinter build DIR -o dir.dwarfs -l9
      Make a smaller image, more slowly.
  sinter build DIR -o dir.dwarfs --for archive
      Make a still smaller image, which is unpacked rather than mounted.
  sinter build DIR -o dir.dwarfs -C zstd:level=19 -b 8M
      Choose codec and block size.
  sinter build DIR -o dir.dwarfs -C pcmaudio/waveform::flac:level=8:exhaustive
      Choose the codec of one category.
  sinter build DIR -o - | ssh host 'cat > dir.dwarfs'
      Write to a pipe.
  sinter build x.tar.zst -o x.dwarfs
      Pack the files of an archive, compressed or not.
  ssh host 'tar -c --xattrs DIR' | sinter build - -o x.dwarfs
      Read an archive from a pipe.
  sinter build base.dwarfs 1.tar.gz 2.tar.gz -o all.dwarfs
      Stack layers; whiteouts hide files of lower layers.
  skopeo copy docker://debian oci:debian
  sinter build debian -o debian.dwarfs
      Pack a container image from its OCI layout.
  sinter build oci:DIR:debian -o debian.dwarfs
      Choose a container image by its tag, as skopeo names it. Also:
      oci-archive:FILE:TAG, docker-archive:FILE:NAME, dir:DIR.
  docker save debian | sinter build - --layers -o debian.dwarfs
      Pack a container image from an archive of docker save.
  sinter build DIR --base old.dwarfs -o new.dwarfs
      Reuse the blocks of an older image, and compress only new data.
  sinter build DIR -o dir.sqfs -C xz:bcj=x86 -b 1m
      Keep the smaller of two results per block: with and without BCJ filter.
  sinter build DIR -o dir.erofs --target-kernel 5.10
      Write an image that older kernels mount.
  sinter build DIR -o dir.cfs --digest-store objects
      Write a composefs image, with the content in an object directory.
  sinter build --from-dump dump -o dir.cfs --print-digest
      Write an image of a dump, as of composefs-info dump.
  sinter build --from-dump dump -o dir.dwarfs --digest-store objects
      Pack a dump, with content from an object directory.
  sinter build files.mtree --manifest-root DIR -o dir.dwarfs
      Pack the files of a manifest, and verify their digests.
  sinter build DIR -o dir.dwarfs --include '/log/a*' --exclude '/log/*'
      Select files; the first rule that matches decides.
  sinter build DIR -o dir.sqfs --pseudo 'dev/null c 666 0 0 1 3'
      Add files that the source does not have.
  sinter build DIR -o dir.erofs --file-contexts file_contexts
      Set SELinux labels.
  sinter build DIR -o dir.dwarfs --parity 5
      Also write dir.dwarfs.parity, from which `sinter repair` mends damage.
  sinter build DIR -o dir.dwarfs --report dir.html
      Write a page about what takes up space, and how long it took.
  SOURCE_DATE_EPOCH=1700000000 sinter build DIR -o dir.dwarfs --all-root
      Make the same image everywhere.

Higher levels make smaller images and take longer. The meaning of levels, and the codecs, depend \
on the format.\n\n";

/// The help after the formats.
const MORE_HELP: &str = "\
--for selects a profile of formats with large blocks: mount (default), whose levels 6 and 7 have \
blocks of 16m that decode fast; archive, the smallest images, with lzma2 in blocks of 64m from \
level 6 on; remote, for reads over a network, with blocks of 1m at every level: name the files \
that are needed first with --hot. `sinter info` shows the profile.

Each category of content has its own blocks: text, machine code (code/x86-64, code/arm64 ...), \
pcmaudio/waveform (PCM audio in WAV, AIFF, CAF, Wave64 and AU files; codec flac), fits/image \
(16-bit images in FITS files; codec ricepp), hotness (the files of --hot; from level 4 on \
zstd:level=19, blocks of 1 MiB), incompressible (from level 4 on zstd:level=3:window=26:long, \
otherwise stored), and <default> for all other content. -C CATEGORY::CODEC selects the codec of \
a category, --categorize the categories.

The same input and options make the same image. SOURCE_DATE_EPOCH, if set, is recorded as the \
time of creation, and no file gets a later time.";

/// Returns the examples, each format's levels and codecs as the library describes them, and notes.
fn long_help() -> String {
    let mut text = HELP.to_owned();
    for format in sinterfs::build::formats() {
        let codecs = format.codecs.join(", ");
        let known = [("levels ", &format.levels), ("Codecs: ", &codecs)];
        let known = known.into_iter().filter(|(_, about)| !about.is_empty());
        let known = known.map(|(what, about)| format!(" {what}{about}."));
        let notes = format.notes;
        if notes.is_empty() && known.clone().next().is_none() {
            continue;
        }
        let gap = if notes.is_empty() { "" } else { " " };
        let known: String = known.collect();
        text += &format!("{}:{known}{gap}{notes}\n\n", format.title);
    }
    text + MORE_HELP
}

/// The heading of the flags about what is packed.
const SOURCE: &str = "Source";

/// Pack a directory or an archive into an image.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "pack",
    alias = "create",
    after_help = "`sinter build --help` has examples, and the levels and codecs of each format.",
    after_long_help = long_help()
)]
pub struct Args {
    /// What to pack: a directory, an archive (tar or cpio, compressed by gzip, zstd, xz, bzip2,
    /// lzma or lz4, or not; `-` is standard input), a manifest (mtree) or an image. Several
    /// sources are layers, later ones on top of earlier ones, as are the layers of an OCI layout
    /// directory.
    #[arg(value_name = "SOURCE", required_unless_present = "from_dump")]
    sources: Vec<PathBuf>,

    /// The whiteouts that hide files of lower layers: oci (names that begin with .wh.), overlayfs
    /// (character devices 0/0, and attributes of opaque directories), all of them, or none; auto:
    /// all in archives, overlayfs in directories and images. A single source keeps whiteouts as
    /// files unless this option is given.
    #[arg(long, help_heading = SOURCE, value_enum, value_name = "KIND")]
    whiteouts: Option<WhiteoutsArg>,

    /// Pack the layers in archives of container images, as docker save, podman save and skopeo
    /// write them, instead of the files of these archives.
    #[arg(long, help_heading = SOURCE)]
    layers: bool,

    /// The platform of the image to pack, if an OCI layout has several.
    #[arg(long, help_heading = SOURCE, value_name = "OS/ARCH")]
    platform: Option<String>,

    /// Read a dump in the format of composefs-dump(5) instead of a directory; `-` is standard
    /// input. Formats other than composefs need --digest-store for the content.
    #[arg(
        long,
        help_heading = SOURCE,
        visible_alias = "from-file",
        value_name = "FILE",
        conflicts_with_all = ["sources", "whiteouts", "platform", "layers"]
    )]
    from_dump: Option<PathBuf>,

    /// Reuse the stored blocks of this image for data that they contain, and compress only other
    /// data. All data is compared byte by byte. The new image does not depend on this one, which
    /// may also be the output (with --force). DwarFS only.
    #[arg(long, help_heading = SOURCE, value_name = "IMAGE")]
    base: Option<PathBuf>,

    /// The directory of the files that a manifest (mtree) names (default: the directory of the
    /// manifest).
    #[arg(long, help_heading = SOURCE, value_name = "DIR", conflicts_with = "from_dump")]
    manifest_root: Option<PathBuf>,

    /// Allow a manifest to name files outside its directory, by absolute paths, `..` and symlinks.
    #[arg(long, help_heading = SOURCE, conflicts_with = "from_dump")]
    manifest_anywhere: bool,

    /// Pack only this directory of an archive, as the root of the image. Targets of symlinks are
    /// not changed.
    #[arg(long, help_heading = SOURCE, value_name = "DIR", conflicts_with = "from_dump")]
    archive_root: Option<OsString>,

    /// Pack a part of the files, and all directories: every entry that is no directory is in
    /// exactly one of COUNT parts, always the same, and all names of a file are in one. NUMBER
    /// counts from 0 or from 1. A mount of all parts is the tree.
    #[arg(long, help_heading = SOURCE, value_name = "NUMBER/COUNT", value_parser = shard)]
    shard: Option<Shard>,

    /// Take a source of no bytes for an archive without members.
    #[arg(long, hide = true, conflicts_with = "from_dump")]
    empty_archive: bool,

    /// Exclude files on other file systems (of directories).
    #[arg(short = 'x', long, help_heading = SOURCE)]
    one_file_system: bool,

    #[command(flatten)]
    remote: RemoteArgs,

    #[command(flatten)]
    make: MakeImageArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum WhiteoutsArg {
    Auto,
    Oci,
    Overlayfs,
    All,
    None,
}

impl From<WhiteoutsArg> for Whiteouts {
    fn from(kind: WhiteoutsArg) -> Self {
        match kind {
            WhiteoutsArg::Auto => Self::Auto,
            WhiteoutsArg::Oci => Self::Oci,
            WhiteoutsArg::Overlayfs => Self::Overlayfs,
            WhiteoutsArg::All => Self::All,
            WhiteoutsArg::None => Self::None,
        }
    }
}

/// Reads the number of a part and the count of all.
fn shard(text: &str) -> std::result::Result<Shard, &'static str> {
    let parts = text.split_once('/');
    let parsed =
        parts.and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
    let (number, count) = parsed.ok_or("NUMBER/COUNT, as in 1/8")?;
    Shard::new(number, count).ok_or("a number beyond the count")
}

/// Builds the image.
pub fn run(args: Args) -> Result<ExitCode> {
    let open = args.remote.open_options();
    let input = match (args.from_dump, &*args.sources, args.whiteouts) {
        (Some(path), ..) => Input::Dump {
            path,
            objects: None,
        },
        (None, [], _) => return Err(Error::invalid("no source was given")),
        (None, [source], None) if args.empty_archive && is_empty_file(source) => {
            Input::Archive(source.clone())
        }
        (None, [source], None) if args.platform.is_none() && !args.layers => {
            Input::of(source, &open)?
        }
        (None, _, whiteouts) => {
            let layering = Layering {
                whiteouts: whiteouts.map(Whiteouts::from).unwrap_or_default(),
                platform: args.platform,
                unpack: args.layers,
            };
            Input::layers(args.sources, layering)
        }
    };
    let empty_archive = args.empty_archive && matches!(input, Input::Archive(_));
    args.make.run(input, |request, given| {
        request.open = open;
        request.one_file_system = args.one_file_system;
        request.shard = args.shard;
        request.archive_root = args.archive_root;
        request.implied.by_nothing = empty_archive;
        request.manifest = ManifestOptions {
            root: args.manifest_root,
            anywhere: args.manifest_anywhere,
        };
        if let Some(path) = args.base {
            given.insert(0, ("base".to_owned(), path.into()));
        }
        if let Input::Dump { objects, .. } = &mut request.input {
            let store = given.iter().position(|(name, _)| name == "digest_store");
            *objects = store.map(|at| given.remove(at).1.into());
        }
    })
}

fn is_empty_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|status| status.is_file() && status.len() == 0)
}
