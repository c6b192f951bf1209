//! The options of mkfs.erofs 1.9, and what each of them is here.

use super::table::Meaning::{Already, Combined, Noted, Refused, Same};
use super::table::{Rule, rule};

/// The options.
pub(super) const RULES: &[Rule] = &[
    rule(
        &["-z"],
        "CODEC[,level=N]",
        Combined("--compression CODEC[:level=N]; levels 100 to 109 of lzma are 1 to 9"),
    ),
    rule(&["-C"], "BYTES", Combined("--block-size")),
    rule(
        &["-b"],
        "#",
        Combined("--extended block=#: 512, 1024 and 2048 without compression, or 4096"),
    ),
    rule(
        &["-E"],
        "X,..",
        Combined(
            "--extended: dedupe, fragments, all-fragments, ztailpacking, legacy-compress; 48bit: \
             --target-kernel 6.15; noinline_data: ^inline_data; without an effect: nosbcrc, \
             force-inode-compact, \
             force-inode-extended, force-inode-blockmap, force-chunk-indexes, fragdedupe=X, \
             dot-omitted, xattr-name-filter, plain-xattr-prefixes",
        ),
    ),
    rule(&["-L"], "NAME", Same("--label")),
    rule(&["-U"], "UUID|clear|random", Combined("--uuid")),
    rule(
        &["-T"],
        "SECONDS",
        Combined("--create-timestamp=SECONDS --set-time SECONDS"),
    ),
    rule(
        &["--mkfs-time"],
        "",
        Combined("with -T: only --create-timestamp"),
    ),
    rule(&["--all-time"], "", Already("unless --mkfs-time")),
    rule(&["--preserve-mtime"], "", Already("unless -T")),
    rule(
        &["-x"],
        "N",
        Combined(
            "-1: --no-xattrs; other values have no effect: the smaller layout is always \
                  chosen",
        ),
    ),
    rule(
        &["--ignore-mtime"],
        "",
        Combined("--set-time, to -T or the current time"),
    ),
    rule(&["--exclude-regex"], "REGEX", Combined("--exclude-regex")),
    rule(&["--offset"], "N", Combined("--header-size")),
    rule(
        &["--tar"],
        "[=f|i]",
        Combined(
            "--tar=f: the source is an archive, or without one standard input; --tar=i: the same, \
             and the image refers to its data (--extended index)",
        ),
    ),
    rule(&["-d"], "0..9", Combined("0 and 1: --quiet")),
    rule(&["--quiet"], "", Same("--quiet")),
    rule(&["--all-root"], "", Same("--all-root")),
    rule(&["--force-uid"], "UID", Same("--set-owner")),
    rule(&["--force-gid"], "GID", Same("--set-group")),
    rule(
        &["--uid-offset"],
        "N",
        Combined("--id-offset, with the same --gid-offset"),
    ),
    rule(
        &["--gid-offset"],
        "N",
        Combined("--id-offset, with the same --uid-offset"),
    ),
    rule(&["--exclude-path"], "PATH", Combined("--exclude /PATH")),
    rule(&["--chunksize"], "BYTES", Combined("--chunk-size")),
    rule(&["--blobdev"], "FILE", Combined("--blob-device")),
    rule(&["--xattr-prefix"], "NAME", Combined("--xattr-prefix")),
    rule(&["--workers"], "N", Same("--jobs")),
    rule(
        &["--async-queue-limit"],
        "N",
        Noted("--workers sets the number of threads"),
    ),
    rule(&["--hard-dereference"], "", Same("--no-hardlinks")),
    rule(
        &["--sort"],
        "path|none",
        Combined("no effect: `sinter build --order` chooses the order of data"),
    ),
    rule(
        &["--ungzip", "--unxz"],
        "[=X]",
        Combined("the compression of archives is detected"),
    ),
    rule(
        &["--gzinfo"],
        "[=X]",
        Refused("decompress the archive first, for an index by --tar=i"),
    ),
    rule(
        &["--vmdk-desc"],
        "X",
        Refused("dmsetup(8) joins an image and its devices, a linear target for each"),
    ),
    rule(
        &["--xattr-inode-digest"],
        "[=X]",
        Refused("`sinter extract --mtree` lists the SHA-256 of all files"),
    ),
    rule(
        &["--max-extent-bytes"],
        "N",
        Noted("-C limits the decoded size of a cluster"),
    ),
    rule(&["--file-contexts"], "FILE", Same("--file-contexts")),
    rule(
        &["--mount-point"],
        "X",
        Combined("with --file-contexts: --mount-point"),
    ),
    rule(
        &["--compress-hints"],
        "FILE",
        Combined("size 0: --action 'uncompressed@...'; other sizes have no effect: see -C"),
    ),
    rule(
        &["--incremental"],
        "[=X]",
        Combined("data: the image and the source become one, as layers of `sinter build`"),
    ),
    rule(&["--clean"], "[=X]", Combined("data, as without it")),
    rule(&["-m"], "N", Noted("metadata is never compressed")),
    rule(&["--MZ"], "[=X]", Noted("metadata has no separate zone")),
    rule(&["--zD"], "[=X]", Noted("directories are never compressed")),
    rule(&["--dsunit"], "N", Noted("data is aligned to blocks")),
    rule(
        &["--fsalignblks"],
        "N",
        Refused("images are not padded; truncate(1) extends them"),
    ),
    rule(
        &["--root-xattr-isize"],
        "N",
        Noted("the root has room for exactly its extended attributes"),
    ),
    rule(
        &["--zfeature-bits"],
        "N",
        Noted("-E selects features by name"),
    ),
    rule(
        &["--ovlfs-strip"],
        "[=X]",
        Combined("--ovlfs-strip, unless 0"),
    ),
    rule(&["--aufs"], "", Same("--aufs")),
    rule(&["--s3"], "X", Refused("download the source first")),
    rule(
        &["--oci"],
        "[=X]",
        Refused("`sinter build LAYOUT -o IMAGE` packs a downloaded OCI layout"),
    ),
];
