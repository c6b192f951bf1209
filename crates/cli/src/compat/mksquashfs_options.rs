//! The options of mksquashfs 4.7, and what each of them is here: two tables.

use super::table::Meaning::{Already, Combined, CombinedRest, Noted, Refused, Same};
use super::table::{Rule, rule};

/// The options that sqfstar has, too, with the same meaning.
pub(super) const SHARED_WITH_SQFSTAR: &[Rule] = &[
    rule(&["-b"], "SIZE", Combined("--block-size")),
    rule(&["-comp"], "CODEC", Combined("--compression")),
    rule(
        &["-Xcompression-level"],
        "N",
        Combined("--compression CODEC:level=N"),
    ),
    rule(&["-Xhc"], "", Combined("--compression lz4hc:level=12")),
    rule(
        &["-Xbcj"],
        "FILTER,..",
        Combined("--compression xz:bcj=FILTER,.."),
    ),
    rule(
        &["-Xdict-size"],
        "SIZE",
        Combined("--compression xz:dict=SIZE"),
    ),
    rule(&["-noI", "-noInodeCompression"], "", Same("--noI")),
    rule(&["-noId", "-noIdTableCompression"], "", Same("--noId")),
    rule(&["-noD", "-noDataCompression"], "", Same("--noD")),
    rule(&["-noF", "-noFragmentCompression"], "", Same("--noF")),
    rule(&["-noX", "-noXattrCompression"], "", Same("--noX")),
    rule(&["-no-sparse"], "", Same("--no-sparse")),
    rule(&["-no-xattrs"], "", Same("--no-xattrs")),
    rule(&["-xattrs"], "", Already("unless --no-xattrs")),
    rule(&["-no-duplicates"], "", Same("--no-duplicates")),
    rule(&["-nopad"], "", Same("--no-pad")),
    rule(&["-all-root", "-root-owned"], "", Same("--all-root")),
    rule(&["-force-uid"], "USER", Same("--set-owner")),
    rule(&["-force-gid"], "GROUP", Same("--set-group")),
    rule(&["-root-mode"], "MODE", Same("--root-mode")),
    rule(&["-root-uid"], "USER", Same("--root-uid")),
    rule(&["-root-gid"], "GROUP", Same("--root-gid")),
    rule(&["-root-time"], "TIME", Combined("--root-time")),
    rule(
        &["-inode-time", "-all-time"],
        "TIME",
        Combined("--set-time"),
    ),
    rule(
        &["-mkfs-time", "-fstime"],
        "TIME",
        Combined("--create-timestamp=TIME"),
    ),
    rule(&["-ef"], "FILE", Combined("--exclude, for each line")),
    rule(&["-processors"], "N", Same("--jobs")),
    rule(&["-mem"], "SIZE", Combined("--memory")),
    rule(
        &["-mem-percent"],
        "N",
        Combined("--memory, N percent of all"),
    ),
    rule(&["-quiet"], "", Same("--quiet")),
    rule(&["-no-progress"], "", Same("--progress=none")),
    rule(
        &["-progress"],
        "",
        Already("where standard error is a terminal"),
    ),
    rule(&["-offset", "-o"], "N", Combined("--header-size")),
    rule(
        &["-throttle", "-limit"],
        "N",
        Noted("-processors N limits the threads; see also nice(1) and ionice(1)"),
    ),
    rule(
        &["-info"],
        "",
        Noted("`sinter ls -R IMAGE` lists the image"),
    ),
    rule(
        &["-percentage"],
        "",
        Noted("`sinter build --progress json` shows the share that is done"),
    ),
    rule(
        &["-exit-on-error"],
        "",
        Refused("`sinter build --strict` fails on errors and losses"),
    ),
    rule(
        &["-no-hardlinks"],
        "",
        Refused("hard links are always preserved"),
    ),
    rule(
        &["-Xwindow-size"],
        "N",
        Refused("gzip always has its largest window"),
    ),
    rule(
        &["-Xstrategy"],
        "X",
        Refused("gzip has one strategy here; -Xcompression-level sets the effort"),
    ),
    rule(&["-Xalgorithm"], "X", Refused("lzo has one algorithm here")),
];

const ACTIONS: &str = "-e, -force-file-mode, -force-uid, -p and -sort do what single actions do";

/// The options of mksquashfs alone.
pub(super) const RULES: &[Rule] = &[
    rule(&["-no-compression"], "", Same("--no-compression")),
    rule(&["-no-exports"], "", Same("--no-exports")),
    rule(
        &["-exports"],
        "",
        Combined("without it, with -tar: --no-exports"),
    ),
    rule(
        &["-tailends", "-always-use-fragments"],
        "",
        Same("--tailends"),
    ),
    rule(
        &["-no-tailends"],
        "",
        Combined("without it, with -tar: --tailends"),
    ),
    rule(&["-no-fragments"], "", Combined("--no-fragments")),
    rule(&["-noappend"], "", Combined("--force")),
    rule(
        &["-no-recovery"],
        "",
        Already("an interrupted build leaves no file"),
    ),
    rule(&["-uid-gid-offset"], "N", Same("--id-offset")),
    rule(&["-force-file-mode"], "MODE", Combined("--chmod FMODE")),
    rule(&["-force-dir-mode"], "MODE", Combined("--chmod DMODE")),
    rule(
        &["-repro", "-reproducible"],
        "",
        Already("equal trees give equal images"),
    ),
    rule(
        &["-not-repro", "-not-reproducible"],
        "",
        Refused("equal trees always give equal images"),
    ),
    rule(
        &["-repro-time"],
        "TIME",
        Combined("--create-timestamp=TIME --set-time TIME"),
    ),
    rule(&["-sort"], "FILE", Same("--sort")),
    rule(&["-wildcards"], "", Combined("-e and -ef take globs")),
    rule(&["-one-file-system"], "", Combined("--one-file-system")),
    rule(
        &["-e"],
        "PATH..",
        CombinedRest("--exclude, for each argument that follows"),
    ),
    rule(
        &["-one-file-system-x"],
        "",
        Refused("-one-file-system leaves mount points as empty directories"),
    ),
    rule(
        &["-regex"],
        "",
        Refused("patterns are globs, with -wildcards"),
    ),
    rule(
        &["-keep-as-directory"],
        "",
        Combined("merge, which keeps the name of the directory"),
    ),
    rule(
        &["-no-strip", "-tarstyle"],
        "",
        Refused("`sinter merge DIR -o IMAGE` keeps the name of the directory"),
    ),
    rule(
        &["-root-becomes"],
        "NAME",
        Refused("`sinter merge --at NAME=IMAGE` puts an image below a name"),
    ),
    rule(
        &["-max-depth"],
        "N",
        Refused("-e excludes deeper directories"),
    ),
    rule(&["-p"], "DEFINITION", Same("--pseudo")),
    rule(&["-pf"], "FILE", Same("--pseudo-file")),
    rule(
        &["-pd", "-pseudo-dir"],
        "X",
        Refused("-p 'PATH d MODE UID GID' creates each directory"),
    ),
    rule(&["-xattrs-include"], "REGEX", Same("--xattrs-include")),
    rule(&["-xattrs-exclude"], "REGEX", Same("--xattrs-exclude")),
    rule(
        &["-xattrs-add"],
        "X",
        Refused("-p 'PATH x NAME=VALUE' adds one to a file"),
    ),
    rule(
        &["-tar"],
        "",
        Combined("the source - is an archive, tar or cpio, compressed or not"),
    ),
    rule(
        &["-cpiostyle"],
        "",
        Refused("`cpio -o -H newc | sinter build - -o IMAGE`"),
    ),
    rule(
        &["-cpiostyle0"],
        "",
        Refused("`cpio -o -0 -H newc | sinter build - -o IMAGE`"),
    ),
    rule(
        &["-mem-default"],
        "",
        Refused("`sinter build --help` shows the default of --memory"),
    ),
    rule(
        &["-single-reader", "-single-reader-thread", "-overcommit"],
        "",
        Noted("-processors N limits the threads"),
    ),
    rule(
        &["-small-readers", "-block-readers"],
        "N",
        Noted("-processors N limits the threads"),
    ),
    rule(
        &["-numeric-owner"],
        "",
        Already("with -tar, owners are the numbers of the archive"),
    ),
    rule(
        &["-default-mode", "-default-uid", "-default-gid"],
        "X",
        Refused(
            "directories that an archive does not have belong to root; \
             -p 'PATH m MODE UID GID' changes one",
        ),
    ),
    rule(
        &["-ignore-zeros"],
        "",
        Refused("concatenated archives: `sinter build --whiteouts none A.tar B.tar -o IMAGE`"),
    ),
    rule(
        &["-pseudo-override", "-po"],
        "",
        Refused("-all-root, -force-uid and -force-gid apply to pseudo files, too"),
    ),
    rule(
        &["-info-file"],
        "FILE",
        Refused("`sinter ls -R IMAGE > FILE` lists the image"),
    ),
    rule(
        &["-stream"],
        "",
        Refused("`sinter build -f squashfs -o -` writes to standard output"),
    ),
    rule(
        &["-action", "-action-file", "-true-action", "-false-action"],
        "X",
        Refused(ACTIONS),
    ),
    rule(&["-log-action", "-log-action-file"], "X", Refused(ACTIONS)),
    rule(
        &["-true-action-file", "-false-action-file"],
        "X",
        Refused(ACTIONS),
    ),
    rule(
        &["-recover"],
        "NAME",
        Refused("an interrupted build leaves nothing to recover"),
    ),
    rule(
        &["-recovery-path"],
        "NAME",
        Refused("there is no recovery file: an interrupted build leaves no file"),
    ),
];
