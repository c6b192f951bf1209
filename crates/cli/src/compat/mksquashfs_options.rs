//! The options of mksquashfs 4.7, and what each of them is here: two tables.

use super::table::Meaning::{Already, Combined, CombinedRest, Each, Noted, Refused, Same};
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
        &["-Xpreset", "-Xlc", "-Xlp", "-Xpb"],
        "N",
        Noted("xz and lzma choose their parameters here"),
    ),
    rule(
        &["-Xe"],
        "",
        Noted("xz and lzma choose their parameters here"),
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
    rule(&["-info"], "", Same("--files-written=-")),
    rule(
        &["-percentage"],
        "",
        Noted("`sinter build --progress json` shows the share that is done"),
    ),
    rule(
        &["-exit-on-error"],
        "",
        Already("what cannot be read is an error: exit code 1"),
    ),
    rule(&["-no-hardlinks"], "", Same("--no-hardlinks")),
    rule(
        &["-Xwindow-size"],
        "N",
        Noted("gzip always has its largest window"),
    ),
    rule(
        &["-Xstrategy"],
        "X",
        Noted("gzip has one strategy here; -Xcompression-level sets the effort"),
    ),
    rule(&["-Xalgorithm"], "X", Noted("lzo has one algorithm here")),
    rule(&["-no-compression"], "", Same("--no-compression")),
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
        Noted("equal trees always give equal images"),
    ),
    rule(
        &["-repro-time", "-fixed-time"],
        "TIME",
        Combined("--create-timestamp=TIME --set-time TIME"),
    ),
    rule(&["-p"], "DEFINITION", Each("--pseudo")),
    rule(&["-pf"], "FILE", Each("--pseudo-file")),
    rule(
        &["-pd", "-pseudo-dir"],
        "ATTRIBUTES",
        Combined("--pseudo-dir"),
    ),
    rule(&["-pseudo-override", "-po"], "", Same("--pseudo-override")),
    rule(&["-xattrs-include"], "REGEX", Same("--xattrs-include")),
    rule(&["-xattrs-exclude"], "REGEX", Same("--xattrs-exclude")),
    rule(&["-xattrs-add"], "NAME=VALUE", Each("--xattrs-add")),
    rule(
        &["-mem-default"],
        "",
        Refused("`sinter build --help` shows the default of --memory"),
    ),
    rule(
        &["-numeric-owner"],
        "",
        Already("with -tar, owners are the numbers of the archive"),
    ),
    rule(
        &["-default-mode"],
        "MODE",
        Combined("of directories without a member: --dir-defaults mode=MODE"),
    ),
    rule(
        &["-default-uid"],
        "USER",
        Combined("the same: --dir-defaults uid=ID"),
    ),
    rule(
        &["-default-gid"],
        "GROUP",
        Combined("the same: --dir-defaults gid=ID"),
    ),
    rule(
        &["-ignore-zeros"],
        "",
        Refused("concatenated archives: `sinter build --whiteouts none A.tar B.tar -o IMAGE`"),
    ),
    rule(&["-info-file"], "FILE", Same("--files-written")),
    rule(
        &["-stream"],
        "",
        Combined("--output -: the image, with its superblock at the front"),
    ),
    rule(
        &["-overcommit"],
        "PERCENT",
        Noted("-processors N sets the number of threads"),
    ),
    rule(
        &["-fix"],
        "IMAGE",
        Refused("-stream writes the superblock at the front, so that nothing is to be fixed"),
    ),
];

/// The options that only mksquashfs has.
pub(super) const RULES: &[Rule] = &[
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
        Combined("-e and -ef take regular expressions of names"),
    ),
    rule(
        &["-keep-as-directory"],
        "",
        Combined("merge, which keeps the name of the directory"),
    ),
    rule(
        &["-no-strip", "-tarstyle"],
        "",
        Combined("build . --only PATH, for each source"),
    ),
    rule(
        &["-root-becomes"],
        "NAME",
        Combined("where an image is appended to: merge --at NAME=IMAGE"),
    ),
    rule(
        &["-max-depth"],
        "N",
        Combined("--exclude '/*/*..', with a level more"),
    ),
    rule(
        &["-tar"],
        "",
        Combined("the source - is an archive, tar or cpio, compressed or not"),
    ),
    rule(
        &["-cpiostyle"],
        "",
        Combined("build . --files-from -, where the paths are relative"),
    ),
    rule(
        &["-cpiostyle0"],
        "",
        Combined("the same with a NUL after each path"),
    ),
    rule(
        &["-single-reader", "-single-reader-thread"],
        "",
        Noted("-processors N limits the threads"),
    ),
    rule(
        &["-small-readers", "-block-readers"],
        "N",
        Noted("-processors N limits the threads"),
    ),
    rule(&["-action"], "ACTION@EXPRESSION", Combined("--action")),
    rule(
        &["-log-action", "-true-action", "-false-action"],
        "ACTION@EXPRESSION",
        Combined("--action; the results of expressions are not printed"),
    ),
    rule(&["-action-file"], "FILE", Combined("--action-file")),
    rule(
        &[
            "-log-action-file",
            "-true-action-file",
            "-false-action-file",
        ],
        "FILE",
        Combined("--action-file; the results of expressions are not printed"),
    ),
    rule(
        &["-zip"],
        "",
        Combined("the source is an archive: a file, or - for standard input"),
    ),
    rule(
        &["-dereference"],
        "",
        Refused("`tar -ch DIR | mksquashfs - IMAGE -tar` packs what symlinks lead to"),
    ),
    rule(
        &["-deref", "-deref-path"],
        "X",
        Refused("`tar -ch DIR | mksquashfs - IMAGE -tar` packs what symlinks lead to"),
    ),
    rule(
        &["-recover"],
        "NAME",
        Refused("an interrupted build leaves nothing to recover"),
    ),
    rule(
        &["-recovery-path"],
        "NAME",
        Noted("there is no recovery file: an interrupted build leaves no file"),
    ),
];
