//! `sinter build`: a directory or an archive becomes an image.

use std::path::PathBuf;
use std::process::ExitCode;

use sinterfs::{Error, Input, Layering, ManifestOptions, OpenOptions, Result, Whiteouts};

use super::make_image::MakeImageArgs;

/// The heading of the flags about what is packed.
const SOURCE: &str = "Source";

/// Pack a directory or an archive into an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter build DIR -o dir.dwarfs                        the default level
  sinter build DIR -o dir.dwarfs -l9                    smaller, slower
  sinter build DIR -o dir.dwarfs -C zstd:level=19 -b 8M own compression and block size
  sinter build DIR -o dir.dwarfs -C pcmaudio/waveform::flac:level=8:exhaustive
                                                        a codec for one category
  sinter build DIR -o - | ssh host 'cat > dir.dwarfs'   to a pipe
  sinter build x.tar.zst -o x.dwarfs                    an archive, compressed or not
  ssh host 'tar -c --xattrs DIR' | sinter build - -o x.dwarfs
                                                        one from a pipe
  sinter build base.dwarfs 1.tar.gz 2.tar.gz -o all.dwarfs
                                                        layers, with what hides names below
  skopeo copy docker://debian oci:debian && sinter build debian -o debian.dwarfs
                                                        a container's image, by its OCI layout
  docker save debian | sinter build - --layers -o debian.dwarfs
                                                        or as docker save writes it
  sinter build DIR --base old.dwarfs -o new.dwarfs      blocks of an older image as they are, and new
                                                        ones for what changed
  sinter build DIR -o dir.squashfs                      a SquashFS image, by its extension
  sinter build DIR -o dir.sqfs -C xz:bcj=x86 -b 1m      the smallest result of each block, with
                                                        and without a filter for x86
  sinter build DIR -o dir.erofs                         an EROFS image, for Linux 6.15 and newer
  sinter build DIR -o dir.erofs --target-kernel 5.10    one that older kernels mount, too
  sinter build DIR -o dir.cfs --digest-store objects    a composefs image, its content in a store
  sinter build --from-dump dump -o dir.cfs --print-digest
                                                        one of a dump as of composefs-info dump
  sinter build --from-dump dump -o dir.dwarfs --digest-store objects
                                                        any format of one, with content of its store
  sinter build files.mtree --manifest-root DIR -o dir.dwarfs
                                                        what a list names, compared with its digests
  sinter build DIR -o dir.dwarfs --include /var/log/ --include '/var/log/a*' --exclude '/var/log/*'
                                                        of several rules the first that matches
  sinter build DIR -o dir.sqfs --pseudo 'dev d 755 0 0' --pseudo 'dev/null c 666 0 0 1 3'
                                                        files that are not there
  sinter build DIR -o dir.erofs --file-contexts /etc/selinux/targeted/contexts/files/file_contexts
                                                        with SELinux labels
  sinter build DIR -o dir.dwarfs --xattrs-include '^(user|security)\\.' --xattrs-exclude selinux
                                                        with some extended attributes only
  sinter build DIR -o dir.dwarfs --report dir.html      a page: what takes the room, and how long it took
  SOURCE_DATE_EPOCH=1700000000 sinter build DIR -o dir.dwarfs --set-owner 0 --set-group 0
                                                        the same bytes wherever it is built

Higher levels give smaller images and take longer; 7 is the default. The format decides what levels
and compressions are.

DwarFS: levels 0 none; 1 lz4; 2 to 5 zstd; 6 to 9 lzma2. From 6 on a cold read decodes slower, too;
4 builds in a tenth of the time of 7. Compressions: none, zstd:level=1..22[:window=LOG][:long],
lzma:level=0..9[:extreme][:dict=LOG][:binary=x86|arm|arm64|...],
lzma2:level=1..9[:dict=LOG][:lc=N][:lp=N][:pb=N][:binary=auto|x86|arm|arm64|...], lz4[:level=N],
lz4hc:level=1..12, brotli:quality=0..11[:lgwin=LOG]; for audio flac:level=0..8[:exhaustive], for
images ricepp[:block_size=1..512]. lzma is liblzma, lzma2 our own: nearly as small for less work.
Content of each category has blocks of its own: text, code (of each machine: code/x86-64,
code/arm64 ...), pcmaudio/waveform (PCM audio in WAV, AIFF, CAF, Wave64, AU; encoded with flac),
fits/image (16-bit images in FITS files; with ricepp), hot (the files of --hot, with zstd:level=19 from
level 4 on, in blocks of 1 MiB), incompressible (from level 4 on
zstd:level=3:window=26:long, below it or with -C CODEC stored), and <default>, which is the rest.
-C CATEGORY::CODEC chooses another codec, --categorize=KIND,.. what is told apart.

SquashFS: levels 0 none; 1 lz4; 2 to 8 zstd; 9 xz. One codec for everything: gzip[:level=1..12],
lzo, lz4[:level=N], lz4hc[:level=1..12], xz[:level=0..9][:extreme][:dict=SIZE][:bcj=x86,arm,...],
zstd[:level=N], lzma[:level=0..9][:dict=SIZE] (which no kernel reads); blocks of 4k to 1m. What
mksquashfs' options are called here is in docs/formats/squashfs.md.

EROFS: levels 0 none; 1 lz4; 2 to 9 zstd. Compressions: none, lz4[:level=N], lz4hc[:level=1..12],
lzma[:level=1..9], deflate[:level=1..12], zstd[:level=N]; units of 4k to 1m, by -b. Linux mounts the
images from 6.15 on; --target-kernel writes what older ones read: lz4 and lz4hc in clusters of 4k from
5.4, of -b from 5.15, lzma and small files packed together from 6.1, deflate from 6.6, zstd from 6.10.
Levels choose among these. -E dedupe stores once what files have in common, from 6.1 on.

composefs: the bytes of mkcomposefs 1.0.8, and so its digests; hard links become files of their own, as
there. docs/formats/composefs.md tells more.

The same input and options give the same image. SOURCE_DATE_EPOCH, if set, is recorded as the time of
creation, and no file gets a later time.")]
pub struct Args {
    /// What to pack: a directory, an archive (tar or cpio; compressed with gzip, zstd, xz or bzip2 or not; `-` is
    /// standard input), a list of files (mtree) or an image. Several are layers, later ones on top of earlier ones, and so are
    /// those in a directory with an OCI layout.
    #[arg(value_name = "SOURCE", required_unless_present = "from_dump")]
    sources: Vec<PathBuf>,

    /// What marks, in a layer, that a name of the layers below is gone: oci (names that begin with .wh.),
    /// overlayfs (character devices 0/0, and attributes of opaque directories), all of these, or none;
    /// auto: in archives all, in directories and images those of overlayfs. A single source keeps such
    /// names and devices unless this asks for something.
    #[arg(long, help_heading = SOURCE, value_enum, value_name = "KIND")]
    whiteouts: Option<WhiteoutsArg>,

    /// Take archives of container images, as docker save, podman save and skopeo write them, for the layers in
    /// them, and not for the files that they are.
    #[arg(long, help_heading = SOURCE)]
    layers: bool,

    /// Which image of an OCI layout is packed, where there are several.
    #[arg(long, help_heading = SOURCE, value_name = "OS/ARCH")]
    platform: Option<String>,

    /// Make an image of a dump, in the words of composefs-dump(5), and not of a directory; `-` is standard
    /// input. Of other formats than composefs --digest-store says where content is.
    #[arg(
        long,
        help_heading = SOURCE,
        visible_alias = "from-file",
        value_name = "FILE",
        conflicts_with_all = ["sources", "whiteouts", "platform", "layers"]
    )]
    from_dump: Option<PathBuf>,

    /// Take over the blocks of this image as they are stored, wherever they hold what is packed, and make
    /// new ones only of the rest. All content is compared byte by byte. The new image is whole without
    /// this one, which may be the output, too (with --force). Of DwarFS only.
    #[arg(long, help_heading = SOURCE, value_name = "IMAGE")]
    base: Option<PathBuf>,

    /// The directory that the paths of a list of files (mtree) are in (default: that of the list).
    #[arg(long, help_heading = SOURCE, value_name = "DIR", conflicts_with = "from_dump")]
    manifest_root: Option<PathBuf>,

    /// Let a list of files name content anywhere in the system, by absolute paths, `..` and symlinks.
    #[arg(long, help_heading = SOURCE, conflicts_with = "from_dump")]
    manifest_anywhere: bool,

    /// Leave out what lies on other file systems (of directories).
    #[arg(short = 'x', long, help_heading = SOURCE)]
    one_file_system: bool,

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

/// Builds the image.
pub fn run(args: Args) -> Result<ExitCode> {
    let input = match (args.from_dump, &*args.sources, args.whiteouts) {
        (Some(path), ..) => Input::Dump {
            path,
            objects: None,
        },
        (None, [], _) => return Err(Error::invalid("there is nothing to pack")),
        (None, [source], None) if args.platform.is_none() && !args.layers => {
            Input::of(source, &OpenOptions::default())?
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
    args.make.run(input, |request| {
        request.one_file_system = args.one_file_system;
        request.manifest = ManifestOptions {
            root: args.manifest_root,
            anywhere: args.manifest_anywhere,
        };
        request.base = args.base;
        if let Input::Dump { objects, .. } = &mut request.input {
            *objects = request.composefs.digest_store.take();
        }
    })
}
